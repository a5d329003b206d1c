//! The insertion-ordered hash of a [`Value`].

use std::hash::{Hash as StdHash, Hasher};

use indexmap::{Equivalent, IndexMap};

use super::Value;

/// An insertion-ordered map with keys of any kind. Equality takes the order of the entries into account.
#[derive(Debug, Clone, Default)]
pub struct Hash {
    entries: IndexMap<Value, Value, foldhash::fast::RandomState>,
}

/// Lets a hash be asked for a text without making a [`Value`] of it.
struct Text<'a>(&'a str);

impl StdHash for Text<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        super::hash_text(self.0, state);
    }
}

impl Equivalent<Value> for Text<'_> {
    fn equivalent(&self, key: &Value) -> bool {
        matches!(key, Value::String(s) if **s == *self.0)
    }
}

impl Hash {
    /// An empty hash.
    pub fn new() -> Hash {
        Hash::default()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of the text key `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(&Text(key))
    }

    /// The value of a key of any kind.
    pub fn get_value(&self, key: &Value) -> Option<&Value> {
        self.entries.get(key)
    }

    /// The entry of a key of any kind, the key as it stands here.
    pub fn entry(&self, key: &Value) -> Option<(&Value, &Value)> {
        self.entries.get_key_value(key)
    }

    /// The position of a key of any kind.
    pub fn index_of(&self, key: &Value) -> Option<usize> {
        self.entries.get_index_of(key)
    }

    /// The position of the text key `key`.
    pub fn index_of_text(&self, key: &str) -> Option<usize> {
        self.entries.get_index_of(&Text(key))
    }

    /// Sets `key`; an existing key keeps its position. Returns the old value.
    pub fn insert(&mut self, key: impl Into<Value>, value: Value) -> Option<Value> {
        self.entries.insert(key.into(), value)
    }

    /// Removes `key`, keeping the order of the rest.
    pub fn remove(&mut self, key: &Value) -> Option<Value> {
        self.entries.shift_remove(key)
    }

    /// The entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Value, &Value)> + DoubleEndedIterator {
        self.entries.iter()
    }

    /// The keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.entries.keys()
    }

    /// The values in order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.entries.values()
    }
}

impl PartialEq for Hash {
    fn eq(&self, other: &Hash) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Hash {}

impl StdHash for Hash {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        for entry in self.iter() {
            entry.hash(state);
        }
    }
}

impl<K: Into<Value>> FromIterator<(K, Value)> for Hash {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(entries: I) -> Hash {
        Hash { entries: entries.into_iter().map(|(k, v)| (k.into(), v)).collect() }
    }
}

impl<K: Into<Value>> Extend<(K, Value)> for Hash {
    fn extend<T: IntoIterator<Item = (K, Value)>>(&mut self, entries: T) {
        entries.into_iter().for_each(|(key, value)| _ = self.insert(key, value));
    }
}

impl IntoIterator for Hash {
    type Item = (Value, Value);
    type IntoIter = indexmap::map::IntoIter<Value, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}
