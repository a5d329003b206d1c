//! The data of Puppet: everything that a data file, a fact or a lookup can hold.
//!
//! [`Value`] is cheap to clone: strings and collections are shared. A value has one text and one equality, Ruby's; a
//! [`Text`] in it may be a secret, and everything made of a secret stays one. A [`ValuePath`] is a place inside of a
//! value. Nothing here knows how values are read from documents, converted or looked up.

mod compare;
mod debug;
mod float;
mod hash;
mod hidden;
pub mod hole;
mod inspect;
mod packed;
mod path;
pub mod rich;
mod selection;
pub mod symbol;
mod text;

use std::hash::{Hash as StdHash, Hasher};
use std::sync::Arc;

use num_bigint::BigInt;

pub use compare::Uniq;
pub use float::Floats;
pub(crate) use float::{jruby_digits, next_digits};
pub use hash::Hash;
pub use hidden::{Hidden, HiddenKind};
pub use inspect::{Notation, Printable};
pub use packed::{Packed, Unpacked};
pub use path::{Segment, ValuePath};
pub use rich::Rich;
pub use rich::types::Type;
pub use selection::{Picked, Selection, is_number};
pub use text::{Form, Secrecy, Text};

/// One Puppet value.
///
/// Equality and hashing are exact: the order of a hash's entries matters, `1` is not `1.0`, `NaN` equals itself and
/// `0.0` is not `-0.0`. The secrecy of parts is ignored. Ruby's looser `eql?` is [`Value::eql`].
#[derive(Clone, Default)]
pub enum Value {
    /// Ruby's `nil`, Puppet's `undef`.
    #[default]
    Undef,
    /// `true` or `false`.
    Boolean(bool),
    /// An integer that fits 64 bits.
    Integer(i64),
    /// An integer that does not fit 64 bits.
    BigInteger(Arc<BigInt>),
    /// A floating point number, `NaN` and the infinities included.
    Float(f64),
    /// Text, perhaps a secret.
    String(Text),
    /// A Ruby string that is not UTF-8, or has no encoding, as `!binary` makes it.
    Bytes(Arc<[u8]>),
    /// A Ruby symbol, as `:name` in YAML makes it.
    Symbol(Arc<str>),
    /// A sequence.
    Array(Arc<Vec<Value>>),
    /// An insertion-ordered map.
    Hash(Arc<Hash>),
    /// A value that data files cannot hold, but that conversions make.
    Rich(Arc<Rich>),
    /// A number, boolean or rich value that was made of a secret. Puppet has no such value: it sees the one inside.
    Secret(Arc<(Secrecy, Value)>),
}

impl Value {
    /// Returns an array of `items`.
    pub fn array(items: Vec<Value>) -> Value {
        Value::Array(Arc::new(items))
    }

    /// Returns a hash value.
    pub fn hash(hash: Hash) -> Value {
        Value::Hash(Arc::new(hash))
    }

    /// Returns the smallest representation of an integer of any size.
    pub fn big(n: BigInt) -> Value {
        i64::try_from(&n).map_or_else(|_| Value::BigInteger(Arc::new(n)), Value::Integer)
    }

    /// Returns true for copies of one value, without looking at the content.
    pub fn is_same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Undef, Value::Undef) => true,
            (Value::Boolean(a), Value::Boolean(b)) => a == b,
            (Value::Integer(a), Value::Integer(b)) => a == b,
            (Value::String(a), Value::String(b)) => a.is_same(b),
            (Value::Array(a), Value::Array(b)) => Arc::ptr_eq(a, b),
            (Value::Hash(a), Value::Hash(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Returns a Ruby string of bytes without an encoding, as YAML's `!binary` makes it: it equals a text of UTF-8 only
    /// if it is ASCII.
    pub fn binary(bytes: Vec<u8>) -> Value {
        if bytes.is_ascii() { Value::bytes(bytes) } else { Value::Bytes(bytes.into()) }
    }

    /// Returns bytes as text if they are UTF-8, or else as [`Value::Bytes`].
    pub fn bytes(bytes: Vec<u8>) -> Value {
        match String::from_utf8(bytes) {
            Ok(text) => Value::from(text),
            Err(e) => Value::Bytes(e.into_bytes().into()),
        }
    }

    /// Returns the text of a string, or `None` for other values.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// Returns the hash, or `None` for other values.
    pub fn as_hash(&self) -> Option<&Hash> {
        match self {
            Value::Hash(h) => Some(h),
            _ => None,
        }
    }

    /// Returns the data type, or `None` for other values.
    pub fn as_type(&self) -> Option<&Type> {
        match self {
            Value::Rich(rich) => match &**rich {
                Rich::Type(kind) => Some(kind),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the items of an array, or `None` for other values.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(a) => Some(a),
            _ => None,
        }
    }

    /// Returns the value as Puppet sees it, without a [`Value::Secret`] around it.
    pub fn bare(&self) -> &Value {
        match self {
            Value::Secret(secret) => &secret.1,
            value => value,
        }
    }

    /// Returns the value inside `Sensitive` or a secret number, or the value itself.
    pub fn content(&self) -> &Value {
        match self {
            Value::Secret(secret) => secret.1.content(),
            Value::Rich(rich) => {
                if let Rich::Sensitive(value) = &**rich {
                    value.content()
                } else {
                    self
                }
            }
            value => value,
        }
    }

    /// Returns true if Ruby's text of the value shows memory addresses of parts, so that it cannot be known.
    pub fn shows_address(&self) -> bool {
        let part = |value: &Value| match value.bare() {
            Value::Rich(rich) => rich.has_address(),
            other => other.shows_address(),
        };
        match self.bare() {
            Value::Array(items) => items.iter().any(part),
            Value::Hash(hash) => hash.iter().any(|(key, value)| part(key) || part(value)),
            _ => false,
        }
    }

    /// Returns true if a text in it has surrogates, which come from HOCON's escapes: Ruby takes it for UTF-8 and
    /// sometimes fails on it.
    pub fn has_surrogates(&self) -> bool {
        match self.bare() {
            Value::Bytes(bytes) => bytes.windows(2).any(|pair| matches!(pair, [0xed, 0xa0..=0xbf])),
            Value::Array(items) => items.iter().any(Value::has_surrogates),
            Value::Hash(hash) => hash.iter().any(|(key, value)| key.has_surrogates() || value.has_surrogates()),
            _ => false,
        }
    }

    /// Returns true if this is [`Value::Undef`].
    pub fn is_undef(&self) -> bool {
        matches!(self, Value::Undef)
    }

    /// Returns true if Ruby takes the value as true in a condition: everything but `nil` and `false`.
    pub fn is_truthy(&self) -> bool {
        !matches!(self.bare(), Value::Undef | Value::Boolean(false))
    }

    /// Returns the entry `key` of a hash, or `None` if there is none or this is not a hash.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_hash()?.get(key)
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Undef, Value::Undef) => true,
            (Value::Boolean(a), Value::Boolean(b)) => a == b,
            (Value::Integer(a), Value::Integer(b)) => a == b,
            (Value::BigInteger(a), Value::BigInteger(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => float_bits(*a) == float_bits(*b),
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Symbol(a), Value::Symbol(b)) => a == b,
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (Value::Array(a), Value::Array(b)) => Arc::ptr_eq(a, b) || a == b,
            (Value::Hash(a), Value::Hash(b)) => Arc::ptr_eq(a, b) || a == b,
            (Value::Rich(a), Value::Rich(b)) => a == b,
            (Value::Secret(secret), other) | (other, Value::Secret(secret)) => secret.1 == *other.bare(),
            _ => false,
        }
    }
}

impl Eq for Value {}

impl StdHash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            // The same as a borrowed text's, so that a hash can be asked for a `&str`.
            Value::String(s) => hash_text(s, state),
            Value::Undef => 1u8.hash(state),
            Value::Boolean(b) => (2u8, b).hash(state),
            Value::Integer(n) => (3u8, n).hash(state),
            Value::BigInteger(n) => (4u8, n).hash(state),
            Value::Float(f) => (5u8, float_bits(*f)).hash(state),
            Value::Bytes(b) => (6u8, b).hash(state),
            Value::Symbol(s) => (7u8, s).hash(state),
            Value::Array(a) => (8u8, a).hash(state),
            Value::Hash(h) => (9u8, h).hash(state),
            Value::Rich(rich) => (10u8, rich).hash(state),
            Value::Secret(secret) => secret.1.hash(state),
        }
    }
}

impl Value {
    /// Returns the secrecy of all its parts joined, or `None` if none of them is a secret.
    pub fn secrecy(&self) -> Option<Secrecy> {
        match self {
            Value::String(text) => text.secrecy(),
            Value::Secret(secret) => Some(secret.0),
            Value::Array(items) => items.iter().map(Value::secrecy).fold(None, Secrecy::join),
            Value::Hash(hash) => {
                hash.iter().fold(None, |all, (k, v)| Secrecy::join(all, Secrecy::join(k.secrecy(), v.secrecy())))
            }
            Value::Rich(rich) => rich.secrecy(),
            _ => None,
        }
    }

    /// Returns the value with every part marked with `secrecy`, because it was derived from a secret.
    #[must_use]
    pub fn sealed(&self, secrecy: Option<Secrecy>) -> Value {
        let Some(own) = secrecy else { return self.clone() };
        match self {
            Value::Undef => Value::Undef,
            Value::String(text) => Value::String(Text::with(text.clone(), secrecy)),
            Value::Array(items) => items.iter().map(|item| item.sealed(secrecy)).collect(),
            Value::Hash(hash) => {
                Value::hash(hash.iter().map(|(k, v)| (k.sealed(secrecy), v.sealed(secrecy))).collect())
            }
            Value::Secret(secret) => Value::Secret(Arc::new((secret.0.and(own), secret.1.clone()))),
            other => Value::Secret(Arc::new((own, other.clone()))),
        }
    }

    /// Returns true if two equal values also read the same: the same parts are secrets, with the same ciphertext, and
    /// types and ranges are written alike.
    pub fn is_written_like(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Array(a), Value::Array(b)) => {
                Arc::ptr_eq(a, b) || a.iter().zip(b.iter()).all(|(a, b)| a.is_written_like(b))
            }
            (Value::Hash(a), Value::Hash(b)) => {
                let same = |((k, v), (l, w)): ((&Value, &Value), (&Value, &Value))| {
                    k.is_written_like(l) && v.is_written_like(w)
                };
                Arc::ptr_eq(a, b) || a.iter().zip(b.iter()).all(same)
            }
            (Value::Rich(a), Value::Rich(b)) => a.to_text() == b.to_text(),
            (a, b) => a.secrecy() == b.secrecy(),
        }
    }
}

fn hash_text<H: Hasher>(text: &str, state: &mut H) {
    text.hash(state);
}

fn float_bits(f: f64) -> u64 {
    if f.is_nan() { f64::NAN.to_bits() } else { f.to_bits() }
}

impl From<&str> for Value {
    fn from(s: &str) -> Value {
        Value::String(s.into())
    }
}

impl From<String> for Value {
    fn from(s: String) -> Value {
        Value::String(s.into())
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Value {
        Value::Integer(n)
    }
}

impl From<Text> for Value {
    fn from(text: Text) -> Value {
        Value::String(text)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Value {
        Value::Boolean(b)
    }
}

impl FromIterator<Value> for Value {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Value {
        Value::array(items.into_iter().collect())
    }
}
