//! A selection of entries of nested hashes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::{Hash, Value};

/// The wanted part of a value: all of it, or some entries of a hash. Values other than hashes are always wanted whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// The whole value.
    Whole,
    /// These entries of a hash.
    Entries(HashMap<Arc<str>, Selection, RandomState>),
}

impl Default for Selection {
    fn default() -> Selection {
        Selection::Entries(HashMap::default())
    }
}

/// The maximum depth of a selection. Values at this depth are wanted whole.
const MAX_DEPTH: usize = 64;

impl Selection {
    /// Adds everything at `path` to the selection.
    pub fn add(&mut self, path: &[&str]) {
        let path = &path[..path.len().min(MAX_DEPTH)];
        match (path.split_first(), &mut *self) {
            (None, _) => *self = Selection::Whole,
            (Some(_), Selection::Whole) => {}
            (Some((first, rest)), Selection::Entries(entries)) => entries.entry((*first).into()).or_default().add(rest),
        }
    }

    /// Adds what `other` selects.
    pub fn extend(&mut self, other: &Selection) {
        match (&mut *self, other) {
            (Selection::Whole, _) => {}
            (_, Selection::Whole) => *self = Selection::Whole,
            (Selection::Entries(own), Selection::Entries(entries)) => {
                for (name, inner) in entries {
                    own.entry(name.clone()).or_default().extend(inner);
                }
            }
        }
    }

    /// Returns the wanted part of `value`.
    pub fn of(&self, value: &Value) -> Value {
        let (Selection::Entries(_), Value::Hash(hash)) = (self, value) else { return value.clone() };
        let wanted = |(key, value): (&Value, &Value)| Some((key.clone(), self.entry(key.as_str()?)?.of(value)));
        Value::hash(hash.iter().filter_map(wanted).collect())
    }

    /// Returns a text that represents the selection, equal for equal selections.
    pub fn text(&self) -> String {
        let Selection::Entries(entries) = self else { return "*".to_owned() };
        let entries: BTreeMap<&Arc<str>, String> = entries.iter().map(|(name, inner)| (name, inner.text())).collect();
        format!("{entries:?}")
    }

    /// Returns the wanted part of the entry `name`, or `None` if it is not wanted. A selected entry `0` also selects
    /// all names with a line that is a number.
    pub fn entry(&self, name: &str) -> Option<&Selection> {
        match self {
            Selection::Whole => Some(self),
            Selection::Entries(entries) => entries.get(name).or_else(|| entries.get(is_number(name).then_some("0")?)),
        }
    }
}

/// Returns true if a line of `name` is a number, as Ruby's `^[0-9]+$` finds it.
pub fn is_number(name: &str) -> bool {
    let is_one = |line: &[u8]| !line.is_empty() && line.iter().all(u8::is_ascii_digit);
    name.as_bytes().split(|byte| *byte == b'\n').any(is_one)
}

/// Collects some entries of a hash. The first entry that is left out stays as undef, to show that there are others.
pub struct Picked {
    entries: Vec<(Value, Value)>,
    is_left_out: bool,
}

/// The maximum number of entries to reserve memory for at the start.
const MAX_INITIAL_CAPACITY: usize = 8;

impl Picked {
    /// Starts with no entries; `wanted` says how many to expect.
    pub fn new(wanted: &Selection) -> Picked {
        let capacity = match wanted {
            Selection::Whole => 0,
            Selection::Entries(entries) => MAX_INITIAL_CAPACITY.min(entries.len() + 1),
        };
        Picked { entries: Vec::with_capacity(capacity), is_left_out: false }
    }

    /// Sets an entry.
    pub fn add(&mut self, key: impl Into<Value>, value: Value) {
        self.entries.push((key.into(), value));
    }

    /// Leaves the entry `key` out.
    pub fn leave_out(&mut self, key: &str) {
        if !std::mem::replace(&mut self.is_left_out, true) {
            self.entries.push((key.into(), Value::Undef));
        }
    }

    /// Returns the hash that was read; the last of several entries with the same key counts.
    pub fn hash(self) -> Hash {
        self.entries.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_any_length_nest_no_deeper_than_profiles() {
        for length in [MAX_DEPTH + 1, 1_000, 1_000_000] {
            let mut selection = Selection::default();
            selection.add(&vec!["a"; length]);
            let mut short = Selection::default();
            short.add(&["a"; MAX_DEPTH]);
            assert_eq!(selection, short, "{length}");
        }
    }
}
