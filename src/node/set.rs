//! Sets of nodes, compressed.

use std::fmt;
use std::iter;
use std::mem;
use std::sync::Arc;

use fixedbitset::FixedBitSet;

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
#[derive(Clone, Default)]
pub struct NodeSet(Arc<Nodes>);

/// A list, or a bit for each node of the fleet up to the last one.
#[derive(Clone)]
enum Nodes {
    /// In order.
    Few(Vec<NodeId>),
    /// The bits, and how many of them are set.
    Many(FixedBitSet, usize),
}

use Nodes::{Few, Many};

/// Whether a list of so many nodes takes no more than a quarter of the memory of so many bits: to divide bits is that much less work.
fn are_few(nodes: usize, bits: usize) -> bool {
    nodes * 128 <= bits.max(512)
}

/// The nodes whose bits are set in a block, by its number.
fn ones(at: usize, block: usize) -> impl Iterator<Item = NodeId> + Clone {
    let rest = iter::successors(Some(block), |rest| Some(rest & rest.wrapping_sub(1))).take_while(|rest| *rest != 0);
    rest.map(move |rest| NodeId::of_bit(at * usize::BITS as usize + rest.trailing_zeros() as usize))
}

impl Default for Nodes {
    fn default() -> Nodes {
        Few(Vec::new())
    }
}

impl Nodes {
    /// Nodes in order.
    fn of_list(list: Vec<NodeId>) -> Nodes {
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

    /// Bits, so many of which are set.
    fn of_bits(bits: FixedBitSet, count: usize) -> Nodes {
        if are_few(count, bits.len()) {
            return Few(bits.ones().map(NodeId::of_bit).collect());
        }
        Many(bits, count)
    }

    fn len(&self) -> usize {
        match self {
            Few(list) => list.len(),
            Many(_, count) => *count,
        }
    }

    fn smallest(&self) -> Option<NodeId> {
        match self {
            Few(list) => list.first().copied(),
            Many(bits, _) => bits.minimum().map(NodeId::of_bit),
        }
    }

    fn contains(&self, node: NodeId) -> bool {
        match self {
            Few(list) => list.binary_search(&node).is_ok(),
            Many(bits, _) => bits.contains(node.bit()),
        }
    }

    fn iter(&self) -> impl Iterator<Item = NodeId> + Clone + '_ {
        let (list, bits) = match self {
            Few(list) => (&list[..], None),
            Many(bits, _) => (&[][..], Some(bits)),
        };
        let blocks = bits.into_iter().flat_map(|bits| bits.as_slice().iter().enumerate());
        list.iter().copied().chain(blocks.flat_map(|(at, block)| ones(at, *block)))
    }

    fn insert(&mut self, node: NodeId) {
        match self {
            Few(list) => {
                if let Err(at) = list.binary_search(&node) {
                    list.insert(at, node);
                    *self = Nodes::of_list(mem::take(list));
                }
            }
            Many(bits, count) => {
                bits.grow(node.bit() + 1);
                *count += usize::from(!bits.put(node.bit()));
            }
        }
    }

    fn extend(&mut self, other: &Nodes) {
        match (&mut *self, other) {
            (Few(own), Few(list)) if list.len() > 1 => {
                own.extend_from_slice(list);
                own.sort(); // which merges two sorted lists
                own.dedup();
                *self = Nodes::of_list(mem::take(own));
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

    fn and(&self, other: &Nodes) -> Nodes {
        let (fewer, more) = if self.len() <= other.len() { (self, other) } else { (other, self) };
        match (fewer, more) {
            (Many(bits, _), Many(others, _)) => {
                let mut bits = bits.clone();
                bits.intersect_with(others);
                let count = bits.count_ones(..);
                Nodes::of_bits(bits, count)
            }
            (Many(..), Few(list)) => Few(list.iter().copied().filter(|node| fewer.contains(*node)).collect()),
            (Few(list), _) => Few(list.iter().copied().filter(|node| more.contains(*node)).collect()),
        }
    }

    fn without(&self, other: &Nodes) -> Nodes {
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
                Nodes::of_bits(bits, count)
            }
            (Many(bits, _), Many(others, _)) => {
                let mut bits = bits.clone();
                bits.difference_with(others);
                let count = bits.count_ones(..);
                Nodes::of_bits(bits, count)
            }
        }
    }

    /// Removes nodes all of which are in the set.
    fn remove(&mut self, inside: &Nodes) {
        match (&mut *self, inside) {
            (Few(list), _) => list.retain(|node| !inside.contains(*node)),
            (Many(bits, count), _) => {
                match inside {
                    Few(list) => list.iter().for_each(|node| bits.remove(node.bit())),
                    Many(others, _) => bits.difference_with(others),
                }
                *self = Nodes::of_bits(mem::take(bits), *count - inside.len());
            }
        }
    }

    fn is_disjoint(&self, other: &Nodes) -> bool {
        let (fewer, more) = if self.len() <= other.len() { (self, other) } else { (other, self) };
        match (fewer, more) {
            (Many(bits, _), Many(others, _)) => bits.is_disjoint(others),
            _ => !fewer.iter().any(|node| more.contains(node)),
        }
    }

    fn is_in(&self, other: &Nodes) -> bool {
        match (self, other) {
            _ if self.len() > other.len() => false,
            (Many(bits, _), Many(others, _)) => bits.is_subset(others),
            _ => self.iter().all(|node| other.contains(node)),
        }
    }
}

impl FromIterator<NodeId> for Nodes {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Nodes {
        let mut list: Vec<NodeId> = nodes.into_iter().collect();
        if !list.is_sorted_by(|one, next| one < next) {
            list.sort_unstable();
            list.dedup();
        }
        Nodes::of_list(list)
    }
}

impl NodeSet {
    /// No node.
    pub fn new() -> NodeSet {
        NodeSet::default()
    }

    /// The nodes 0 to `count` - 1.
    pub fn first(count: u32) -> NodeSet {
        (0..count).map(NodeId).collect()
    }

    /// Adds a node.
    pub fn insert(&mut self, node: NodeId) {
        Arc::make_mut(&mut self.0).insert(node);
    }

    /// Whether the node is in the set.
    pub fn contains(&self, node: NodeId) -> bool {
        self.0.contains(node)
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The node with the smallest number.
    pub fn smallest(&self) -> Option<NodeId> {
        self.0.smallest()
    }

    /// The nodes in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + Clone + '_ {
        self.0.iter()
    }

    /// Sets of `size` nodes at the most that are this one together, in the order of their numbers.
    pub fn pieces(&self, size: usize) -> impl Iterator<Item = NodeSet> + '_ {
        let mut nodes = self.iter().peekable();
        std::iter::from_fn(move || nodes.peek().is_some().then(|| nodes.by_ref().take(size).collect()))
    }

    /// Adds all nodes of another set.
    pub fn extend(&mut self, other: &NodeSet) {
        if self.is_empty() {
            *self = other.clone();
        } else if !Arc::ptr_eq(&self.0, &other.0) {
            Arc::make_mut(&mut self.0).extend(&other.0);
        }
    }

    /// The nodes in both sets.
    #[must_use]
    pub fn and(&self, other: &NodeSet) -> NodeSet {
        NodeSet(Arc::new(self.0.and(&other.0)))
    }

    /// Whether all nodes are in the other set, too.
    pub fn is_in(&self, other: &NodeSet) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.is_in(&other.0)
    }

    /// Takes out the nodes that are in the other set, too.
    #[must_use]
    pub fn take(&mut self, other: &NodeSet) -> NodeSet {
        // Most sets are not divided, and most that are hold the other: to see that costs less than to make new ones.
        if self.0.is_disjoint(&other.0) {
            return NodeSet::new();
        }
        if self.is_in(other) {
            return mem::take(self);
        }
        let taken = if other.is_in(self) { other.clone() } else { self.and(other) };
        Arc::make_mut(&mut self.0).remove(&taken.0);
        taken
    }

    /// The nodes of this set that are not in the other.
    #[must_use]
    pub fn without(&self, other: &NodeSet) -> NodeSet {
        if self.0.is_disjoint(&other.0) {
            return self.clone();
        }
        NodeSet(Arc::new(self.0.without(&other.0)))
    }
}

impl PartialEq for NodeSet {
    fn eq(&self, other: &NodeSet) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.len() == other.len() && self.0.is_in(&other.0))
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> NodeSet {
        NodeSet(Arc::new(nodes.into_iter().collect()))
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

    /// Sets of all sorts: lists and bits, short and long.
    fn sets() -> Vec<Vec<u32>> {
        let every = |step: usize| (0..5_000).step_by(step).collect::<Vec<u32>>();
        vec![
            vec![],
            vec![3],
            vec![4_999],
            vec![7, 70_000],
            every(1),
            every(2),
            every(31),
            every(100),
            every(1_000),
            (90..400).collect(),
            (4_000..5_000).collect(),
        ]
    }

    #[test]
    fn sets_are_what_their_nodes_are() {
        let set = |nodes: &[u32]| nodes.iter().copied().map(NodeId).collect::<NodeSet>();
        for one in sets() {
            let nodes = set(&one);
            let numbers = |nodes: &NodeSet| nodes.iter().map(|node| node.0).collect::<Vec<u32>>();
            assert_eq!((numbers(&nodes), nodes.len()), (one.clone(), one.len()));
            assert_eq!(nodes.smallest(), one.first().copied().map(NodeId));
            assert_eq!(set(&one.iter().rev().chain(&one).copied().collect::<Vec<u32>>()), nodes);
            for other in sets() {
                let others = set(&other);
                let both: Vec<u32> = one.iter().copied().filter(|node| other.contains(node)).collect();
                let rest: Vec<u32> = one.iter().copied().filter(|node| !other.contains(node)).collect();
                assert_eq!((nodes.and(&others), nodes.without(&others)), (set(&both), set(&rest)));
                assert_eq!((nodes == others, nodes.is_in(&others)), (one == other, both == one));
                let mut all = nodes.clone();
                all.extend(&others);
                let mut inserted = nodes.clone();
                for node in &other {
                    inserted.insert(NodeId(*node));
                }
                let expected = set(&rest.iter().chain(&other).copied().collect::<Vec<u32>>());
                assert_eq!((&all, &inserted), (&expected, &expected));
                assert_eq!(numbers(&all), numbers(&expected));
                let mut left = nodes.clone();
                let taken = left.take(&others);
                assert_eq!((&taken, &left), (&set(&both), &set(&rest)));
                assert_eq!((numbers(&taken), numbers(&left), left.len()), (both, rest.clone(), rest.len()));
            }
        }
    }
}
