//! For which nodes which paths were looked at.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::revision::own_paths::Pattern;
use crate::node::NodeSet;
use crate::tree::{AccessedPaths, folder_of};

/// The nodes for which a path was looked at.
type Paths = HashMap<String, NodeSet, RandomState>;

/// For which nodes which paths were looked at: more nodes than in truth, perhaps.
#[derive(Clone, Default)]
pub(in crate::fleet) struct Looks {
    entries: Arc<Paths>,
    folders: Arc<Paths>,
    patterns: Vec<Arc<Pattern>>,
    /// How many paths it held when nothing of other revisions was among them.
    own: usize,
}

impl Looks {
    /// Adds what was `looked` at for `nodes`.
    pub(in crate::fleet) fn add(&mut self, nodes: &NodeSet, looked: AccessedPaths) {
        for (known, new) in [(&mut self.entries, looked.entries), (&mut self.folders, looked.folders)] {
            for path in new {
                if known.get(&path).is_none_or(|known| !nodes.is_subset(known)) {
                    Arc::make_mut(known).entry(path).or_default().union_with(nodes);
                }
            }
        }
    }

    /// Adds paths at which all nodes look that have a text for their variable.
    pub(in crate::fleet) fn add_patterns(&mut self, patterns: &[Arc<Pattern>]) {
        for pattern in patterns {
            if !self.patterns.contains(pattern) {
                self.patterns.push(pattern.clone());
            }
        }
    }

    /// All that it holds is of one revision.
    pub(in crate::fleet) fn begin(&mut self) {
        self.own = self.len();
    }

    /// Whether more is kept here than what counts.
    pub(in crate::fleet) fn is_crowded(&self) -> bool {
        self.len() > 2 * self.own + 1000
    }

    fn len(&self) -> usize {
        self.entries.len() + self.folders.len() + self.patterns.len()
    }

    /// The nodes for which one of the paths `changed` may have been looked at.
    pub(in crate::fleet) fn nodes(&self, changed: &BTreeSet<String>) -> NodeSet {
        let mut nodes = NodeSet::new();
        for path in changed {
            let known = self.entries.get(path).into_iter().chain(self.folders.get(folder_of(path)));
            known.for_each(|known| nodes.union_with(known));
        }
        self.patterns.iter().for_each(|pattern| pattern.add_nodes(changed, &mut nodes));
        nodes
    }
}
