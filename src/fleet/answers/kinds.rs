//! Kinds of nodes, for work on many keys: what most keys tell apart is told apart once.
//!
//! Nodes are of one kind that all hierarchies lead to the same files, and that have the same in the variables that the data reads:
//! as far as these do not tell nearly every node apart. A key that reads more, as an address of each node's own, goes by nodes.

use crate::fleet::answers::Work;
use crate::fleet::partition::Partition;
use crate::fleet::revision::Revision;
use crate::node::NodeSet;

/// To divide all nodes is as much work as to resolve so many keys for all of them.
const KEYS_OF_A_DIVISION: usize = 4;

/// How many nodes of a kind there are at the least, on average.
const NODES_OF_A_KIND: usize = 4;

/// All nodes by their kinds, where that pays.
pub(super) fn all(revisions: &[&Revision], work: &Work) -> Option<NodeSet> {
    let fleet = &revisions.first()?.fleet;
    let partitions = partitions(revisions);
    let keys = work.values().filter(|nodes| nodes.len() == fleet.len()).count();
    if keys * revisions.len() < partitions.len() * KEYS_OF_A_DIVISION {
        return None;
    }
    let most = fleet.len() / NODES_OF_A_KIND;
    let mut kinds = Partition::of_sets(fleet.len(), vec![fleet.all()]);
    for partition in partitions {
        kinds = kinds.divided(&partition, most).unwrap_or(kinds);
    }
    (kinds.count() <= most).then(|| kinds.kinds().all())
}

/// What divides nodes, the fewest parts first.
fn partitions(revisions: &[&Revision]) -> Vec<Partition> {
    let placed = revisions.iter().flat_map(|revision| &revision.placed).map(|placed| placed.partition.clone());
    let read = revisions.iter().take(1).flat_map(|revision| revision.fleet.partitions());
    let mut partitions: Vec<Partition> = Vec::new();
    for partition in placed.chain(read).filter(|partition| partition.count() > 1) {
        if !partitions.iter().any(|known| known.is_same(&partition)) {
            partitions.push(partition);
        }
    }
    partitions.sort_by_key(Partition::count);
    partitions
}
