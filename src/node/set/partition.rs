//! Partitions of the nodes of a fleet.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use super::{Form, NodeId, NodeSet};

/// The number of nodes whose classes are looked up in the time that it takes to remove a class from a set.
const LOOKUPS_PER_REMOVAL: usize = 64;

/// All nodes, in classes that have something in common; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Partition {
    /// The number of each node's class.
    class_by_node: Arc<[u32]>,
    count: usize,
    sets: Arc<OnceLock<Vec<NodeSet>>>,
}

impl Partition {
    /// Divides the nodes 0, 1, ... by their values. Also returns the value of each class.
    pub(crate) fn by<T: Eq + Hash>(of_nodes: impl Iterator<Item = T>) -> (Partition, Vec<T>) {
        let mut classes: IndexSet<T, RandomState> = IndexSet::default();
        let class_by_node = of_nodes.map(|common| number(classes.insert_full(common).0)).collect();
        (Partition::new(class_by_node, classes.len()), classes.into_iter().collect())
    }

    fn new(class_by_node: Arc<[u32]>, count: usize) -> Partition {
        Partition { class_by_node, count, ..Partition::default() }
    }

    /// Returns the partition of the nodes 0, 1, ... into `count` classes; `class_by_node` has the number of each node's
    /// class.
    pub(crate) fn of_numbers(class_by_node: Vec<usize>, count: usize) -> Partition {
        Partition::new(class_by_node.into_iter().map(number).collect(), count)
    }

    /// Returns the partition of `nodes` nodes into these sets, which are disjoint and contain all nodes.
    pub(crate) fn of_classes(nodes: usize, sets: Vec<NodeSet>) -> Partition {
        let no_classes = Partition { sets: Arc::new(Vec::new().into()), ..Partition::new(vec![0; nodes].into(), 0) };
        no_classes.with_classes(sets)
    }

    /// Returns the partition of the same nodes into these disjoint sets. It is cheap if most of them are classes of
    /// this partition.
    #[must_use]
    pub(crate) fn with_classes(&self, sets: Vec<NodeSet>) -> Partition {
        if sets == self.classes() {
            return self.clone();
        }
        let (mut class_by_node, count) = (self.class_by_node.to_vec(), sets.len());
        for ((class, set), before) in
            (0..).zip(&sets).zip(self.classes().iter().map(Some).chain(std::iter::repeat(None)))
        {
            if before != Some(set) {
                set.iter().for_each(|node| class_by_node[node.0 as usize] = class);
            }
        }
        Partition { sets: Arc::new(sets.into()), ..Partition::new(class_by_node.into(), count) }
    }

    /// Returns the partition that joins classes: `numbers` has the new number of each class.
    #[must_use]
    pub(crate) fn coarsened(&self, numbers: &[usize], count: usize) -> Partition {
        let class_by_node =
            self.class_by_node.iter().map(|class| numbers.get(*class as usize).copied().unwrap_or_default());
        Partition::new(class_by_node.map(number).collect(), count)
    }

    /// Returns the partition into a single class.
    pub(super) fn trivial(nodes: usize) -> Partition {
        Partition::new(vec![0; nodes].into(), nodes.min(1))
    }

    /// Returns the common refinement with another partition, its classes in the order of their first nodes; or `None`
    /// if it has more than `most` classes.
    pub(super) fn refined(&self, other: &Partition, max_classes: usize) -> Option<Partition> {
        let mut classes: HashMap<(u32, u32), u32, RandomState> = HashMap::default();
        let mut class_by_node = Vec::with_capacity(self.class_by_node.len());
        for pair in self.class_by_node.iter().copied().zip(other.class_by_node.iter().copied()) {
            let next = number(classes.len());
            class_by_node.push(*classes.entry(pair).or_insert(next));
            if classes.len() > max_classes {
                return None;
            }
        }
        Some(Partition::new(class_by_node.into(), classes.len()))
    }

    /// Returns an identity that all clones of a partition share. It is valid as long as one of them exists.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.class_by_node).addr()
    }

    /// Returns the partition of the classes' numbers by the classes of a coarser partition, or `None` if that divides
    /// a class, or if a class is empty.
    pub(super) fn quotient(&self, other: &Partition) -> Option<Partition> {
        let mut coarse_by_class: Vec<Option<u32>> = vec![None; self.count];
        for (class, other) in self.class_by_node.iter().zip(&*other.class_by_node) {
            if *coarse_by_class[*class as usize].get_or_insert(*other) != *other {
                return None;
            }
        }
        Some(Partition::new(coarse_by_class.into_iter().collect::<Option<_>>()?, other.count))
    }

    /// Returns the number of classes.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of a node's class, as sets of classes store it, or `None` for a node of another fleet.
    pub(super) fn find_class(&self, node: NodeId) -> Option<NodeId> {
        self.class_by_node.get(node.bit()).copied().map(NodeId)
    }

    /// Returns the number of a node's class.
    pub(crate) fn class_of(&self, node: NodeId) -> usize {
        self.class_by_node.get(node.0 as usize).map_or(0, |class| *class as usize)
    }

    /// Returns true if no two of `nodes` are in one class.
    pub(crate) fn tells_apart(&self, nodes: &NodeSet) -> bool {
        let mut is_met = vec![false; self.count];
        let is_first = |node| !std::mem::replace(&mut is_met[self.class_of(node)], true);
        self.count == self.class_by_node.len() || self.count >= nodes.len() && nodes.iter().all(is_first)
    }

    /// Returns the numbers of the classes of all nodes.
    pub(crate) fn class_numbers(&self) -> impl Iterator<Item = usize> {
        self.class_by_node.iter().map(|class| *class as usize)
    }

    /// Returns the nodes of each class.
    pub(crate) fn classes(&self) -> &[NodeSet] {
        self.sets.get_or_init(|| {
            let mut members: Vec<Vec<NodeId>> = vec![Vec::new(); self.count];
            (0..).map(NodeId).zip(&*self.class_by_node).for_each(|(node, class)| members[*class as usize].push(node));
            members.into_iter().map(|nodes| nodes.into_iter().collect()).collect()
        })
    }

    /// Applies `split` to `nodes`, or to their classes if they are a set of classes that this partition does not
    /// divide.
    fn split_by(&self, nodes: &NodeSet, split: impl Fn(&Partition, &NodeSet) -> Vec<NodeSet>) -> Vec<NodeSet> {
        let by_classes = match &nodes.0 {
            Form::Classes(set) => set.split(self, &split),
            Form::Nodes(_) => None,
        };
        by_classes.unwrap_or_else(|| split(self, nodes))
    }

    fn may_divide(&self, nodes: &NodeSet) -> bool {
        self.count > 1 && !nodes.is_empty() && !nodes.is_singleton()
    }

    /// Divides `nodes` by their classes.
    pub(crate) fn split(&self, nodes: &NodeSet) -> Vec<NodeSet> {
        if !self.may_divide(nodes) {
            return vec![nodes.clone()];
        }
        self.split_by(nodes, |partition, nodes| {
            if !are_few(partition.count, nodes) {
                return group(nodes, |node| partition.class_of(node));
            }
            let mut rest = nodes.clone();
            let class_of_first =
                || Some(rest.take_intersection(&partition.classes()[partition.class_of(rest.first()?)]));
            std::iter::from_fn(class_of_first).collect()
        })
    }

    /// Divides `nodes` into those of each of `classes`, in the order of their numbers, and a set of all others.
    pub(crate) fn split_off(&self, nodes: &NodeSet, classes: &[usize]) -> Vec<NodeSet> {
        if !self.may_divide(nodes) || classes.is_empty() {
            return vec![nodes.clone()];
        }
        self.split_by(nodes, |partition, nodes| {
            let sizes = || classes.iter().map(|class| partition.classes()[*class].len()).sum::<usize>();
            if !are_few(classes.len(), nodes) && sizes() > nodes.len() {
                return group(nodes, |node| classes.binary_search(&partition.class_of(node)).unwrap_or(classes.len()));
            }
            let mut rest = nodes.clone();
            let mut split: Vec<NodeSet> =
                classes.iter().map(|class| rest.take_intersection(&partition.classes()[*class])).collect();
            split.push(rest);
            split.retain(|nodes| !nodes.is_empty());
            split
        })
    }
}

/// Converts the number of a class to 32 bits.
fn number(class: usize) -> u32 {
    u32::try_from(class).unwrap_or(u32::MAX)
}

/// Returns true if removing so many classes from `nodes` is less work than looking up the class of each node.
fn are_few(classes: usize, nodes: &NodeSet) -> bool {
    classes <= nodes.len() / LOOKUPS_PER_REMOVAL
}

/// Groups `nodes` by the numbers that `number_of` gives them, in ascending order.
fn group(nodes: &NodeSet, number_of: impl Fn(NodeId) -> usize) -> Vec<NodeSet> {
    let mut numbered: Vec<(usize, NodeId)> = nodes.iter().map(|node| (number_of(node), node)).collect();
    numbered.sort_by_key(|(number, _)| *number);
    let groups = numbered.chunk_by(|(one, _), (other, _)| one == other);
    groups.map(|group| group.iter().map(|(_, node)| *node).collect()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::node::NodeClasses;

    /// Checks how `nodes` are divided by a partition of 5,000 nodes into `count` classes, and by some of these.
    fn check(count: usize, nodes: &NodeSet, numbers: &[usize]) {
        let (partition, _) = Partition::by((0..5_000).map(|node| node * 7 % count));
        let by = |of: &dyn Fn(usize) -> usize| {
            let mut groups: BTreeMap<usize, NodeSet> = BTreeMap::new();
            nodes.iter().for_each(|node| groups.entry(of(partition.class_of(node))).or_default().insert(node));
            sorted(groups.into_values().collect())
        };
        assert_eq!(sorted(partition.split(nodes)), by(&|class| class), "{count} {nodes:?}");
        let expected = by(&|class| if numbers.contains(&class) { class } else { count });
        assert_eq!(sorted(partition.split_off(nodes, numbers)), expected, "{count} {nodes:?} {numbers:?}");
    }

    fn sorted(mut sets: Vec<NodeSet>) -> Vec<NodeSet> {
        sets.sort_by_key(NodeSet::first);
        sets
    }

    #[test]
    fn nodes_are_divided_alike_whether_one_by_one_or_at_once() {
        for count in [1, 2, 40, 1_000] {
            for step in [1, 3, 50, 2_000] {
                let nodes: NodeSet = (0..5_000).step_by(step).map(NodeId).collect();
                for numbers in [vec![], vec![0], (0..count).step_by(3).collect()] {
                    check(count, &nodes, &numbers);
                }
            }
        }
    }

    fn of(count: usize) -> Partition {
        Partition::by((0..5_000).map(|node| node % count)).0
    }

    fn classes(count: usize) -> Arc<NodeClasses> {
        NodeClasses::by(5_000, count, [of(count)]).unwrap()
    }

    #[test]
    fn nodes_are_divided_alike_whether_classes_are_divided_or_not() {
        // The 80 classes are not divided by 40 or fewer; the 3 classes are divided by all but one.
        let (many, three) = (classes(80), classes(3));
        for count in [1, 2, 40, 1_000] {
            for classes in [&many, &three] {
                for nodes in
                    [classes.all(), of(3).split(&classes.all()).remove(0), of(40).split(&classes.all()).remove(0)]
                {
                    check(count, &nodes, &(0..count).step_by(3).collect::<Vec<_>>());
                }
            }
        }
        assert!(of(40).split(&many.all()).iter().all(NodeSet::is_by_classes));
        assert!(!of(40).split(&three.all()).iter().any(NodeSet::is_by_classes));
    }

    #[test]
    fn a_quotient_is_that_of_its_own_classes() {
        let (partition, classes) = (of(6), [classes(12), classes(18), classes(4)]);
        for classes in classes.iter().chain(&classes) {
            let sets = partition.split(&classes.all());
            assert_eq!(sets, partition.classes());
            assert_eq!(sets[0].is_by_classes(), classes.count() % 6 == 0);
        }
    }

    #[test]
    fn a_refinement_tells_apart_what_either_partition_does() {
        let of = |count: usize| Partition::by((0..5_000).map(|node| node / 7 % count)).0;
        let divided = of(6).refined(&of(10), 30).unwrap();
        assert_eq!((divided.count(), divided.classes()), (30, of(30).classes()));
        assert!(of(6).refined(&of(10), 29).is_none());
    }

    #[test]
    fn classes_are_told_apart_by_no_partition() {
        let by = |most, counts: &[usize]| NodeClasses::by(5_000, most, counts.iter().map(|count| of(*count)));
        assert_eq!(by(12, &[4, 2, 6]).map(|classes| classes.count()), Some(12));
        assert_eq!(by(11, &[4, 2, 6]).map(|classes| classes.count()), Some(4), "the last would make them more");
        assert_eq!(by(0, &[]).map(|classes| classes.count()), None);
        assert!(NodeClasses::by(0, 0, []).is_some_and(|classes| classes.all().is_empty()));
    }
}
