//! Divisions of the nodes of a fleet.

use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::node::{NodeId, NodeSet};

/// In the time in which a part is taken from a set at once so many nodes are told, one by one, where they belong.
const AT_ONCE: usize = 64;

/// A division of all nodes into parts that have something in common; cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Partition {
    /// The part of each node, by its number.
    of: Arc<[u32]>,
    count: usize,
    sets: Arc<OnceLock<Vec<NodeSet>>>,
}

impl Partition {
    /// The nodes 0, 1, ... divided by what they have; and what the nodes of each part have.
    pub(super) fn by<T: Eq + Hash>(of_nodes: impl Iterator<Item = T>) -> (Partition, Vec<T>) {
        let mut parts: IndexSet<T, RandomState> = IndexSet::default();
        let of = of_nodes.map(|common| u32::try_from(parts.insert_full(common).0).unwrap_or(u32::MAX)).collect();
        (Partition { of, count: parts.len(), sets: Arc::default() }, parts.into_iter().collect())
    }

    /// The division of the nodes 0, 1, ... into `count` parts, of which each node is in the one of this number.
    pub(super) fn numbered(of: Vec<usize>, count: usize) -> Partition {
        let of = of.into_iter().map(|part| u32::try_from(part).unwrap_or(u32::MAX)).collect();
        Partition { of, count, sets: Arc::default() }
    }

    /// The division of `nodes` nodes into these disjoint sets, which are all nodes together.
    pub(super) fn of_sets(nodes: usize, sets: Vec<NodeSet>) -> Partition {
        let nobody = Partition { of: vec![0; nodes].into(), count: 0, sets: Arc::new(Vec::new().into()) };
        nobody.changed(sets)
    }

    /// The division of the same nodes into these disjoint sets; little work where most of them are as in this one.
    pub(super) fn changed(&self, sets: Vec<NodeSet>) -> Partition {
        if sets == self.sets() {
            return self.clone();
        }
        let mut of = self.of.to_vec();
        for ((part, set), before) in (0..).zip(&sets).zip(self.sets().iter().map(Some).chain(std::iter::repeat(None))) {
            if before != Some(set) {
                set.iter().for_each(|node| of[node.0 as usize] = part);
            }
        }
        Partition { of: of.into(), count: sets.len(), sets: Arc::new(sets.into()) }
    }

    /// The division into fewer parts, of which `of_part` says which of this are one.
    pub(super) fn joined(&self, of_part: &[usize], count: usize) -> Partition {
        let of = self.of.iter().map(|part| of_part.get(*part as usize).copied().unwrap_or_default());
        let of = of.map(|part| u32::try_from(part).unwrap_or(u32::MAX)).collect();
        Partition { of, count, sets: Arc::default() }
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

    /// `nodes` divided.
    pub(super) fn split(&self, nodes: &NodeSet) -> Vec<NodeSet> {
        if self.count <= 1 || nodes.len() <= 1 {
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
        if self.count <= 1 || nodes.len() <= 1 || parts.is_empty() {
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
}
