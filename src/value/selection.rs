//! Which entries of nested hashes are wanted.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::{Hash, Value};

/// What of a value is wanted: all of it, or of a hash some entries. Of what is no hash all is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All of it.
    Whole,
    /// Of a hash these entries.
    Entries(HashMap<Arc<str>, Selection, RandomState>),
}

impl Default for Selection {
    fn default() -> Selection {
        Selection::Entries(HashMap::default())
    }
}

impl Selection {
    /// Wants what lies at `path`, too: all of it.
    pub fn add(&mut self, path: &[&str]) {
        match (path.split_first(), &mut *self) {
            (None, _) => *self = Selection::Whole,
            (Some(_), Selection::Whole) => {}
            (Some((first, rest)), Selection::Entries(entries)) => entries.entry((*first).into()).or_default().add(rest),
        }
    }

    /// Wants what `other` wants, too.
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

    /// What is wanted of `value`.
    pub fn of(&self, value: &Value) -> Value {
        let (Selection::Entries(_), Value::Hash(hash)) = (self, value) else { return value.clone() };
        let wanted = |(key, value): (&Value, &Value)| Some((key.clone(), self.entry(key.as_str()?)?.of(value)));
        Value::hash(hash.iter().filter_map(wanted).collect())
    }

    /// All that is wanted, as text: equal for what is equal.
    pub fn text(&self) -> String {
        let Selection::Entries(entries) = self else { return "*".to_owned() };
        let entries: BTreeMap<&Arc<str>, String> = entries.iter().map(|(name, inner)| (name, inner.text())).collect();
        format!("{entries:?}")
    }

    /// What is wanted of the entry `name`; nothing if it is not wanted.
    pub fn entry(&self, name: &str) -> Option<&Selection> {
        match self {
            Selection::Whole => Some(self),
            Selection::Entries(entries) => entries.get(name),
        }
    }
}

/// A hash of which some entries are read. The first one that is left out stays as undef, so that it shows that there was one.
pub struct Picked {
    entries: Vec<(Value, Value)>,
    is_left_out: bool,
}

/// So many entries have room from the start, at most.
const ROOM: usize = 8;

impl Picked {
    /// Nothing yet of a hash of which this is wanted.
    pub fn new(wanted: &Selection) -> Picked {
        let room = match wanted {
            Selection::Whole => 0,
            Selection::Entries(entries) => ROOM.min(entries.len() + 1),
        };
        Picked { entries: Vec::with_capacity(room), is_left_out: false }
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

    /// What was read; of two entries with the same key the last one counts.
    pub fn hash(self) -> Hash {
        self.entries.into()
    }
}
