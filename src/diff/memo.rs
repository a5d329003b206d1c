//! Remembers the differences of shared parts: even if each node has its own value, most entries change alike.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::Diff;
use crate::value::Value;

/// The entry of a hash: its key, and the identities of its value before and after.
type EntryId = (Value, Diff<usize>);

/// Results `T` of comparing the entries of one key's values.
pub(super) struct Memo<T> {
    entries: HashMap<EntryId, (Diff<Value>, Arc<T>), RandomState>,
}

impl<T> Default for Memo<T> {
    fn default() -> Memo<T> {
        Memo { entries: HashMap::default() }
    }
}

impl<T> Memo<T> {
    /// Returns the result for an entry, which `compare` computes if it is not known; or `None` if the values have no
    /// identities.
    pub(super) fn entry(&mut self, key: &Value, value: Diff<&Value>, compare: impl FnOnce() -> T) -> Option<Arc<T>> {
        let id = (key.clone(), Diff::new(identity(value.before)?, identity(value.after)?));
        // Keeps the values alive, so that their addresses are not reused.
        let known = self.entries.entry(id).or_insert_with(|| (value.map(Value::clone), Arc::new(compare())));
        Some(known.1.clone())
    }
}

/// Returns the identity of a collection, which its clones share.
fn identity(value: &Value) -> Option<usize> {
    match value {
        Value::Array(items) => Some(Arc::as_ptr(items).addr()),
        Value::Hash(hash) => Some(Arc::as_ptr(hash).addr()),
        _ => None,
    }
}
