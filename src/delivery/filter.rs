//! Selects the reports for a sink.

use crate::git::{BranchName, BranchPatterns};
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
    /// Names of nodes; all if empty. A change counts if one of its nodes matches.
    pub nodes: Vec<Pattern>,
    /// Keys; all if empty.
    pub keys: Vec<Pattern>,
    /// The least number of changes. A change is of one key, on nodes that have the same value before and after it. If
    /// nodes or keys are given, at least one change is needed.
    pub minimum: usize,
}

impl Default for Filter {
    fn default() -> Filter {
        let (repositories, branches) = (Vec::new(), BranchPatterns::all());
        Filter { repositories, branches, nodes: Vec::new(), keys: Vec::new(), minimum: 0 }
    }
}

impl Filter {
    /// Returns true if the filter passes the report of a commit on `branch` of `repository`.
    pub fn wants(&self, repository: &str, branch: &BranchName, report: &Report) -> bool {
        any(&self.repositories, repository) && self.branches.matches(branch) && self.has_enough(report)
    }

    /// Returns true if the filter passes all reports of commits on `branch` of `repository`.
    pub(super) fn passes_all(&self, repository: &str, branch: &BranchName) -> bool {
        let is_wide = self.nodes.is_empty() && self.keys.is_empty() && self.minimum == 0;
        is_wide && any(&self.repositories, repository) && self.branches.matches(branch)
    }

    fn has_enough(&self, report: &Report) -> bool {
        let is_narrow = !self.nodes.is_empty() || !self.keys.is_empty();
        let least = if is_narrow { self.minimum.max(1) } else { self.minimum };
        if report.change_count() < least {
            return false;
        }
        let nodes = self.nodes_of(report);
        let is_on_node = |on: &NodeSet| nodes.as_ref().is_none_or(|nodes| !on.intersection(nodes).is_empty());
        let counts =
            report.changes.iter().filter(|change| any_matches(&self.keys, &change.key) && is_on_node(&change.nodes));
        let mut parts = CountedChanges::default();
        counts.filter(|change| parts.is_new(change)).take(least).count() == least
    }

    /// Returns the nodes that match, or `None` for all. Each name is matched once, whatever the number of changes.
    fn nodes_of(&self, report: &Report) -> Option<NodeSet> {
        let fleet = &report.names.fleet;
        let is_meant = |name: &str| any(&self.nodes, name);
        let matching = || fleet.all().iter().filter(|node| is_meant(fleet.name(*node))).collect();
        (!self.nodes.is_empty()).then(matching)
    }
}
