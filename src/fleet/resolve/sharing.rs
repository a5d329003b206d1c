//! Shares the parts of a key's many outcomes: if each node has its own file, most of a merged value is still the
//! same.

use std::cell::RefCell;
use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::hiera::Outcome;
use crate::value::{Hash, Value};

/// Parts are shared if a key has more outcomes than this: fewer take little memory anyway.
const MAX_UNSHARED_OUTCOMES: usize = 16;

/// The collections directly inside the values of one key.
#[derive(Default)]
pub(super) struct SharedParts {
    outcomes: usize,
    parts: HashSet<Part, RandomState>,
}

/// A collection. Two are equal only if they are also written alike.
#[derive(Hash, Eq)]
#[expect(clippy::derived_hash_with_manual_eq, reason = "equality looks closer than the hash")]
struct Part(Value);

impl PartialEq for Part {
    fn eq(&self, other: &Part) -> bool {
        self.0 == other.0 && self.0.is_written_like(&other.0)
    }
}

impl SharedParts {
    /// Returns an equal outcome that shares its parts with others.
    pub(super) fn share(shared: &RefCell<SharedParts>, outcome: Outcome) -> Outcome {
        let mut shared = shared.borrow_mut();
        shared.outcomes += 1;
        match outcome {
            Outcome::Found(value) if shared.outcomes > MAX_UNSHARED_OUTCOMES => {
                Outcome::Found(shared.with_shared_parts(value))
            }
            outcome => outcome,
        }
    }

    fn with_shared_parts(&mut self, value: Value) -> Value {
        let parts: Vec<Value> = match &value {
            Value::Array(items) => items.iter().map(|item| self.shared_part(item)).collect(),
            Value::Hash(hash) => hash.values().map(|value| self.shared_part(value)).collect(),
            _ => return value,
        };
        match &value {
            Value::Array(items) if !is_same(&parts, items.iter()) => Value::array(parts),
            Value::Hash(hash) if !is_same(&parts, hash.values()) => {
                Value::hash(hash.keys().cloned().zip(parts).collect::<Hash>())
            }
            _ => value,
        }
    }

    fn shared_part(&mut self, value: &Value) -> Value {
        if !matches!(value, Value::Array(_) | Value::Hash(_)) {
            return value.clone();
        }
        let part = Part(value.clone());
        if let Some(Part(known)) = self.parts.get(&part) {
            return known.clone();
        }
        // A secret may equal an ordinary text, but must not be replaced by it.
        if value.secrecy().is_none() {
            self.parts.insert(part);
        }
        value.clone()
    }
}

fn is_same<'v>(parts: &[Value], former: impl Iterator<Item = &'v Value>) -> bool {
    parts.iter().zip(former).all(|(part, former)| part.is_same(former))
}
