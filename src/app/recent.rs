//! A small store of values by key that keeps those used last.

use std::collections::VecDeque;

/// Keeps the most recently used values, and drops the others.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    capacity: usize,
    /// The value used last is at the end.
    entries: VecDeque<(K, V)>,
}

impl<K: PartialEq, V> Recent<K, V> {
    /// Returns an empty store for `capacity` values. They must be few, since all are searched for one.
    pub(super) fn new(capacity: usize) -> Recent<K, V> {
        Recent { capacity, entries: VecDeque::new() }
    }

    /// Takes the value of a key out.
    pub(super) fn take(&mut self, key: &K) -> Option<V> {
        let at = self.entries.iter().position(|(known, _)| known == key)?;
        self.entries.remove(at).map(|(_, value)| value)
    }

    /// Puts a value in, as the one used last.
    pub(super) fn put(&mut self, key: K, value: V) {
        self.take(&key);
        self.entries.push_back((key, value));
        if self.entries.len() > self.capacity {
            self.entries.pop_front();
        }
    }

    /// Keeps only the values of keys for which `keeps` returns true.
    pub(super) fn retain(&mut self, keeps: impl Fn(&K) -> bool) {
        self.entries.retain(|(key, _)| keeps(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_used_last_stay() {
        let mut recent = Recent::new(2);
        recent.put("a", 1);
        recent.put("b", 2);
        let value = recent.take(&"a").unwrap();
        recent.put("a", value);
        recent.put("c", 3);
        assert_eq!((recent.take(&"b"), recent.take(&"a"), recent.take(&"c")), (None, Some(1), Some(3)));
        recent.put("d", 4);
        recent.retain(|key| *key != "d");
        assert_eq!(recent.take(&"d"), None);
    }
}
