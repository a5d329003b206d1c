//! Sets of nodes, compressed.

use std::fmt;
use std::sync::Arc;

use roaring::RoaringBitmap;

/// The number of a node in its fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A set of nodes of one fleet; cheap to clone.
#[derive(Clone, Default)]
pub struct NodeSet(Arc<RoaringBitmap>);

impl NodeSet {
    /// No node.
    pub fn new() -> NodeSet {
        NodeSet::default()
    }

    /// The nodes 0 to `count` - 1.
    pub fn first(count: u32) -> NodeSet {
        let mut nodes = RoaringBitmap::new();
        nodes.insert_range(0..count);
        // A run comes apart node by node when sets are taken from it.
        nodes.remove_run_compression();
        NodeSet(Arc::new(nodes))
    }

    /// Adds a node.
    pub fn insert(&mut self, node: NodeId) {
        Arc::make_mut(&mut self.0).insert(node.0);
    }

    /// Whether the node is in the set.
    pub fn contains(&self, node: NodeId) -> bool {
        self.0.contains(node.0)
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        usize::try_from(self.0.len()).unwrap_or(usize::MAX)
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The node with the smallest number.
    pub fn smallest(&self) -> Option<NodeId> {
        self.0.min().map(NodeId)
    }

    /// The nodes in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + Clone + '_ {
        self.0.iter().map(NodeId)
    }

    /// Sets of `size` nodes at the most that are this one together, in the order of their numbers.
    pub fn pieces(&self, size: usize) -> impl Iterator<Item = NodeSet> + '_ {
        let mut nodes = self.iter().peekable();
        std::iter::from_fn(move || nodes.peek().is_some().then(|| nodes.by_ref().take(size).collect()))
    }

    /// Adds all nodes of another set.
    pub fn extend(&mut self, other: &NodeSet) {
        // A union makes a new set, which costs more than to add a few nodes.
        if self.is_empty() {
            *self = other.clone();
        } else if other.0.len() <= 8 {
            Arc::make_mut(&mut self.0).extend(&*other.0);
        } else {
            *Arc::make_mut(&mut self.0) |= &*other.0;
        }
    }

    /// The nodes in both sets.
    #[must_use]
    pub fn and(&self, other: &NodeSet) -> NodeSet {
        NodeSet(Arc::new(&*self.0 & &*other.0))
    }

    /// Whether all nodes are in the other set, too.
    pub fn is_in(&self, other: &NodeSet) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.is_subset(&other.0)
    }

    /// The nodes inside of another set and those outside of it; nothing where there are none.
    #[must_use]
    pub fn divided(&self, by: &NodeSet) -> (Option<NodeSet>, Option<NodeSet>) {
        // Most sets are not divided: to see that costs less than to make new ones.
        if self.is_empty() {
            (None, None)
        } else if self.0.is_disjoint(&by.0) {
            (None, Some(self.clone()))
        } else if self.is_in(by) {
            (Some(self.clone()), None)
        } else {
            (Some(self.and(by)), Some(self.without(by)))
        }
    }

    /// The nodes of this set that are not in the other.
    #[must_use]
    pub fn without(&self, other: &NodeSet) -> NodeSet {
        if self.0.is_disjoint(&other.0) {
            return self.clone();
        }
        NodeSet(Arc::new(&*self.0 - &*other.0))
    }
}

impl PartialEq for NodeSet {
    fn eq(&self, other: &NodeSet) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> NodeSet {
        NodeSet(Arc::new(nodes.into_iter().map(|node| node.0).collect()))
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(nodes: &[u32], by: &[u32], inside: Option<&[u32]>, outside: Option<&[u32]>) {
        let set = |nodes: &[u32]| nodes.iter().copied().map(NodeId).collect::<NodeSet>();
        assert_eq!(set(nodes).divided(&set(by)), (inside.map(set), outside.map(set)), "{nodes:?} by {by:?}");
    }

    #[test]
    fn a_set_is_divided_by_another() {
        check(&[1, 2, 3], &[2, 7], Some(&[2]), Some(&[1, 3]));
        check(&[1, 2], &[1, 2, 3], Some(&[1, 2]), None);
        check(&[1, 2], &[3], None, Some(&[1, 2]));
        check(&[], &[3], None, None);
    }
}
