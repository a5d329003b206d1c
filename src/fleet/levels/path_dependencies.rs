//! The paths of the repository that the levels of nodes depend on.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::levels::per_node_paths::PathPattern;
use crate::node::NodeSet;
use crate::tree::{AccessedPaths, folder_of};

/// Paths, and the nodes for which each was accessed.
type Paths = HashMap<String, NodeSet, RandomState>;

/// The nodes for which each path was accessed, and possibly more nodes.
#[derive(Clone, Default)]
pub(super) struct PathDependencies {
    entries: Arc<Paths>,
    folders: Arc<Paths>,
    below: Arc<Paths>,
    patterns: Vec<Arc<PathPattern>>,
    /// The number of paths when all of them were of one revision.
    initial_len: usize,
}

impl PathDependencies {
    /// Adds the paths that were accessed for `nodes`.
    pub(super) fn add(&mut self, nodes: &NodeSet, accessed: AccessedPaths) {
        let AccessedPaths { entries, folders, below } = accessed;
        for (known, new) in [(&mut self.entries, entries), (&mut self.folders, folders), (&mut self.below, below)] {
            for path in new {
                if known.get(&path).is_none_or(|known| !nodes.is_subset(known)) {
                    Arc::make_mut(known).entry(path).or_default().union_with(nodes);
                }
            }
        }
    }

    /// Adds patterns of paths: each node accesses the path that its value of the variable makes.
    pub(super) fn add_patterns(&mut self, patterns: &[Arc<PathPattern>]) {
        for pattern in patterns {
            if !self.patterns.contains(pattern) {
                self.patterns.push(pattern.clone());
            }
        }
    }

    /// Marks all paths as those of one revision.
    pub(super) fn set_initial(&mut self) {
        self.initial_len = self.len();
    }

    /// Returns true if most paths come from earlier revisions only, so that it should be rebuilt.
    pub(super) fn is_overgrown(&self) -> bool {
        self.len() > 2 * self.initial_len + 1000
    }

    fn len(&self) -> usize {
        self.entries.len() + self.folders.len() + self.below.len() + self.patterns.len()
    }

    /// Returns the nodes for which one of the paths `changed` may have been accessed.
    pub(super) fn nodes_affected_by(&self, changed: &BTreeSet<String>) -> NodeSet {
        let mut nodes = NodeSet::new();
        for path in changed {
            let known = self.entries.get(path).into_iter().chain(self.folders.get(folder_of(path)));
            known.for_each(|known| nodes.union_with(known));
            let above = path.match_indices('/').map(|(at, _)| &path[..at]).chain([""]);
            let above = above.filter(|_| !self.below.is_empty());
            above.filter_map(|folder| self.below.get(folder)).for_each(|known| nodes.union_with(known));
        }
        self.patterns.iter().for_each(|pattern| pattern.add_nodes(changed, &mut nodes));
        nodes
    }
}
