//! Classes of nodes, for work on many keys: what most keys tell apart is told apart once.
//!
//! Two nodes are of one kind if they have the same in every variable that was read so far, and every hierarchy leads them to the same
//! files. What would leave but a few nodes to each kind, as the name of a node, is passed over: a key that reads it is resolved with
//! sets of nodes instead.

use std::collections::HashSet;

use crate::fleet::resolve::NodesByKey;
use crate::fleet::revision::Revision;
use crate::node::{NodeClasses, NodeSet, Partition};

/// To divide all nodes once is as much work as is saved with so many keys.
const KEYS_OF_A_DIVISION: usize = 16;

/// How many nodes of a kind there are at the least, on average.
const NODES_OF_A_KIND: usize = 8;

/// All nodes by their kinds, where that pays.
pub(super) fn all(revisions: &[&Revision], work: &NodesByKey) -> Option<NodeSet> {
    let fleet = &revisions.first()?.fleet;
    let keys = work.values().filter(|nodes| nodes.len() == fleet.len()).count() * revisions.len();
    if keys < KEYS_OF_A_DIVISION {
        return None;
    }
    // What hierarchies lead to goes with the variables that they read, so that it divides little more.
    let placed = revisions.iter().flat_map(|revision| &revision.placed).map(|placed| placed.partition.clone());
    let partitions: Vec<Partition> = distinct(fleet.partitions()).into_iter().chain(distinct(placed)).collect();
    if keys < partitions.len() * KEYS_OF_A_DIVISION {
        return None;
    }
    Some(NodeClasses::by(fleet.len(), fleet.len() / NODES_OF_A_KIND, partitions)?.all())
}

/// Those that divide nodes, each once, the ones with the fewest parts first.
fn distinct(partitions: impl IntoIterator<Item = Partition>) -> Vec<Partition> {
    let mut known = HashSet::new();
    let is_new = |partition: &Partition| partition.count() > 1 && known.insert(partition.address());
    let mut distinct: Vec<Partition> = partitions.into_iter().filter(is_new).collect();
    distinct.sort_by_key(Partition::count);
    distinct
}
