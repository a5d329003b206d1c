//! Chooses the changes to trace. Groups of nodes that change alike take turns, so that a report can explain the
//! changes of each group.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::diff::Change;
use crate::node::{NodeId, NodeSet};

/// The maximum number of changes that are traced for one report.
const TRACED_CHANGES: usize = 500;

/// The maximum number of differences in all traced changes. A change that would exceed it is not traced.
const TRACED_LEAVES: usize = 20_000;

/// Returns the positions of the changes that are traced: the first of each set of nodes, then the second of each, and
/// so on up to the limits. The sets with the most nodes come first.
pub(super) fn traced_changes(changes: &[Change]) -> Vec<usize> {
    let sets = by_nodes(changes);
    let mut left = TRACED_LEAVES;
    let mut fits = |at: &usize| {
        let rest = left.checked_sub(changes[*at].leaves.len());
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let most = sets.iter().map(Vec::len).max().unwrap_or_default();
    let turns = (0..most).flat_map(|turn| sets.iter().filter_map(move |set| set.get(turn).copied()));
    let mut traced: Vec<usize> = turns.filter(&mut fits).take(TRACED_CHANGES).collect();
    traced.sort_unstable();
    traced
}

/// Returns the positions of the changes on each set of nodes, the largest set first.
fn by_nodes(changes: &[Change]) -> Vec<Vec<usize>> {
    let mut sets: Vec<(&NodeSet, Vec<usize>)> = Vec::new();
    let mut sets_by_size_and_first: HashMap<(usize, Option<NodeId>), Vec<usize>> = HashMap::new();
    for (at, change) in changes.iter().enumerate() {
        let nodes = &change.nodes;
        let candidates = sets_by_size_and_first.entry((nodes.len(), nodes.first())).or_default();
        if let Some(set) = candidates.iter().find(|set| sets[**set].0 == nodes) {
            sets[*set].1.push(at);
        } else {
            candidates.push(sets.len());
            sets.push((nodes, vec![at]));
        }
    }
    sets.sort_by_key(|(nodes, changes)| (Reverse(nodes.len()), changes[0]));
    sets.into_iter().map(|(_, changes)| changes).collect()
}
