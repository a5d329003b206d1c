//! What a sink wants to hear of.

use crate::git::{BranchName, BranchPatterns};
use crate::node::NodeSet;
use crate::pattern::{Pattern, any};
use crate::report::Report;

/// Which reports a sink gets: those of these branches of these repositories, with at least so many changes of such keys on such
/// nodes. A report is sent whole or not at all.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Names of repositories, all if there are none.
    pub repositories: Vec<Pattern>,
    /// The branches.
    pub branches: BranchPatterns,
    /// Names of nodes, all if there are none; a change counts if one of its nodes is meant.
    pub nodes: Vec<Pattern>,
    /// Keys, all if there are none.
    pub keys: Vec<Pattern>,
    /// How many changes there must be: a change is what happens to one key on nodes that have the same before and after it. Where
    /// nodes or keys are named, it is at least one.
    pub minimum: usize,
}

impl Default for Filter {
    fn default() -> Filter {
        let (repositories, branches) = (Vec::new(), BranchPatterns::all());
        Filter { repositories, branches, nodes: Vec::new(), keys: Vec::new(), minimum: 0 }
    }
}

impl Filter {
    /// Whether the report of a commit that has come to `branch` of `repository` is wanted.
    pub fn wants(&self, repository: &str, branch: &BranchName, report: &Report) -> bool {
        any(&self.repositories, repository) && self.branches.matches(branch) && self.has_enough(report)
    }

    fn has_enough(&self, report: &Report) -> bool {
        let is_narrow = !self.nodes.is_empty() || !self.keys.is_empty();
        let least = if is_narrow { self.minimum.max(1) } else { self.minimum };
        if report.changes.len() < least {
            return false;
        }
        let nodes = self.nodes_of(report);
        let is_on_node = |on: &NodeSet| nodes.as_ref().is_none_or(|nodes| !on.intersection(nodes).is_empty());
        let counts = report.changes.iter().filter(|change| any(&self.keys, &change.key) && is_on_node(&change.nodes));
        counts.take(least).count() == least
    }

    /// The nodes that are meant; nothing for all. Each name is looked at once, however many changes there are.
    fn nodes_of(&self, report: &Report) -> Option<NodeSet> {
        let fleet = &report.names.fleet;
        let is_meant = |name: &str| any(&self.nodes, name);
        let matching = || fleet.all().iter().filter(|node| is_meant(fleet.name(*node))).collect();
        (!self.nodes.is_empty()).then(matching)
    }
}
