//! For which nodes which paths were looked at.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::node::{NodeId, NodeSet};
use crate::tree::{Looked, folder_of};

/// The groups of nodes for which a path was looked at, in order.
type Groups = HashMap<String, Vec<u32>, RandomState>;

/// For which nodes which paths were looked at: more nodes than in truth, perhaps. Nodes are in one group that were looked at together.
#[derive(Clone)]
pub(in crate::fleet) struct Looks {
    group: Arc<Vec<u32>>,
    members: Arc<Vec<NodeSet>>,
    entries: Arc<Groups>,
    folders: Arc<Groups>,
}

impl Looks {
    /// None yet, for so many nodes.
    pub(in crate::fleet) fn new(nodes: usize) -> Looks {
        let group = Arc::new(vec![u32::MAX; nodes]);
        Looks { group, members: Arc::default(), entries: Arc::default(), folders: Arc::default() }
    }

    /// Adds what was `looked` at for `nodes`.
    pub(in crate::fleet) fn add(&mut self, nodes: &NodeSet, looked: Looked) {
        let Some(group) = self.group_of(nodes) else { return };
        for (known, new) in [(&mut self.entries, looked.entries), (&mut self.folders, looked.folders)] {
            for path in new {
                if known.get(&path).is_none_or(|groups| groups.binary_search(&group).is_err()) {
                    let groups = Arc::make_mut(known).entry(path).or_default();
                    groups.insert(groups.partition_point(|other| *other < group), group);
                }
            }
        }
    }

    /// The group of just `nodes`, a new one if need be.
    fn group_of(&mut self, nodes: &NodeSet) -> Option<u32> {
        let first = nodes.smallest()?;
        let group = self.group[first.0 as usize];
        if self.members.get(group as usize) == Some(nodes) {
            return Some(group);
        }
        let group = u32::try_from(self.members.len()).ok()?;
        let of_nodes = Arc::make_mut(&mut self.group);
        for NodeId(node) in nodes.iter() {
            of_nodes[node as usize] = group;
        }
        Arc::make_mut(&mut self.members).push(nodes.clone());
        Some(group)
    }

    /// Whether more is kept here than what counts.
    pub(in crate::fleet) fn is_crowded(&self) -> bool {
        self.members.len() > 2 * self.group.len() + 1000
    }

    /// The nodes for which one of the paths `changed` may have been looked at.
    pub(in crate::fleet) fn nodes(&self, changed: &BTreeSet<String>) -> NodeSet {
        let mut nodes = NodeSet::new();
        for path in changed {
            let groups = self.entries.get(path).into_iter().chain(self.folders.get(folder_of(path)));
            for group in groups.flatten() {
                nodes.extend(&self.members[*group as usize]);
            }
        }
        nodes
    }
}
