//! Finds out where a part of a value was before a change.

use std::sync::Arc;

use super::align::align;
use super::{LeafChange, LeafKind};
use crate::value::{Segment, Value, ValuePath};

/// The relation of a part of a value to the value before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Former {
    /// The change has made the part what it is.
    Changed,
    /// The part was the same before, at this place. The positions of items in arrays may differ.
    At(ValuePath),
}

/// Returns where the part at `path` of a changed value was before, given all differences of the two values.
/// `is_empty` says that the part is an empty collection.
pub fn former(leaves: &[Arc<LeafChange>], path: &ValuePath, is_empty: bool) -> Former {
    if leaves.iter().any(|leaf| makes(leaf, &path.0)) {
        return Former::Changed;
    }
    let mut before: Vec<Segment> = Vec::new();
    for (depth, segment) in path.0.iter().enumerate() {
        before.push(match segment {
            Segment::Key(_) => segment.clone(),
            Segment::Index(at) => Segment::Index(former_position(leaves, &path.0[..depth], &before, *at)),
        });
    }
    let emptied = |leaf: &Arc<LeafChange>| {
        let gone = leaf.part.before.as_ref().filter(|_| leaf.kind == LeafKind::Removed);
        gone.is_some_and(|part| part.path.0.starts_with(&before))
    };
    if is_empty && leaves.iter().any(emptied) { Former::Changed } else { Former::At(ValuePath(before)) }
}

/// Returns true if a difference has put the part at `path` there, perhaps as a part of something larger.
fn makes(leaf: &LeafChange, path: &[Segment]) -> bool {
    let is_made = leaf.kind != LeafKind::Reordered;
    is_made && leaf.part.after.as_ref().is_some_and(|part| path.starts_with(&part.path.0))
}

/// Returns the former position of an item that is now at `at` of the array at the place `after`, which was at
/// `before`.
fn former_position(leaves: &[Arc<LeafChange>], after: &[Segment], before: &[Segment], at: usize) -> usize {
    let is_order = |leaf: &&Arc<LeafChange>| {
        leaf.kind == LeafKind::Reordered && leaf.part.after.as_ref().is_some_and(|part| part.path.0 == after)
    };
    if let Some(order) = leaves.iter().find(is_order) {
        let items = order.part.as_ref().map(|part| part.as_ref().and_then(|part| part.value.as_array()).unwrap_or(&[]));
        let moved = align(items.before, items.after).iter().position(|partner| *partner == Some(at));
        return moved.unwrap_or(at);
    }
    // Without a new order, the items that stay keep their sequence.
    let positions = |kind: LeafKind, array: &[Segment]| -> Vec<usize> {
        let own = leaves.iter().filter(|leaf| leaf.kind == kind);
        let paths = own.filter_map(|leaf| leaf.path()).filter_map(|path| path.0.split_last());
        let of_array = paths.filter(|(_, parent)| *parent == array);
        of_array.filter_map(|(last, _)| if let Segment::Index(at) = last { Some(*at) } else { None }).collect()
    };
    let added = positions(LeafKind::Added, after);
    let mut removed = positions(LeafKind::Removed, before);
    removed.sort_unstable();
    let mut position = at - added.iter().filter(|added| **added < at).count();
    for gone in removed {
        if gone <= position {
            position += 1;
        }
    }
    position
}

/// Calls `visit` for each innermost part of a value: scalars and empty collections.
pub fn innermost(value: &Value, path: &ValuePath, visit: &mut dyn FnMut(&ValuePath, &Value)) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let child = |at| path.child(Segment::Index(at));
            items.iter().enumerate().for_each(|(at, item)| innermost(item, &child(at), visit));
        }
        Value::Hash(hash) if !hash.is_empty() => {
            hash.iter().for_each(|(key, value)| innermost(value, &path.child(Segment::Key(key.clone())), visit));
        }
        _ => visit(path, value),
    }
}
