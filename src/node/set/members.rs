//! The members of a set, as a list or as bits.

use std::iter;
use std::mem;

use fixedbitset::FixedBitSet;

use super::NodeId;

use Members::{Few, Many};

/// A list, or a bit for each node of the fleet up to the last member.
#[derive(Clone)]
pub(super) enum Members {
    /// A list of nodes, in order.
    Few(Vec<NodeId>),
    /// The bits, and the number of those that are set.
    Many(FixedBitSet, usize),
}

/// Returns true if a list of `nodes` nodes takes at most a quarter of the memory of a set of `bits` bits. Operations
/// on bits are faster by about that factor.
fn are_few(nodes: usize, bits: usize) -> bool {
    nodes * 128 <= bits.max(512)
}

/// Returns the nodes whose bits are set in the block with the number `at`.
fn ones(at: usize, block: usize) -> impl Iterator<Item = NodeId> + Clone {
    let rest = iter::successors(Some(block), |rest| Some(rest & rest.wrapping_sub(1))).take_while(|rest| *rest != 0);
    rest.map(move |rest| NodeId::of_bit(at * usize::BITS as usize + rest.trailing_zeros() as usize))
}

impl Default for Members {
    fn default() -> Members {
        Few(Vec::new())
    }
}

impl Members {
    /// Returns the set of a sorted list of nodes.
    fn of_list(list: Vec<NodeId>) -> Members {
        let len = list.last().map_or(0, |last| last.bit() + 1);
        if are_few(list.len(), len) {
            return Few(list);
        }
        let mut bits = FixedBitSet::with_capacity(len);
        for node in &list {
            bits.insert(node.bit());
        }
        Many(bits, list.len())
    }

    /// Returns the set of all nodes of some runs, in order.
    pub(super) fn of_runs(runs: &[(u32, u32)]) -> Members {
        let len = runs.last().map_or(0, |(_, last)| NodeId(*last).bit() + 1);
        let count = runs.iter().map(|(first, last)| NodeId(*last).bit() + 1 - NodeId(*first).bit()).sum();
        if are_few(count, len) {
            return Few(runs.iter().flat_map(|(first, last)| *first..=*last).map(NodeId).collect());
        }
        let mut bits = FixedBitSet::with_capacity(len);
        for (first, last) in runs {
            bits.insert_range(NodeId(*first).bit()..NodeId(*last).bit() + 1);
        }
        Many(bits, count)
    }

    /// Returns all members of disjoint sets, with their total number.
    pub(super) fn of_disjoint<'m>(sets: impl Iterator<Item = &'m Members> + Clone, count: usize) -> Members {
        let len = sets.clone().filter_map(Members::last).max().map_or(0, |last| last.bit() + 1);
        if are_few(count, len) {
            return sets.flat_map(Members::iter).collect();
        }
        let mut bits = FixedBitSet::with_capacity(len);
        for set in sets {
            match set {
                Few(list) => list.iter().for_each(|node| bits.insert(node.bit())),
                Many(others, _) => bits.union_with(others),
            }
        }
        Many(bits, count)
    }

    /// Returns the set of the nodes whose bits are set, of which there are `count`.
    fn of_bits(bits: FixedBitSet, count: usize) -> Members {
        if are_few(count, bits.len()) {
            return Few(bits.ones().map(NodeId::of_bit).collect());
        }
        Many(bits, count)
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Few(list) => list.len(),
            Many(_, count) => *count,
        }
    }

    pub(super) fn first(&self) -> Option<NodeId> {
        match self {
            Few(list) => list.first().copied(),
            Many(bits, _) => bits.minimum().map(NodeId::of_bit),
        }
    }

    fn last(&self) -> Option<NodeId> {
        match self {
            Few(list) => list.last().copied(),
            Many(bits, _) => bits.maximum().map(NodeId::of_bit),
        }
    }

    pub(super) fn contains(&self, node: NodeId) -> bool {
        match self {
            Few(list) => list.binary_search(&node).is_ok(),
            Many(bits, _) => bits.contains(node.bit()),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = NodeId> + Clone + '_ {
        let (list, bits) = match self {
            Few(list) => (&list[..], None),
            Many(bits, _) => (&[][..], Some(bits)),
        };
        let blocks = bits.into_iter().flat_map(|bits| bits.as_slice().iter().enumerate());
        list.iter().copied().chain(blocks.flat_map(|(at, block)| ones(at, *block)))
    }

    pub(super) fn insert(&mut self, node: NodeId) {
        match self {
            Few(list) => {
                if let Err(at) = list.binary_search(&node) {
                    list.insert(at, node);
                    *self = Members::of_list(mem::take(list));
                }
            }
            Many(bits, count) => {
                bits.grow(node.bit() + 1);
                *count += usize::from(!bits.put(node.bit()));
            }
        }
    }

    pub(super) fn union_with(&mut self, other: &Members) {
        match (&mut *self, other) {
            (Few(own), Few(list)) if list.len() > 1 => {
                own.extend_from_slice(list);
                own.sort(); // which merges two sorted lists
                own.dedup();
                *self = Members::of_list(mem::take(own));
            }
            (_, Few(list)) => list.iter().for_each(|node| self.insert(*node)),
            (Few(list), Many(..)) => {
                let list = mem::take(list);
                *self = other.clone();
                for node in list {
                    self.insert(node);
                }
            }
            (Many(bits, count), Many(others, _)) => {
                bits.union_with(others);
                *count = bits.count_ones(..);
            }
        }
    }

    pub(super) fn intersection(&self, other: &Members) -> Members {
        let (fewer, more) = if self.len() <= other.len() { (self, other) } else { (other, self) };
        match (fewer, more) {
            (Many(bits, _), Many(others, _)) => {
                let mut bits = bits.clone();
                bits.intersect_with(others);
                let count = bits.count_ones(..);
                Members::of_bits(bits, count)
            }
            (Many(..), Few(list)) => Few(list.iter().copied().filter(|node| fewer.contains(*node)).collect()),
            (Few(list), _) => Few(list.iter().copied().filter(|node| more.contains(*node)).collect()),
        }
    }

    pub(super) fn difference(&self, other: &Members) -> Members {
        match (self, other) {
            (Few(list), _) => Few(list.iter().copied().filter(|node| !other.contains(*node)).collect()),
            (Many(bits, count), Few(list)) => {
                let (mut bits, mut count) = (bits.clone(), *count);
                for bit in list.iter().map(|node| node.bit()) {
                    if bits.contains(bit) {
                        bits.remove(bit);
                        count -= 1;
                    }
                }
                Members::of_bits(bits, count)
            }
            (Many(bits, _), Many(others, _)) => {
                let mut bits = bits.clone();
                bits.difference_with(others);
                let count = bits.count_ones(..);
                Members::of_bits(bits, count)
            }
        }
    }

    /// Removes nodes, all of which are in the set.
    pub(super) fn remove(&mut self, inside: &Members) {
        match (&mut *self, inside) {
            (Few(list), _) => list.retain(|node| !inside.contains(*node)),
            (Many(bits, count), _) => {
                match inside {
                    Few(list) => list.iter().for_each(|node| bits.remove(node.bit())),
                    Many(others, _) => bits.difference_with(others),
                }
                *self = Members::of_bits(mem::take(bits), *count - inside.len());
            }
        }
    }

    pub(super) fn is_disjoint(&self, other: &Members) -> bool {
        let (fewer, more) = if self.len() <= other.len() { (self, other) } else { (other, self) };
        match (fewer, more) {
            (Many(bits, _), Many(others, _)) => bits.is_disjoint(others),
            _ => !fewer.iter().any(|node| more.contains(node)),
        }
    }

    pub(super) fn is_subset(&self, other: &Members) -> bool {
        match (self, other) {
            _ if self.len() > other.len() => false,
            (Many(bits, _), Many(others, _)) => bits.is_subset(others),
            _ => self.iter().all(|node| other.contains(node)),
        }
    }
}

impl FromIterator<NodeId> for Members {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Members {
        let mut list: Vec<NodeId> = nodes.into_iter().collect();
        if !list.is_sorted_by(|one, next| one < next) {
            list.sort_unstable();
            list.dedup();
        }
        Members::of_list(list)
    }
}
