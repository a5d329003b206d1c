//! Selects the reports for a sink.

use crate::event::{CommitEvent, PushPart};
use crate::git::BranchPatterns;
use crate::hiera::key::any_matches;
use crate::node::NodeSet;
use crate::pattern::{Pattern, any};
use crate::report::{CountedChanges, Report};

/// A filter of reports: by repository and branch, and by the number of changes of some keys on some nodes. A report is
/// sent whole or not at all.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Names of repositories; all if empty.
    pub repositories: Vec<Pattern>,
    /// The branches.
    pub branches: BranchPatterns,
    /// Names of nodes; all if empty. A change matches if one of its nodes does.
    pub nodes: Vec<Pattern>,
    /// Keys; all if empty.
    pub keys: Vec<Pattern>,
    /// The minimum number of changes. A change concerns one key, on nodes that share its values before and after. If
    /// nodes or keys are given, at least one change is needed.
    pub minimum: usize,
    /// The events that have separate reports.
    pub each: Each,
}

/// The events that have separate reports for a sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Each {
    /// Every commit.
    #[default]
    Commit,
    /// Every push: several commits that come to a branch at once are reported as one.
    Push,
}

impl Each {
    fn takes(self, part: PushPart) -> bool {
        match self {
            Each::Commit => !part.is_whole(),
            Each::Push => part != PushPart::One,
        }
    }
}

impl Default for Filter {
    fn default() -> Filter {
        let (repositories, branches) = (Vec::new(), BranchPatterns::all());
        Filter { repositories, branches, nodes: Vec::new(), keys: Vec::new(), minimum: 0, each: Each::Commit }
    }
}

impl Filter {
    /// Returns true if the filter passes the report of an event in `repository`.
    pub fn wants(&self, repository: &str, event: &CommitEvent, report: &Report) -> bool {
        self.takes(repository, event) && self.has_enough(report)
    }

    /// Returns true if the filter passes the report of an event in `repository` whatever it contains.
    pub(super) fn passes_all(&self, repository: &str, event: &CommitEvent) -> bool {
        let is_wide = self.nodes.is_empty() && self.keys.is_empty() && self.minimum == 0;
        is_wide && self.takes(repository, event)
    }

    fn takes(&self, repository: &str, event: &CommitEvent) -> bool {
        let is_there = any(&self.repositories, repository) && self.branches.matches(&event.branch);
        is_there && self.each.takes(event.part)
    }

    fn has_enough(&self, report: &Report) -> bool {
        let is_narrow = !self.nodes.is_empty() || !self.keys.is_empty();
        let least = if is_narrow { self.minimum.max(1) } else { self.minimum };
        if report.change_count() < least {
            return false;
        }
        let nodes = self.nodes_of(report);
        let is_on_node = |changed: &NodeSet| nodes.as_ref().is_none_or(|nodes| !changed.intersection(nodes).is_empty());
        let wanted =
            report.changes.iter().filter(|change| any_matches(&self.keys, &change.key) && is_on_node(&change.nodes));
        let mut parts = CountedChanges::default();
        wanted.filter(|change| parts.is_new(change)).take(least).count() == least
    }

    /// Returns the nodes that match, or `None` for all. Each name is matched once, whatever the number of changes.
    fn nodes_of(&self, report: &Report) -> Option<NodeSet> {
        let fleet = &report.names.fleet;
        let is_selected = |name: &str| any(&self.nodes, name);
        let matching = || fleet.all().iter().filter(|node| is_selected(fleet.name(*node))).collect();
        (!self.nodes.is_empty()).then(matching)
    }
}
