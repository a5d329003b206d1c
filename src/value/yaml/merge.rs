//! Entries of hashes: what `<<` merges, and which keys Ruby takes for the same.

use std::sync::Arc;

use super::compose::{Key, Node, Origin};
use super::{Marks, put};
use crate::value::{Hash, Value, ruby};

/// The entries that `<<` takes from `node`, nothing where it stays a key.
pub(super) fn merge_source(node: &Node, origin: Origin) -> Option<(Arc<Hash>, Arc<[Marks]>)> {
    match (origin, &node.value) {
        (Origin::Alias | Origin::Mapping, Value::Hash(hash)) => Some((hash.clone(), node.marks.clone())),
        (Origin::Sequence, Value::Hash(hash)) if hash.is_empty() => Some((hash.clone(), node.marks.clone())),
        (Origin::Sequence, Value::Array(items)) => {
            let hashes: Option<Vec<&Hash>> = items.iter().map(Value::as_hash).collect();
            let (mut all, mut lines) = (Hash::new(), Vec::new());
            for (hash, marks) in hashes?.into_iter().zip(node.marks.iter()).rev() {
                merge(&mut all, &mut lines, hash, &marks.children);
            }
            Some((Arc::new(all), lines.into()))
        }
        _ => None,
    }
}

/// Adds `entries`.
pub(super) fn merge(hash: &mut Hash, marks: &mut Vec<Marks>, entries: &Hash, lines: &[Marks]) {
    for ((key, value), line) in entries.iter().zip(lines) {
        put(hash, marks, key, value.clone(), line.clone());
    }
}

/// Sets the entry of a key and a node; `complex` tells that there are collections among the keys.
pub(super) fn insert(hash: &mut Hash, marks: &mut Vec<Marks>, key: Key, node: Node, complex: bool) {
    let line = Marks { line: key.line, children: node.marks };
    let key = if complex || matches!(key.value, Value::Float(_)) { same_key(hash, key.value) } else { key.value };
    put(hash, marks, &key, node.value, line);
}

/// The key that is there already where Ruby takes `key` for it: the order within a hash does not count, `-0.0` is `0.0`.
fn same_key(hash: &Hash, key: Value) -> Value {
    match &key {
        Value::Float(0.0) => [0.0, -0.0].map(Value::Float).into_iter().find(|k| hash.get_value(k).is_some()),
        Value::Array(_) | Value::Hash(_) => hash.keys().find(|k| ruby::eql(k, &key)).cloned(),
        _ => None,
    }
    .unwrap_or(key)
}
