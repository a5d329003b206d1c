//! Sets and partitions of the nodes of a fleet.

mod classes;
mod members;
mod partition;

use std::fmt;
use std::mem;
use std::sync::Arc;

pub(crate) use classes::NodeClasses;
pub(crate) use partition::Partition;

use classes::ClassSet;
use members::Members;

/// The number of a node in its fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    fn bit(self) -> usize {
        self.0 as usize
    }

    fn of_bit(bit: usize) -> NodeId {
        NodeId(u32::try_from(bit).unwrap_or(u32::MAX))
    }
}

/// A set of nodes of one fleet; cheap to clone.
///
/// It stores its nodes or, if it is made of whole classes of nodes, those classes. Operations on two sets of the same
/// classes yield sets of classes.
#[derive(Clone)]
pub struct NodeSet(Form);

#[derive(Clone)]
enum Form {
    Nodes(Arc<Members>),
    /// Never empty.
    Classes(Arc<ClassSet>),
}

/// Two sets in the same form.
enum SameForm<'a> {
    Classes(&'a Arc<NodeClasses>, &'a Arc<Members>, &'a Arc<Members>),
    Nodes(&'a Arc<Members>, &'a Arc<Members>),
}

impl NodeSet {
    /// Returns the empty set.
    pub fn new() -> NodeSet {
        NodeSet::default()
    }

    /// Returns the nodes 0 to `count` - 1.
    pub fn full(count: u32) -> NodeSet {
        count.checked_sub(1).map(|last| NodeSet::of_runs(&[(0, last)])).unwrap_or_default()
    }

    /// Returns the set of all nodes of some runs, each given by its first and last node, in order.
    pub fn of_runs(runs: &[(u32, u32)]) -> NodeSet {
        NodeSet::of(Members::of_runs(runs))
    }

    /// Returns the runs of nodes that follow each other, each by its first and last node, in order.
    pub fn runs(&self) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for NodeId(node) in self.iter() {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == node => *last = node,
                _ => runs.push((node, node)),
            }
        }
        runs
    }

    fn of(members: Members) -> NodeSet {
        NodeSet(Form::Nodes(Arc::new(members)))
    }

    fn nodes(&self) -> &Arc<Members> {
        match &self.0 {
            Form::Nodes(nodes) => nodes,
            Form::Classes(set) => set.nodes(),
        }
    }

    fn in_same_form<'a>(&'a self, other: &'a NodeSet) -> SameForm<'a> {
        match (&self.0, &other.0) {
            (Form::Classes(one), Form::Classes(other)) if Arc::ptr_eq(&one.classes, &other.classes) => {
                SameForm::Classes(&one.classes, &one.numbers, &other.numbers)
            }
            _ => SameForm::Nodes(self.nodes(), other.nodes()),
        }
    }

    /// Returns true if it holds classes of nodes.
    pub fn is_by_classes(&self) -> bool {
        matches!(self.0, Form::Classes(_))
    }

    /// Returns the union of some sets of a fleet with `all` nodes. Stops once it has all nodes.
    pub fn union_of(all: usize, sets: impl IntoIterator<Item = NodeSet>) -> NodeSet {
        // Sets in different forms are joined just once.
        let (mut by_nodes, mut by_classes) = (NodeSet::new(), NodeSet::new());
        for set in sets {
            let union = if set.is_by_classes() { &mut by_classes } else { &mut by_nodes };
            union.union_with(&set);
            if union.len() == all {
                return union.clone();
            }
        }
        by_classes.union_with(&by_nodes);
        by_classes
    }

    /// Adds a node.
    pub fn insert(&mut self, node: NodeId) {
        self.change(|nodes| nodes.insert(node));
    }

    /// Returns true if the node is in the set.
    pub fn contains(&self, node: NodeId) -> bool {
        match &self.0 {
            Form::Nodes(nodes) => nodes.contains(node),
            Form::Classes(set) => set.contains(node),
        }
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Nodes(nodes) => nodes.len(),
            Form::Classes(set) => set.len(),
        }
    }

    /// Returns true if there is no node.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Form::Nodes(nodes) => nodes.len() == 0,
            Form::Classes(_) => false,
        }
    }

    /// Returns true if there is just one node.
    pub fn is_singleton(&self) -> bool {
        match &self.0 {
            Form::Nodes(nodes) => nodes.len() == 1,
            Form::Classes(set) => set.is_singleton(),
        }
    }

    /// Returns the first node, or `None` if there is no node.
    pub fn first(&self) -> Option<NodeId> {
        match &self.0 {
            Form::Nodes(nodes) => nodes.first(),
            Form::Classes(set) => set.first(),
        }
    }

    /// Returns the nodes in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + Clone + '_ {
        self.nodes().iter()
    }

    /// Divides the set into sets of at most `size` nodes, in the order of their numbers.
    pub fn chunks(&self, size: usize) -> impl Iterator<Item = NodeSet> + '_ {
        let mut nodes = self.iter().peekable();
        std::iter::from_fn(move || nodes.peek().is_some().then(|| nodes.by_ref().take(size).collect()))
    }

    /// Adds all nodes of another set.
    pub fn union_with(&mut self, other: &NodeSet) {
        if self.is_empty() {
            *self = other.clone();
        } else if !other.is_empty() && !self.is_same(other) {
            self.update(other, Members::union_with);
        }
    }

    /// Returns the nodes in both sets.
    #[must_use]
    pub fn intersection(&self, other: &NodeSet) -> NodeSet {
        self.combine(other, Members::intersection)
    }

    /// Returns true if all nodes are in the other set.
    pub fn is_subset(&self, other: &NodeSet) -> bool {
        self.is_empty() || self.is_same(other) || self.compare(other, Members::is_subset)
    }

    fn is_disjoint(&self, other: &NodeSet) -> bool {
        self.is_empty() || other.is_empty() || self.compare(other, Members::is_disjoint)
    }

    /// Removes the nodes that are in the other set, and returns them.
    #[must_use]
    pub fn take_intersection(&mut self, other: &NodeSet) -> NodeSet {
        // Most sets are disjoint, and of the rest most contain the other. A test costs less than a new set.
        if self.is_disjoint(other) {
            return NodeSet::new();
        }
        if self.is_subset(other) {
            return mem::take(self);
        }
        let taken = if other.is_subset(self) { other.clone() } else { self.intersection(other) };
        self.update(&taken, Members::remove);
        taken
    }

    /// Returns the nodes of this set that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &NodeSet) -> NodeSet {
        if self.is_disjoint(other) {
            return self.clone();
        }
        self.combine(other, Members::difference)
    }

    /// Returns true if both are copies of the same set.
    fn is_same(&self, other: &NodeSet) -> bool {
        match (&self.0, &other.0) {
            (Form::Nodes(one), Form::Nodes(other)) => Arc::ptr_eq(one, other),
            (Form::Classes(one), Form::Classes(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    fn combine(&self, other: &NodeSet, combine: fn(&Members, &Members) -> Members) -> NodeSet {
        match self.in_same_form(other) {
            SameForm::Classes(classes, one, other) => classes.set(combine(one, other)),
            SameForm::Nodes(one, other) => NodeSet::of(combine(one, other)),
        }
    }

    fn compare(&self, other: &NodeSet, compare: fn(&Members, &Members) -> bool) -> bool {
        match self.in_same_form(other) {
            SameForm::Classes(_, one, other) | SameForm::Nodes(one, other) => compare(one, other),
        }
    }

    fn update(&mut self, other: &NodeSet, update: fn(&mut Members, &Members)) {
        if let SameForm::Classes(classes, one, other) = self.in_same_form(other) {
            let mut one = Members::clone(one);
            update(&mut one, other);
            *self = classes.set(one);
        } else {
            self.change(|nodes| update(nodes, other.nodes()));
        }
    }

    /// Changes the set as a set of nodes.
    fn change(&mut self, change: impl FnOnce(&mut Members)) {
        match &mut self.0 {
            Form::Nodes(nodes) => change(Arc::make_mut(nodes)),
            Form::Classes(set) => {
                let mut nodes = Members::clone(set.nodes());
                change(&mut nodes);
                *self = NodeSet::of(nodes);
            }
        }
    }
}

impl Default for NodeSet {
    fn default() -> NodeSet {
        NodeSet::of(Members::default())
    }
}

impl PartialEq for NodeSet {
    fn eq(&self, other: &NodeSet) -> bool {
        self.is_same(other) || (self.len() == other.len() && self.is_subset(other))
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> NodeSet {
        NodeSet::of(nodes.into_iter().collect())
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|node| node.0)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(nodes: impl IntoIterator<Item = u32>) -> NodeSet {
        nodes.into_iter().map(NodeId).collect()
    }

    fn numbers(nodes: &NodeSet) -> Vec<u32> {
        nodes.iter().map(|node| node.0).collect()
    }

    #[test]
    fn runs_are_the_set() {
        for set in sets() {
            let runs = set.runs();
            assert_eq!(NodeSet::of_runs(&runs), set);
            assert!(runs.iter().all(|(first, last)| first <= last));
        }
        assert_eq!(set([1, 2, 3, 5]).runs(), [(1, 3), (5, 5)]);
        assert_eq!(numbers(&NodeSet::full(3)), [0, 1, 2]);
        assert!(NodeSet::full(0).is_empty());
    }

    /// 5,000 nodes, by classes of every `step`th node.
    fn classes(step: usize) -> Arc<NodeClasses> {
        NodeClasses::by(5_000, step, [Partition::by((0..5_000).map(|node| node % step)).0]).unwrap()
    }

    /// Sets of all sorts: lists and bits, short and long, and by classes.
    fn sets() -> Vec<NodeSet> {
        let mut sets = vec![set([]), set([3]), set([4_999]), set([7, 70_000]), set(90..400), set(4_000..5_000)];
        sets.extend([1, 2, 31, 100, 1_000].map(|step| set((0..5_000).step_by(step))));
        for classes in [classes(7), classes(700)] {
            sets.push(classes.all());
            sets.extend([vec![], vec![0], vec![3, 4], (1..6).collect()].map(|of| classes.set(set(of).nodes().clone())));
        }
        sets
    }

    #[test]
    fn sets_are_what_their_nodes_are() {
        let sets = sets();
        for nodes in &sets {
            let one = numbers(nodes);
            assert_eq!(
                (nodes.len(), nodes.is_empty(), nodes.is_singleton()),
                (one.len(), one.is_empty(), one.len() == 1)
            );
            assert_eq!(nodes.first(), one.first().copied().map(NodeId));
            assert_eq!(set(one.iter().rev().chain(&one).copied()), *nodes);
            let mut some = (0..5_000).chain([69_999, 70_000]);
            assert!(some.all(|node| nodes.contains(NodeId(node)) == one.binary_search(&node).is_ok()));
            for others in &sets {
                check(nodes, others, &one, &numbers(others));
            }
        }
    }

    #[test]
    fn sets_in_different_forms_are_put_together() {
        let by_classes = |step: usize, of: [u32; 2]| classes(step).set(set(of).nodes().clone());
        let sets = [set([7, 4_999]), by_classes(700, [0, 3]), set(90..400), by_classes(7, [2, 5])];
        let is_in_one = |node: &u32| sets.iter().any(|set| set.contains(NodeId(*node)));
        assert_eq!(numbers(&NodeSet::union_of(5_000, sets.clone())), (0..5_000).filter(is_in_one).collect::<Vec<_>>());
        let mut asked = 0;
        let many = [set([7]), classes(7).all(), set([8])].into_iter().inspect(|_| asked += 1);
        assert_eq!((NodeSet::union_of(5_000, many).len(), asked), (5_000, 2), "two are all nodes");
    }

    /// Checks all operations on two sets with these nodes.
    fn check(nodes: &NodeSet, others: &NodeSet, one: &[u32], other: &[u32]) {
        let is_other = |node: &u32| other.binary_search(node).is_ok();
        let (both, rest): (Vec<u32>, Vec<u32>) = one.iter().copied().partition(is_other);
        assert_eq!(
            (numbers(&nodes.intersection(others)), numbers(&nodes.difference(others))),
            (both.clone(), rest.clone())
        );
        assert_eq!((nodes == others, nodes.is_subset(others)), (one == other, both == one));
        let mut all = nodes.clone();
        all.union_with(others);
        let mut inserted = nodes.clone();
        for node in other {
            inserted.insert(NodeId(*node));
        }
        let mut expected = [&rest, other].concat();
        expected.sort_unstable();
        assert_eq!((numbers(&all), numbers(&inserted)), (expected.clone(), expected));
        let mut left = nodes.clone();
        let taken = left.take_intersection(others);
        assert_eq!((numbers(&taken), numbers(&left), left.len()), (both, rest.clone(), rest.len()));
    }
}
