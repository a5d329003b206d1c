//! Divisions of the nodes of a fleet.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::node::{Kinds, NodeId, NodeSet};

/// In the time in which a part is taken from a set at once so many nodes are told, one by one, where they belong.
const AT_ONCE: usize = 64;

/// A division of all nodes into parts that have something in common; cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Partition {
    /// The part of each node, by its number.
    of: Arc<[u32]>,
    count: usize,
    sets: Arc<OnceLock<Vec<NodeSet>>>,
    /// What was asked for last.
    of_kinds: Arc<RwLock<OfKinds>>,
}

/// How kinds divide, by their numbers.
#[derive(Clone, Default)]
struct OfKinds {
    kinds: Weak<Kinds>,
    /// Nothing if one of them is divided.
    partition: Option<Arc<Partition>>,
}

impl OfKinds {
    fn new(partition: &Partition, kinds: &Arc<Kinds>) -> OfKinds {
        let part = |nodes: &NodeSet| {
            let part = partition.part(nodes.smallest()?);
            nodes.iter().all(|node| partition.part(node) == part).then(|| number(part))
        };
        let of = kinds.sets().iter().map(part).collect::<Option<Arc<[u32]>>>();
        let divided = of.map(|of| Arc::new(Partition::new(of, partition.count)));
        OfKinds { kinds: Arc::downgrade(kinds), partition: divided }
    }

    fn is_of(&self, kinds: &Arc<Kinds>) -> bool {
        std::ptr::eq(self.kinds.as_ptr(), Arc::as_ptr(kinds))
    }
}

impl Partition {
    /// The nodes 0, 1, ... divided by what they have; and what the nodes of each part have.
    pub(super) fn by<T: Eq + Hash>(of_nodes: impl Iterator<Item = T>) -> (Partition, Vec<T>) {
        let mut parts: IndexSet<T, RandomState> = IndexSet::default();
        let of = of_nodes.map(|common| number(parts.insert_full(common).0)).collect();
        (Partition::new(of, parts.len()), parts.into_iter().collect())
    }

    fn new(of: Arc<[u32]>, count: usize) -> Partition {
        Partition { of, count, ..Partition::default() }
    }

    /// The division of the nodes 0, 1, ... into `count` parts, of which each node is in the one of this number.
    pub(super) fn numbered(of: Vec<usize>, count: usize) -> Partition {
        Partition::new(of.into_iter().map(number).collect(), count)
    }

    /// The division of `nodes` nodes into these disjoint sets, which are all nodes together.
    pub(super) fn of_sets(nodes: usize, sets: Vec<NodeSet>) -> Partition {
        let nobody = Partition { sets: Arc::new(Vec::new().into()), ..Partition::new(vec![0; nodes].into(), 0) };
        nobody.changed(sets)
    }

    /// The division of the same nodes into these disjoint sets; little work where most of them are as in this one.
    pub(super) fn changed(&self, sets: Vec<NodeSet>) -> Partition {
        if sets == self.sets() {
            return self.clone();
        }
        let (mut of, count) = (self.of.to_vec(), sets.len());
        for ((part, set), before) in (0..).zip(&sets).zip(self.sets().iter().map(Some).chain(std::iter::repeat(None))) {
            if before != Some(set) {
                set.iter().for_each(|node| of[node.0 as usize] = part);
            }
        }
        Partition { sets: Arc::new(sets.into()), ..Partition::new(of.into(), count) }
    }

    /// The division into fewer parts, of which `of_part` says which of this are one.
    pub(super) fn joined(&self, of_part: &[usize], count: usize) -> Partition {
        let of = self.of.iter().map(|part| of_part.get(*part as usize).copied().unwrap_or_default());
        Partition::new(of.map(number).collect(), count)
    }

    /// The division by this one and another; nothing if it has more than `most` parts. Those with the smallest nodes come first.
    pub(super) fn divided(&self, other: &Partition, most: usize) -> Option<Partition> {
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

    /// The parts as kinds; their numbers are those of the parts.
    pub(super) fn kinds(&self) -> Arc<Kinds> {
        Kinds::new(self.of.clone(), self.sets().to_vec())
    }

    /// Whether it is the same division, not just an equal one.
    pub(super) fn is_same(&self, other: &Partition) -> bool {
        Arc::ptr_eq(&self.of, &other.of)
    }

    /// How many parts there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The number of a node's part.
    pub(super) fn part(&self, node: NodeId) -> usize {
        self.of.get(node.0 as usize).map_or(0, |part| *part as usize)
    }

    /// The numbers of the parts of all nodes.
    pub(super) fn parts(&self) -> impl Iterator<Item = usize> {
        self.of.iter().map(|part| *part as usize)
    }

    /// The nodes of all parts.
    pub(super) fn sets(&self) -> &[NodeSet] {
        self.sets.get_or_init(|| {
            let mut members: Vec<Vec<NodeId>> = vec![Vec::new(); self.count];
            (0..).map(NodeId).zip(&*self.of).for_each(|(node, part)| members[*part as usize].push(node));
            members.into_iter().map(|nodes| nodes.into_iter().collect()).collect()
        })
    }

    /// How kinds divide, by their numbers; nothing if one of them is divided.
    fn of_kinds(&self, kinds: &Arc<Kinds>) -> Option<Arc<Partition>> {
        let known = self.of_kinds.read().unwrap_or_else(PoisonError::into_inner).clone();
        if known.is_of(kinds) {
            return known.partition;
        }
        let mut known = self.of_kinds.write().unwrap_or_else(PoisonError::into_inner);
        if !known.is_of(kinds) {
            *known = OfKinds::new(self, kinds);
        }
        known.partition.clone()
    }

    /// What `split` makes of nodes that are known by their kinds, if that divides no kind.
    fn split_kinds(
        &self,
        nodes: &NodeSet,
        split: impl FnOnce(&Partition, &NodeSet) -> Vec<NodeSet>,
    ) -> Option<Vec<NodeSet>> {
        let (kinds, numbers) = nodes.kinds()?;
        let parts = split(&*self.of_kinds(kinds)?, &numbers);
        Some(parts.iter().map(|numbers| kinds.of_numbers(numbers)).collect())
    }

    /// `nodes` divided.
    pub(super) fn split(&self, nodes: &NodeSet) -> Vec<NodeSet> {
        if self.count <= 1 {
            return vec![nodes.clone()];
        }
        self.split_kinds(nodes, Partition::split).unwrap_or_else(|| self.split_nodes(nodes))
    }

    fn split_nodes(&self, nodes: &NodeSet) -> Vec<NodeSet> {
        if nodes.len() <= 1 {
            return vec![nodes.clone()];
        }
        if are_few(self.count, nodes) {
            let mut rest = nodes.clone();
            let part_of_first = || Some(rest.take(&self.sets()[self.part(rest.smallest()?)]));
            return std::iter::from_fn(part_of_first).collect();
        }
        group(nodes, |node| self.part(node))
    }

    /// `nodes` divided into those of each of `parts`, in order of their numbers, and all others together.
    pub(super) fn split_off(&self, nodes: &NodeSet, parts: &[usize]) -> Vec<NodeSet> {
        if self.count <= 1 || parts.is_empty() {
            return vec![nodes.clone()];
        }
        let split = |partition: &Partition, nodes: &NodeSet| partition.split_off(nodes, parts);
        self.split_kinds(nodes, split).unwrap_or_else(|| self.split_nodes_off(nodes, parts))
    }

    fn split_nodes_off(&self, nodes: &NodeSet, parts: &[usize]) -> Vec<NodeSet> {
        if nodes.len() <= 1 {
            return vec![nodes.clone()];
        }
        let sizes = || parts.iter().map(|part| self.sets()[*part].len()).sum::<usize>();
        if !are_few(parts.len(), nodes) && sizes() > nodes.len() {
            return group(nodes, |node| parts.binary_search(&self.part(node)).unwrap_or(parts.len()));
        }
        let mut rest = nodes.clone();
        let mut split: Vec<NodeSet> = parts.iter().map(|part| rest.take(&self.sets()[*part])).collect();
        split.push(rest);
        split.retain(|nodes| !nodes.is_empty());
        split
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

    /// Checks how `nodes` are divided by a partition of 5,000 nodes into `count` parts, and by some of these parts.
    fn check(count: usize, nodes: &NodeSet, parts: &[usize]) {
        let (partition, _) = Partition::by((0..5_000).map(|node| node * 7 % count));
        let by = |of: &dyn Fn(usize) -> usize| {
            let mut groups: BTreeMap<usize, NodeSet> = BTreeMap::new();
            nodes.iter().for_each(|node| groups.entry(of(partition.part(node))).or_default().insert(node));
            sorted(groups.into_values().collect())
        };
        assert_eq!(sorted(partition.split(nodes)), by(&|part| part), "{count} {nodes:?}");
        let expected = by(&|part| if parts.contains(&part) { part } else { count });
        assert_eq!(sorted(partition.split_off(nodes, parts)), expected, "{count} {nodes:?} {parts:?}");
    }

    fn sorted(mut sets: Vec<NodeSet>) -> Vec<NodeSet> {
        sets.sort_by_key(NodeSet::smallest);
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

    #[test]
    fn nodes_are_divided_alike_whether_kinds_are_divided_or_not() {
        for count in [1, 2, 40, 1_000] {
            // Of the kinds by 80 no part of 40 or less divides any; those by 3 are divided by all but one.
            for kinds in [80, 3].map(|kinds| Partition::by((0..5_000).map(|node| node % kinds)).0.kinds()) {
                let some = kinds.of_numbers(&(0..3).map(NodeId).collect());
                for nodes in [kinds.all(), some] {
                    check(count, &nodes, &(0..count).step_by(3).collect::<Vec<_>>());
                }
            }
        }
        let of = |nodes: usize| Partition::by((0..5_000).map(|node| node % nodes)).0;
        let is_by_kinds = |nodes: &NodeSet| nodes.kinds().is_some();
        assert!(of(40).split(&of(80).kinds().all()).iter().all(is_by_kinds));
        assert!(!of(40).split(&of(3).kinds().all()).iter().any(is_by_kinds));
    }

    #[test]
    fn what_two_divisions_tell_apart_is_told_apart() {
        let of = |count: usize| Partition::by((0..5_000).map(|node| node / 7 % count)).0;
        let divided = of(6).divided(&of(10), 30).unwrap();
        assert_eq!((divided.count(), divided.sets()), (30, of(30).sets()));
        assert!(of(6).divided(&of(10), 29).is_none());
    }
}
