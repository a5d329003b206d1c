//! Results that are computed once and shared by all threads.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{PoisonError, RwLock};

use foldhash::fast::RandomState;

/// Results by key. Two threads that ask for one at the same time may both compute it; the first result is kept.
pub(super) struct Memo<K, V>(RwLock<HashMap<K, V, RandomState>>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Memo<K, V> {
        Memo(RwLock::default())
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Memo<K, V> {
    /// Returns all results so far.
    pub(super) fn known(&self) -> Vec<(K, V)> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Returns the result for `key`, computed by `find` unless it is known.
    pub(super) fn get(&self, key: K, find: impl FnOnce(&K) -> V) -> V {
        if let Some(value) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return value.clone();
        }
        let value = find(&key);
        self.0.write().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert(value).clone()
    }
}
