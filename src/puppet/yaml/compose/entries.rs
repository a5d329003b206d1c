//! The entries of a mapping that is being read: what `<<` merges, and which keys are equal in Ruby.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Key, Node, Origin};
use crate::puppet::document::{Marks, put};
use crate::value::{Hash, Value};

/// A hash, its marks, and its keys that may equal a key of another form.
#[derive(Default)]
pub(super) struct Entries {
    pub(super) hash: Hash,
    pub(super) marks: Vec<Marks>,
    /// The keys that are collections or zeros, by their [`comparable`] texts.
    unusual: HashMap<String, Value, foldhash::fast::RandomState>,
}

impl Entries {
    /// Sets the entry of a key to a node.
    pub(super) fn insert(&mut self, key: Key, node: Node) {
        self.put(key.value, node.value, Marks { line: key.line, children: node.marks });
    }

    /// Adds the entries of another hash.
    pub(super) fn merge(&mut self, entries: &Hash, lines: &[Marks]) {
        for ((key, value), line) in entries.iter().zip(lines) {
            self.put(key.clone(), value.clone(), line.clone());
        }
    }

    fn put(&mut self, key: Value, value: Value, mark: Marks) {
        let key = match key {
            Value::Array(_) | Value::Hash(_) | Value::Float(0.0) => {
                self.unusual.entry(comparable(&key)).or_insert(key).clone()
            }
            key => key,
        };
        put(&mut self.hash, &mut self.marks, key, value, mark);
    }
}

/// Returns a text that is the same for keys that Ruby considers the same: it ignores the order within a hash, and
/// `-0.0` is `0.0`.
fn comparable(key: &Value) -> String {
    match key {
        Value::Float(0.0) => "0.0".to_owned(),
        Value::Array(items) => format!("[{}]", items.iter().map(comparable).collect::<Vec<_>>().join(", ")),
        Value::Hash(hash) => {
            let entry = |(key, value)| format!("{}=>{}", comparable(key), comparable(value));
            let mut entries: Vec<String> = hash.iter().map(entry).collect();
            entries.sort_unstable();
            format!("{{{}}}", entries.join(", "))
        }
        other => other.inspect(),
    }
}

/// Returns the entries that `<<` takes from `node`, or `None` if it stays a key.
pub(super) fn merge_source(node: &Node, origin: Origin) -> Option<(Arc<Hash>, Arc<[Marks]>)> {
    match (origin, &node.value) {
        (Origin::Alias | Origin::Mapping, Value::Hash(hash)) => Some((hash.clone(), node.marks.clone())),
        (Origin::Sequence, Value::Hash(hash)) if hash.is_empty() => Some((hash.clone(), node.marks.clone())),
        (Origin::Sequence, Value::Array(items)) => {
            let hashes: Option<Vec<&Hash>> = items.iter().map(Value::as_hash).collect();
            let mut all = Entries::default();
            for (hash, marks) in hashes?.into_iter().zip(node.marks.iter()).rev() {
                all.merge(hash, &marks.children);
            }
            Some((Arc::new(all.hash), all.marks.into()))
        }
        _ => None,
    }
}
