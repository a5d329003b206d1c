//! Numbers the sets of nodes of a report, so that its JSON form has each set once.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::node::{NodeId, NodeSet};

/// Distinct sets, in order of first use.
#[derive(Default)]
pub(in crate::report) struct NodeSets<'a> {
    sets: Vec<Cow<'a, NodeSet>>,
    /// The numbers of the sets, by a cheap hash key: size and first node.
    by_summary: HashMap<(usize, u32), Vec<usize>, RandomState>,
}

impl<'a> NodeSets<'a> {
    /// Returns the number of a set, which is new if the set is.
    pub(in crate::report) fn number(&mut self, set: Cow<'a, NodeSet>) -> usize {
        let candidates = self.by_summary.entry(summary(&set)).or_default();
        if let Some(known) = candidates.iter().find(|number| self.sets[**number] == set) {
            return *known;
        }
        let number = self.sets.len();
        candidates.push(number);
        self.sets.push(set);
        number
    }

    /// Returns all sets, by their numbers. In a report on many nodes, they refer to further sets that follow them.
    pub(in crate::report) fn into_all(self) -> Vec<ListedSet<'a>> {
        let names: usize = self.sets.iter().map(|set| set.len()).sum();
        if names <= MOST_NAMES { self.sets.into_iter().map(ListedSet::of_nodes).collect() } else { self.by_parts() }
    }

    /// Returns all sets by their parts, which follow them: nodes are in the same part if they are in the same sets.
    fn by_parts(self) -> Vec<ListedSet<'a>> {
        let parts = parts(&self.sets);
        let mut listed: Vec<ListedSet<'_>> = Vec::with_capacity(self.sets.len());
        // Where each part is listed, and in which set it was met last.
        let (mut places, mut met) = (vec![None; parts.sets.len()], vec![usize::MAX; parts.sets.len()]);
        let mut shared: Vec<usize> = Vec::new();
        for (number, set) in self.sets.iter().enumerate() {
            let mut list = ListedSet::default();
            for node in set.iter() {
                let part = parts.part_of_node[node.0 as usize];
                match &parts.sets[part] {
                    whole if whole.len() == 1 => list.nodes.to_mut().insert(node),
                    _ if std::mem::replace(&mut met[part], number) == number => {}
                    whole if whole.len() == set.len() => list.nodes = Cow::Owned(whole.clone()),
                    _ => list.sets.push(*places[part].get_or_insert_with(|| {
                        shared.push(part);
                        self.sets.len() + shared.len() - 1
                    })),
                }
            }
            listed.push(list);
        }
        listed.extend(shared.into_iter().map(|part| ListedSet::of_nodes(Cow::Owned(parts.sets[part].clone()))));
        listed
    }
}

/// The maximum number of names that node sets list in full.
const MOST_NAMES: usize = 1_500_000;

/// A set as it is listed: further sets whose nodes belong to it, by their numbers, and other nodes.
#[derive(Default)]
pub(in crate::report) struct ListedSet<'a> {
    pub(in crate::report) sets: Vec<usize>,
    pub(in crate::report) nodes: Cow<'a, NodeSet>,
}

impl<'a> ListedSet<'a> {
    fn of_nodes(nodes: Cow<'a, NodeSet>) -> ListedSet<'a> {
        ListedSet { sets: Vec::new(), nodes }
    }
}

/// The classes of nodes that are in the same sets.
struct DistinctParts {
    /// The part of each node.
    part_of_node: Vec<usize>,
    sets: Vec<NodeSet>,
}

fn parts(sets: &[Cow<'_, NodeSet>]) -> DistinctParts {
    let count = sets.iter().filter_map(|set| set.iter().last()).map(|node| node.0 as usize + 1).max().unwrap_or(0);
    let (mut part_of_node, mut next) = (vec![0; count], 1);
    for set in sets {
        // The nodes of each part that are in the set become a separate part.
        let mut split: HashMap<usize, usize, RandomState> = HashMap::default();
        for node in set.iter() {
            let part = &mut part_of_node[node.0 as usize];
            *part = *split.entry(*part).or_insert_with(|| {
                next += 1;
                next
            });
        }
    }
    let mut numbers: HashMap<usize, usize, RandomState> = HashMap::default();
    let mut sets: Vec<NodeSet> = Vec::new();
    for (node, part) in (0..).zip(&mut part_of_node) {
        *part = *numbers.entry(*part).or_insert_with(|| {
            sets.push(NodeSet::new());
            sets.len() - 1
        });
        sets[*part].insert(NodeId(node));
    }
    DistinctParts { part_of_node, sets }
}

/// Returns a cheap hash key of a set: its size and its first node.
pub(in crate::report) fn summary(set: &NodeSet) -> (usize, u32) {
    (set.len(), set.first().map_or(0, |node| node.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the nodes of a set, including those of the sets in it.
    fn nodes(all: &[ListedSet<'_>], number: usize) -> NodeSet {
        let listed = &all[number];
        let further = listed.sets.iter().map(|number| nodes(all, *number));
        further.fold(listed.nodes.clone().into_owned(), |mut all, further| {
            all.union_with(&further);
            all
        })
    }

    #[test]
    fn parts_make_up_the_same_sets() {
        let dice = &mut fastrand::Rng::with_seed(5);
        for _ in 0..300 {
            let mut sets = NodeSets::default();
            let groups: Vec<NodeSet> = (0..6).map(|_| (0..40).filter(|_| dice.bool()).map(NodeId).collect()).collect();
            let mut expected: Vec<NodeSet> = Vec::new();
            for _ in 0..dice.usize(1..12) {
                let mut set = groups[dice.usize(0..6)].clone();
                match dice.u8(0..3) {
                    0 => set.union_with(&groups[dice.usize(0..6)]),
                    1 => set.insert(NodeId(dice.u32(0..50))),
                    _ => {}
                }
                if sets.number(Cow::Owned(set.clone())) == expected.len() {
                    expected.push(set);
                }
            }
            let listed = sets.by_parts();
            let found: Vec<NodeSet> = (0..expected.len()).map(|number| nodes(&listed, number)).collect();
            assert_eq!(found, expected);
        }
    }
}
