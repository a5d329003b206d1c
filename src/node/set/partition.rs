//! Divisions of the nodes of a fleet.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use super::{Form, NodeId, NodeSet};

/// In the time in which a part is taken from a set at once so many nodes are told, one by one, where they belong.
const AT_ONCE: usize = 64;

/// A division of all nodes into parts that have something in common; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Partition {
    /// The part of each node, by its number.
    of: Arc<[u32]>,
    count: usize,
    sets: Arc<OnceLock<Vec<NodeSet>>>,
}

impl Partition {
    /// The nodes 0, 1, ... divided by what they have; and what the nodes of each part have.
    pub(crate) fn by<T: Eq + Hash>(of_nodes: impl Iterator<Item = T>) -> (Partition, Vec<T>) {
        let mut parts: IndexSet<T, RandomState> = IndexSet::default();
        let of = of_nodes.map(|common| number(parts.insert_full(common).0)).collect();
        (Partition::new(of, parts.len()), parts.into_iter().collect())
    }

    fn new(of: Arc<[u32]>, count: usize) -> Partition {
        Partition { of, count, ..Partition::default() }
    }

    /// The division of the nodes 0, 1, ... into `count` parts, of which each node is in the one of this number.
    pub(crate) fn of_numbers(of: Vec<usize>, count: usize) -> Partition {
        Partition::new(of.into_iter().map(number).collect(), count)
    }

    /// The division of `nodes` nodes into these disjoint sets, which are all nodes together.
    pub(crate) fn of_classes(nodes: usize, sets: Vec<NodeSet>) -> Partition {
        let nobody = Partition { sets: Arc::new(Vec::new().into()), ..Partition::new(vec![0; nodes].into(), 0) };
        nobody.with_classes(sets)
    }

    /// The division of the same nodes into these disjoint sets; little work where most of them are as in this one.
    #[must_use]
    pub(crate) fn with_classes(&self, sets: Vec<NodeSet>) -> Partition {
        if sets == self.classes() {
            return self.clone();
        }
        let (mut of, count) = (self.of.to_vec(), sets.len());
        for ((part, set), before) in
            (0..).zip(&sets).zip(self.classes().iter().map(Some).chain(std::iter::repeat(None)))
        {
            if before != Some(set) {
                set.iter().for_each(|node| of[node.0 as usize] = part);
            }
        }
        Partition { sets: Arc::new(sets.into()), ..Partition::new(of.into(), count) }
    }

    /// The division into fewer parts, of which `of_part` says which of this are one.
    #[must_use]
    pub(crate) fn coarsened(&self, of_part: &[usize], count: usize) -> Partition {
        let of = self.of.iter().map(|part| of_part.get(*part as usize).copied().unwrap_or_default());
        Partition::new(of.map(number).collect(), count)
    }

    /// The division of so many nodes that divides nobody.
    pub(super) fn trivial(nodes: usize) -> Partition {
        Partition::new(vec![0; nodes].into(), nodes.min(1))
    }

    /// The division by this one and another; nothing if it has more than `most` parts. Those with the smallest nodes come first.
    pub(super) fn refined(&self, other: &Partition, most: usize) -> Option<Partition> {
        let mut parts: HashMap<(u32, u32), u32, RandomState> = HashMap::default();
        let mut of = Vec::with_capacity(self.of.len());
        for pair in self.of.iter().copied().zip(other.of.iter().copied()) {
            let next = number(parts.len());
            of.push(*parts.entry(pair).or_insert(next));
            if parts.len() > most {
                return None;
            }
        }
        Some(Partition::new(of.into(), parts.len()))
    }

    /// What tells it from another division, be that equal, while it is there.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.of).addr()
    }

    /// How the parts divide by another division, by their numbers; nothing if that divides a part, or if nobody is in one.
    pub(super) fn quotient(&self, other: &Partition) -> Option<Partition> {
        let mut of: Vec<Option<u32>> = vec![None; self.count];
        for (part, other) in self.of.iter().zip(&*other.of) {
            if *of[*part as usize].get_or_insert(*other) != *other {
                return None;
            }
        }
        Some(Partition::new(of.into_iter().collect::<Option<_>>()?, other.count))
    }

    /// How many parts there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The number of a node's part, as sets of parts hold it; nothing for a node of no part.
    pub(super) fn find_class(&self, node: NodeId) -> Option<NodeId> {
        self.of.get(node.bit()).copied().map(NodeId)
    }

    /// The number of a node's part.
    pub(crate) fn class_of(&self, node: NodeId) -> usize {
        self.of.get(node.0 as usize).map_or(0, |part| *part as usize)
    }

    /// The numbers of the parts of all nodes.
    pub(crate) fn class_numbers(&self) -> impl Iterator<Item = usize> {
        self.of.iter().map(|part| *part as usize)
    }

    /// The nodes of all parts.
    pub(crate) fn classes(&self) -> &[NodeSet] {
        self.sets.get_or_init(|| {
            let mut members: Vec<Vec<NodeId>> = vec![Vec::new(); self.count];
            (0..).map(NodeId).zip(&*self.of).for_each(|(node, part)| members[*part as usize].push(node));
            members.into_iter().map(|nodes| nodes.into_iter().collect()).collect()
        })
    }

    /// What `split` makes of `nodes`; of their classes, if they are known by these and none is divided.
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

    /// `nodes` divided.
    pub(crate) fn split(&self, nodes: &NodeSet) -> Vec<NodeSet> {
        if !self.may_divide(nodes) {
            return vec![nodes.clone()];
        }
        self.split_by(nodes, |partition, nodes| {
            if !are_few(partition.count, nodes) {
                return group(nodes, |node| partition.class_of(node));
            }
            let mut rest = nodes.clone();
            let part_of_first =
                || Some(rest.take_intersection(&partition.classes()[partition.class_of(rest.first()?)]));
            std::iter::from_fn(part_of_first).collect()
        })
    }

    /// `nodes` divided into those of each of `parts`, in order of their numbers, and all others together.
    pub(crate) fn split_off(&self, nodes: &NodeSet, parts: &[usize]) -> Vec<NodeSet> {
        if !self.may_divide(nodes) || parts.is_empty() {
            return vec![nodes.clone()];
        }
        self.split_by(nodes, |partition, nodes| {
            let sizes = || parts.iter().map(|part| partition.classes()[*part].len()).sum::<usize>();
            if !are_few(parts.len(), nodes) && sizes() > nodes.len() {
                return group(nodes, |node| parts.binary_search(&partition.class_of(node)).unwrap_or(parts.len()));
            }
            let mut rest = nodes.clone();
            let mut split: Vec<NodeSet> =
                parts.iter().map(|part| rest.take_intersection(&partition.classes()[*part])).collect();
            split.push(rest);
            split.retain(|nodes| !nodes.is_empty());
            split
        })
    }
}

/// The number of a part.
fn number(part: usize) -> u32 {
    u32::try_from(part).unwrap_or(u32::MAX)
}

/// Whether to take parts from `nodes` at once, one after the other, is less work than to look at each node.
fn are_few(parts: usize, nodes: &NodeSet) -> bool {
    parts <= nodes.len() / AT_ONCE
}

/// `nodes` by the numbers that they have in common, in the order of these.
fn group(nodes: &NodeSet, of: impl Fn(NodeId) -> usize) -> Vec<NodeSet> {
    let mut numbered: Vec<(usize, NodeId)> = nodes.iter().map(|node| (of(node), node)).collect();
    numbered.sort_by_key(|(number, _)| *number);
    let groups = numbered.chunk_by(|(one, _), (other, _)| one == other);
    groups.map(|group| group.iter().map(|(_, node)| *node).collect()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::node::NodeClasses;

    /// Checks how `nodes` are divided by a partition of 5,000 nodes into `count` parts, and by some of these parts.
    fn check(count: usize, nodes: &NodeSet, parts: &[usize]) {
        let (partition, _) = Partition::by((0..5_000).map(|node| node * 7 % count));
        let by = |of: &dyn Fn(usize) -> usize| {
            let mut groups: BTreeMap<usize, NodeSet> = BTreeMap::new();
            nodes.iter().for_each(|node| groups.entry(of(partition.class_of(node))).or_default().insert(node));
            sorted(groups.into_values().collect())
        };
        assert_eq!(sorted(partition.split(nodes)), by(&|part| part), "{count} {nodes:?}");
        let expected = by(&|part| if parts.contains(&part) { part } else { count });
        assert_eq!(sorted(partition.split_off(nodes, parts)), expected, "{count} {nodes:?} {parts:?}");
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
                for parts in [vec![], vec![0], (0..count).step_by(3).collect()] {
                    check(count, &nodes, &parts);
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
    fn nodes_are_divided_alike_whether_kinds_are_divided_or_not() {
        // Of the classes by 80 no part of 40 or less divides any; those by 3 are divided by all but one.
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
    fn a_division_of_kinds_is_of_no_others() {
        let (partition, classes) = (of(6), [classes(12), classes(18), classes(4)]);
        for classes in classes.iter().chain(&classes) {
            let parts = partition.split(&classes.all());
            assert_eq!(parts, partition.classes());
            assert_eq!(parts[0].is_by_classes(), classes.count() % 6 == 0);
        }
    }

    #[test]
    fn what_two_divisions_tell_apart_is_told_apart() {
        let of = |count: usize| Partition::by((0..5_000).map(|node| node / 7 % count)).0;
        let divided = of(6).refined(&of(10), 30).unwrap();
        assert_eq!((divided.count(), divided.classes()), (30, of(30).classes()));
        assert!(of(6).refined(&of(10), 29).is_none());
    }

    #[test]
    fn kinds_are_what_no_partition_tells_apart() {
        let by = |most, counts: &[usize]| NodeClasses::by(5_000, most, counts.iter().map(|count| of(*count)));
        assert_eq!(by(12, &[4, 2, 6]).map(|classes| classes.count()), Some(12));
        assert_eq!(by(11, &[4, 2, 6]).map(|classes| classes.count()), Some(4), "the last would make them more");
        assert_eq!(by(0, &[]).map(|classes| classes.count()), None);
        assert!(NodeClasses::by(0, 0, []).is_some_and(|classes| classes.all().is_empty()));
    }
}
