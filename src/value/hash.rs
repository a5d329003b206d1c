//! The insertion-ordered hash of a [`Value`].

use std::fmt;
use std::hash::{BuildHasher, Hash as StdHash, Hasher};
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use indexmap::Equivalent;

use super::Value;

/// The maximum number of keys that are searched one by one, which is faster than an index. Nearly all hashes have no
/// more.
const MAX_UNINDEXED: usize = 8;

/// An insertion-ordered map with keys of any kind. Equality takes the order of the entries into account.
#[derive(Clone, Default)]
pub struct Hash {
    entries: Vec<(Value, Value)>,
    /// The positions of keys, if there are more than a few.
    index: Option<Box<Index>>,
    digest: Digest,
}

/// The hash of the entries, computed on first use: outcomes of thousands of nodes share most of their parts.
#[derive(Default)]
struct Digest(OnceLock<u64>);

/// Makes all digests, so that equal entries have the same one.
static DIGESTS: LazyLock<RandomState> = LazyLock::new(RandomState::default);

impl Clone for Digest {
    /// Returns an empty digest, since copies are made to be changed.
    fn clone(&self) -> Digest {
        Digest::default()
    }
}

/// The positions of keys.
#[derive(Clone, Default)]
struct Index {
    /// Positions with the hash of each key.
    positions: HashTable<(u64, usize)>,
    state: RandomState,
}

impl Index {
    /// Returns the index of these entries, with as much capacity as they have.
    fn of(entries: &Vec<(Value, Value)>) -> Index {
        let mut index = Index { positions: HashTable::with_capacity(entries.capacity()), ..Index::default() };
        entries.iter().enumerate().for_each(|(at, (key, _))| index.add(key, at));
        index
    }

    fn add(&mut self, key: &Value, at: usize) {
        let hash = self.state.hash_one(key);
        self.positions.insert_unique(hash, (hash, at), |(hash, _)| *hash);
    }

    /// Returns the position of the key, which is the end of `entries` if it was added.
    fn find_or_add(&mut self, key: &Value, entries: &[(Value, Value)]) -> usize {
        let hash = self.state.hash_one(key);
        let is_it = |(other, at): &(u64, usize)| *other == hash && *key == entries[*at].0;
        let place = self.positions.entry(hash, is_it, |(hash, _)| *hash);
        place.or_insert((hash, entries.len())).get().1
    }

    /// Forgets the entry at `at`; those after it move up.
    fn remove(&mut self, at: usize) {
        self.positions.retain(|(_, other)| {
            let is_it = *other == at;
            *other -= usize::from(*other > at);
            !is_it
        });
    }

    fn find<Q: StdHash + Equivalent<Value>>(&self, key: &Q, entries: &[(Value, Value)]) -> Option<usize> {
        let hash = self.state.hash_one(key);
        let is_it = |(other, at): &(u64, usize)| *other == hash && key.equivalent(&entries[*at].0);
        self.positions.find(hash, is_it).map(|(_, at)| *at)
    }
}

/// Looks up a text in a hash without making a [`Value`] of it.
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
    /// Returns an empty hash.
    pub fn new() -> Hash {
        Hash::default()
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn find<Q: StdHash + Equivalent<Value>>(&self, key: &Q) -> Option<usize> {
        match &self.index {
            Some(index) => index.find(key, &self.entries),
            None => self.entries.iter().position(|(other, _)| key.equivalent(other)),
        }
    }

    /// Returns the value of the text key `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.index_of_text(key).map(|at| &self.entries[at].1)
    }

    /// Returns the value of a key of any kind.
    pub fn get_value(&self, key: &Value) -> Option<&Value> {
        self.index_of(key).map(|at| &self.entries[at].1)
    }

    /// Returns the entry of a key of any kind, with the key as it is here.
    pub fn entry(&self, key: &Value) -> Option<(&Value, &Value)> {
        self.index_of(key).map(|at| (&self.entries[at].0, &self.entries[at].1))
    }

    /// Returns the position of a key of any kind.
    pub fn index_of(&self, key: &Value) -> Option<usize> {
        self.find(key)
    }

    /// Returns the position of the text key `key`.
    pub fn index_of_text(&self, key: &str) -> Option<usize> {
        self.find(&Text(key))
    }

    /// Sets `key`; an existing key keeps its position. Returns the old value.
    pub fn insert(&mut self, key: impl Into<Value>, value: Value) -> Option<Value> {
        self.insert_full(key, value).1
    }

    /// Does the same, and also returns the position of the entry.
    pub fn insert_full(&mut self, key: impl Into<Value>, value: Value) -> (usize, Option<Value>) {
        self.digest = Digest::default();
        let (key, count) = (key.into(), self.entries.len());
        let at = match &mut self.index {
            Some(index) => index.find_or_add(&key, &self.entries),
            None => self.find(&key).unwrap_or(count),
        };
        if at < count {
            return (at, Some(std::mem::replace(&mut self.entries[at].1, value)));
        }
        self.entries.push((key, value));
        if self.index.is_none() && self.entries.len() > MAX_UNINDEXED {
            self.index = Some(Index::of(&self.entries).into());
        }
        (at, None)
    }

    /// Removes `key`, keeping the order of the rest, in linear time.
    pub fn remove(&mut self, key: &Value) -> Option<Value> {
        let at = self.find(key)?;
        self.digest = Digest::default();
        if let Some(index) = &mut self.index {
            index.remove(at);
        }
        Some(self.entries.remove(at).1)
    }

    /// Returns the hash with the entries at these places replaced by those of `others`, or `None` if that would
    /// duplicate a key.
    pub fn spliced(&self, places: Range<usize>, others: &Hash) -> Option<Hash> {
        if self.entries[places.clone()].iter().map(|(key, _)| key).eq(others.keys()) {
            let mut hash = self.clone();
            let values = hash.entries[places].iter_mut().map(|(_, value)| value);
            values.zip(others.values()).for_each(|(value, other)| value.clone_from(other));
            return Some(hash);
        }
        let (before, after) = (&self.entries[..places.start], &self.entries[places.end..]);
        let count = before.len() + others.len() + after.len();
        let mut entries = Vec::with_capacity(count);
        entries.extend(before.iter().chain(&others.entries).chain(after).cloned());
        Some(Hash::from(entries)).filter(|hash| hash.len() == count)
    }

    /// Returns the entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Value, &Value)> + DoubleEndedIterator {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// Returns the entry at a position.
    pub fn entry_at(&self, at: usize) -> Option<(&Value, &Value)> {
        self.entries.get(at).map(|(key, value)| (key, value))
    }

    /// Returns the entries in order, each with the value that `other` has for its key. This is fast if the keys are
    /// in the same order.
    pub fn beside<'h>(&'h self, other: &'h Hash) -> impl Iterator<Item = ((&'h Value, &'h Value), Option<&'h Value>)> {
        let mut next = 0;
        self.iter().map(move |(key, value)| {
            let is_next = other.entries.get(next).is_some_and(|(other, _)| other == key);
            let found = if is_next { Some(next) } else { other.find(key) };
            next = found.map_or(next, |at| at + 1);
            ((key, value), found.map(|at| &other.entries[at].1))
        })
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.entries.iter().map(|(key, _)| key)
    }

    /// Returns the values in order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.entries.iter().map(|(_, value)| value)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl PartialEq for Hash {
    fn eq(&self, other: &Hash) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Hash {}

impl Hash {
    fn digest(&self) -> u64 {
        *self.digest.0.get_or_init(|| {
            let mut hasher = DIGESTS.build_hasher();
            self.iter().for_each(|entry| entry.hash(&mut hasher));
            hasher.finish()
        })
    }
}

impl StdHash for Hash {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.digest().hash(state);
    }
}

impl<K: Into<Value>> FromIterator<(K, Value)> for Hash {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(entries: I) -> Hash {
        entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Vec<_>>().into()
    }
}

/// Entries with the same key become one: the place is that of the first, the value that of the last.
impl From<Vec<(Value, Value)>> for Hash {
    fn from(entries: Vec<(Value, Value)>) -> Hash {
        let is_new = |at: usize| entries[..at].iter().all(|(key, _)| *key != entries[at].0);
        if entries.len() <= MAX_UNINDEXED && (1..entries.len()).all(is_new) {
            return Hash { entries, ..Hash::default() };
        }
        let mut hash = Hash { entries: Vec::with_capacity(entries.len()), ..Hash::default() };
        hash.extend(entries);
        hash
    }
}

impl<K: Into<Value>> Extend<(K, Value)> for Hash {
    fn extend<T: IntoIterator<Item = (K, Value)>>(&mut self, entries: T) {
        entries.into_iter().for_each(|(key, value)| _ = self.insert(key, value));
    }
}

impl IntoIterator for Hash {
    type Item = (Value, Value);
    type IntoIter = std::vec::IntoIter<(Value, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Value {
        Value::from(&*format!("k{number}"))
    }

    fn value(number: usize) -> Value {
        Value::Integer(number.try_into().unwrap())
    }

    /// Checks that `hash` has the entries of `list`.
    fn check(hash: &Hash, list: &[(usize, usize)]) {
        let entries: Vec<(Value, Value)> = list.iter().map(|(k, v)| (key(*k), value(*v))).collect();
        assert!(hash.iter().eq(entries.iter().map(|(key, value)| (key, value))), "{hash:?} {list:?}");
        for number in 0..40 {
            let at = list.iter().position(|(k, _)| *k == number);
            assert_eq!((hash.index_of(&key(number)), hash.index_of_text(&format!("k{number}"))), (at, at), "{hash:?}");
        }
    }

    #[test]
    fn it_is_a_list_of_entries_whatever_its_size() {
        let dice = &mut fastrand::Rng::with_seed(1);
        for _ in 0..2_000 {
            let (keys, mut list, mut hash) = (dice.usize(1..40), Vec::<(usize, usize)>::new(), Hash::new());
            for step in 0..60 {
                let number = dice.usize(0..keys);
                let known = list.iter().position(|(k, _)| *k == number);
                if dice.u8(0..4) == 0 {
                    let removed = known.map(|at| value(list.remove(at).1));
                    assert_eq!(hash.remove(&key(number)), removed);
                    continue;
                }
                let former = hash.insert_full(key(number), value(step));
                assert_eq!(former, (known.unwrap_or(list.len()), known.map(|at| value(list[at].1))));
                match known {
                    Some(at) => list[at].1 = step,
                    None => list.push((number, step)),
                }
            }
            check(&hash, &list);
            let doubled = list.iter().map(|(k, _)| (*k, 0)).chain(list.iter().copied());
            check(&doubled.map(|(k, v)| (key(k), value(v))).collect(), &list);
        }
    }

    #[test]
    fn some_entries_are_replaced_by_others() {
        let dice = &mut fastrand::Rng::with_seed(3);
        for _ in 0..2_000 {
            let (count, more) = (dice.usize(0..30), dice.usize(0..12));
            let list: Vec<(usize, usize)> = (0..count).map(|number| (number, number)).collect();
            let start = dice.usize(0..=count);
            let places = start..dice.usize(start..=count);
            let mut others: Vec<(usize, usize)> = (0..more).map(|number| (dice.usize(28..40), number)).collect();
            if dice.bool() {
                others = list[places.clone()].iter().map(|(k, v)| (*k, v + 1)).collect();
            }
            let hash = |list: &[(usize, usize)]| list.iter().map(|(k, v)| (key(*k), value(*v))).collect::<Hash>();
            let others_hash = hash(&others);
            let mut expected = list.clone();
            expected.splice(places.clone(), others);
            let spliced = hash(&list).spliced(places.clone(), &others_hash);
            let expected = Some(hash(&expected)).filter(|all| all.len() == count - places.len() + others_hash.len());
            assert_eq!(spliced, expected);
            if let Some(spliced) = spliced {
                assert!(spliced.iter().all(|(key, value)| spliced.get_value(key) == Some(value)));
            }
        }
    }

    #[test]
    fn hashes_are_gone_through_side_by_side() {
        let dice = &mut fastrand::Rng::with_seed(2);
        for _ in 0..2_000 {
            let mut keys: Vec<usize> = (0..dice.usize(0..30)).collect();
            let hash: Hash = keys.iter().map(|number| (key(*number), value(*number))).collect();
            for _ in 0..dice.usize(0..4) {
                let at = dice.usize(0..=keys.len());
                match dice.u8(0..3) {
                    0 => keys.insert(at, dice.usize(0..40)),
                    1 => keys.truncate(at),
                    _ => keys.rotate_left(at),
                }
            }
            let other: Hash = keys.iter().map(|number| (key(*number), value(*number + 1))).collect();
            let expected = hash.iter().map(|(key, value)| ((key, value), other.get_value(key)));
            assert!(hash.beside(&other).eq(expected), "{hash:?} {other:?}");
        }
    }
}
