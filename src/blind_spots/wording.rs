//! Counts and lists in the texts of blind spots.

use crate::node::NodeSet;
pub(super) use crate::report::{count, number};

/// Returns a share such as `all 161 nodes` or `3 of 161 nodes`. A single node may be one of two that are compared.
pub fn nodes_of(nodes: &NodeSet, all: usize) -> String {
    match nodes.len() {
        1 if all == 1 => "the node".to_owned(),
        n if n == all => format!("all {} nodes", number(n)),
        n => format!("{} of {} nodes", number(n), number(all)),
    }
}

/// Returns the first names and the number of the others: `'a', 'b' and 3 more`.
pub(super) fn some<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    const SHOWN: usize = 3;
    let rest = names.len().saturating_sub(SHOWN);
    let shown: Vec<String> = names.take(SHOWN).map(|name| format!("'{name}'")).collect();
    match rest {
        0 => shown.join(", "),
        rest => format!("{} and {} more", shown.join(", "), number(rest)),
    }
}
