//! Values as Ruby compares them: `eql?`, `==`, `<=>` and `uniq`.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher};

use num_bigint::BigInt;

use super::Value;

impl Value {
    /// Compares as Ruby's `eql?`, which `uniq` and the union of arrays use: the order of hash entries does not count,
    /// the kinds of numbers do.
    pub fn eql(&self, other: &Value) -> bool {
        match (self.bare(), other.bare()) {
            (Value::Float(x), Value::Float(y)) => x == y || (x.is_nan() && y.is_nan()),
            (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y.iter()).all(|(a, b)| a.eql(b)),
            (Value::Hash(x), Value::Hash(y)) => {
                x.len() == y.len() && x.iter().all(|(k, v)| y.get_value(k).is_some_and(|w| v.eql(w)))
            }
            _ => self == other,
        }
    }

    /// Compares as Ruby's `==`: as [`Value::eql`], but `1 == 1.0`.
    pub fn equals(&self, other: &Value) -> bool {
        match (self.bare(), other.bare()) {
            (Value::Array(x), Value::Array(y)) => {
                x.len() == y.len() && x.iter().zip(y.iter()).all(|(a, b)| a.equals(b))
            }
            (Value::Hash(x), Value::Hash(y)) => {
                x.len() == y.len() && x.iter().all(|(k, v)| y.get_value(k).is_some_and(|w| v.equals(w)))
            }
            (Value::Float(x), Value::Float(y)) => x == y,
            (Value::Integer(_) | Value::BigInteger(_), Value::Float(_))
            | (Value::Float(_), Value::Integer(_) | Value::BigInteger(_)) => {
                self.compare(other) == Some(Ordering::Equal)
            }
            _ => self == other,
        }
    }

    /// Compares as Ruby's `<=>`. None if Ruby cannot compare the two.
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        let (a, b) = (self.bare(), other.bare());
        match (a, b) {
            (Value::String(_) | Value::Bytes(_), Value::String(_) | Value::Bytes(_)) => Some(raw(a).cmp(raw(b))),
            (Value::Symbol(x), Value::Symbol(y)) => Some(x.cmp(y)),
            (Value::Integer(x), Value::Integer(y)) => Some(x.cmp(y)),
            (Value::Float(x), Value::Float(y)) => x.partial_cmp(y),
            (Value::Float(x), _) => compare_float(*x, &big(b)?),
            (_, Value::Float(y)) => compare_float(*y, &big(a)?).map(Ordering::reverse),
            (Value::Array(x), Value::Array(y)) => {
                for (a, b) in x.iter().zip(y.iter()) {
                    match a.compare(b) {
                        Some(Ordering::Equal) => {}
                        other => return other,
                    }
                }
                Some(x.len().cmp(&y.len()))
            }
            (Value::Undef | Value::Boolean(_) | Value::Hash(_), _) => a.equals(b).then_some(Ordering::Equal),
            _ => Some(big(a)?.cmp(&big(b)?)),
        }
    }
}

fn raw(value: &Value) -> &[u8] {
    match value {
        Value::String(s) => s.as_bytes(),
        Value::Bytes(b) => b,
        _ => &[],
    }
}

fn big(value: &Value) -> Option<BigInt> {
    match value {
        Value::Integer(n) => Some(BigInt::from(*n)),
        Value::BigInteger(n) => Some((**n).clone()),
        _ => None,
    }
}

fn compare_float(x: f64, n: &BigInt) -> Option<Ordering> {
    if x.is_nan() {
        return None;
    }
    if x.is_infinite() {
        return Some(if x > 0.0 { Ordering::Greater } else { Ordering::Less });
    }
    let whole: BigInt = format!("{:.0}", x.trunc()).parse().ok()?;
    Some(whole.cmp(n).then_with(|| x.fract().partial_cmp(&0.0).unwrap_or(Ordering::Equal)))
}

/// The values that were seen, told apart by [`Value::eql`]: Ruby's `uniq`.
#[derive(Debug, Default)]
pub struct Uniq {
    seen: HashMap<u64, Vec<Value>>,
}

impl Uniq {
    /// Returns true if no equal value was seen before, and remembers this one.
    pub fn is_new(&mut self, value: &Value) -> bool {
        let mut hasher = DefaultHasher::new();
        hash_loosely(value, &mut hasher);
        let same = self.seen.entry(hasher.finish()).or_default();
        let new = !same.iter().any(|other| value.eql(other));
        if new {
            same.push(value.clone());
        }
        new
    }
}

/// Writes a hash that is equal for values that are [`Value::eql`].
fn hash_loosely(value: &Value, state: &mut DefaultHasher) {
    match value.bare() {
        Value::Float(f) => (if *f == 0.0 { 0.0 } else { *f }).to_bits().hash(state),
        Value::Array(items) => items.iter().for_each(|item| hash_loosely(item, state)),
        // The order of the entries must not matter.
        Value::Hash(hash) => {
            let entry = |(key, value): (&Value, &Value)| {
                let mut entry = DefaultHasher::new();
                key.hash(&mut entry);
                hash_loosely(value, &mut entry);
                entry.finish()
            };
            hash.iter().map(entry).fold(hash.len() as u64, u64::wrapping_add).hash(state);
        }
        other => other.hash(state),
    }
}
