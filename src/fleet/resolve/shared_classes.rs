//! Divides all nodes into classes that most keys share, so that the answers of many keys are sets of whole classes.
//!
//! The nodes of a class agree in every variable that was read so far, and every hierarchy leads them to the same
//! files. A partition that would leave only a few nodes in each class, such as the one by node name, is skipped: a
//! key that depends on it gets sets of nodes instead.

use std::collections::HashSet;

use crate::fleet::NodesByKey;
use crate::fleet::revision::Revision;
use crate::node::{NodeClasses, NodeSet, Partition};

/// The number of keys for which an additional partition pays off.
const KEYS_PER_PARTITION: usize = 16;

/// The minimum number of nodes in a class, on average.
const NODES_PER_CLASS: usize = 8;

/// Returns all nodes as a set of classes, or `None` if there are too few keys, or too many classes, to make that
/// worthwhile.
pub(super) fn all_nodes(revisions: &[&Revision], keys: &NodesByKey) -> Option<NodeSet> {
    let fleet = &revisions.first()?.fleet;
    let keys = keys.values().filter(|nodes| nodes.len() == fleet.len()).count() * revisions.len();
    if keys < KEYS_PER_PARTITION {
        return None;
    }
    // The levels mostly follow from the variables, so that their partitions add few classes.
    let of_levels = revisions.iter().flat_map(|revision| &revision.levels).map(|levels| levels.partition.clone());
    let partitions: Vec<Partition> = distinct(fleet.partitions()).into_iter().chain(distinct(of_levels)).collect();
    if keys < partitions.len() * KEYS_PER_PARTITION {
        return None;
    }
    Some(NodeClasses::by(fleet.len(), fleet.len() / NODES_PER_CLASS, partitions)?.all())
}

/// Returns the partitions with more than one class, each once, those with the fewest classes first.
fn distinct(partitions: impl IntoIterator<Item = Partition>) -> Vec<Partition> {
    let mut known = HashSet::new();
    let is_new = |partition: &Partition| partition.count() > 1 && known.insert(partition.address());
    let mut distinct: Vec<Partition> = partitions.into_iter().filter(is_new).collect();
    distinct.sort_by_key(Partition::count);
    distinct
}
