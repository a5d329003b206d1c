//! Values in a compact form for caches: what data files and profiles hold, no secrets and no rich values.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use num_bigint::BigInt;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Hash, Value};

/// The maximum depth of a value that can be packed.
const MAX_NESTING: usize = 100;

/// A value as it is packed: `A` is an array, `H` a hash.
#[derive(Serialize, Deserialize)]
enum Form<'a, A, H> {
    /// `undef`.
    Undef,
    /// A boolean.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// The digits of a large integer.
    BigInteger(Cow<'a, str>),
    /// A float.
    Float(f64),
    /// Text.
    #[serde(borrow)]
    String(Cow<'a, str>),
    /// Text that is not UTF-8.
    Bytes(Cow<'a, [u8]>),
    /// A symbol.
    Symbol(Cow<'a, str>),
    /// An array.
    Array(A),
    /// A hash.
    Hash(H),
}

/// A value to be packed.
#[derive(Serialize)]
pub struct Packed<'a>(Form<'a, Vec<Packed<'a>>, Vec<(Packed<'a>, Packed<'a>)>>);

impl<'a> Packed<'a> {
    /// Returns `value` in packed form, or `None` if it cannot be packed or has more than `parts` parts, since aliases
    /// can make small files large.
    pub fn of(value: &'a Value, parts: &mut usize) -> Option<Packed<'a>> {
        Packed::at(value, parts, 0)
    }

    fn at(value: &'a Value, parts: &mut usize, depth: usize) -> Option<Packed<'a>> {
        *parts = parts.checked_sub(1).filter(|_| depth < MAX_NESTING)?;
        let mut inner = |value: &'a Value| Packed::at(value, parts, depth + 1);
        Some(Packed(match value {
            Value::Undef => Form::Undef,
            Value::Boolean(b) => Form::Boolean(*b),
            Value::Integer(n) => Form::Integer(*n),
            Value::BigInteger(n) => Form::BigInteger(n.to_string().into()),
            Value::Float(f) => Form::Float(*f),
            Value::String(text) if text.secrecy().is_none() => Form::String(Cow::Borrowed(text)),
            Value::Bytes(bytes) => Form::Bytes(Cow::Borrowed(bytes)),
            Value::Symbol(name) => Form::Symbol(Cow::Borrowed(name)),
            Value::Array(items) => Form::Array(items.iter().map(inner).collect::<Option<_>>()?),
            Value::Hash(hash) => {
                Form::Hash(hash.iter().map(|(key, value)| Some((inner(key)?, inner(value)?))).collect::<Option<_>>()?)
            }
            Value::String(_) | Value::Rich(_) | Value::Secret(_) => return None,
        }))
    }
}

/// A value that was packed.
pub struct Unpacked(pub Value);

impl<'de> Deserialize<'de> for Unpacked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unpacked, D::Error> {
        type Read<'a> = Form<'a, Collected<Unpacked, Vec<Value>>, Collected<(Unpacked, Unpacked), Hash>>;
        Ok(Unpacked(match Read::deserialize(deserializer)? {
            Form::Undef => Value::Undef,
            Form::Boolean(b) => b.into(),
            Form::Integer(n) => Value::Integer(n),
            Form::BigInteger(digits) => Value::big(BigInt::from_str(&digits).map_err(D::Error::custom)?),
            Form::Float(f) => Value::Float(f),
            Form::String(text) => Value::from(&*text),
            Form::Bytes(bytes) => Value::Bytes(bytes.as_ref().into()),
            Form::Symbol(name) => Value::Symbol(name.as_ref().into()),
            Form::Array(items) => Value::array(items.0),
            Form::Hash(entries) => Value::hash(entries.0),
        }))
    }
}

/// The collection `C` of the items `I` of a sequence.
struct Collected<I, C>(C, PhantomData<I>);

/// A part of a collection that is read.
trait Item<C> {
    fn put(self, collection: &mut C);
}

impl Item<Vec<Value>> for Unpacked {
    fn put(self, items: &mut Vec<Value>) {
        items.push(self.0);
    }
}

impl Item<Hash> for (Unpacked, Unpacked) {
    fn put(self, hash: &mut Hash) {
        hash.insert(self.0.0, self.1.0);
    }
}

impl<'de, I: Deserialize<'de> + Item<C>, C: Default> Deserialize<'de> for Collected<I, C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Collected(C::default(), PhantomData))
    }
}

impl<'de, I: Deserialize<'de> + Item<C>, C> Visitor<'de> for Collected<I, C> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut sequence: A) -> Result<Self, A::Error> {
        while let Some(item) = sequence.next_element::<I>()? {
            item.put(&mut self.0);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(entries: Vec<(Value, Value)>) -> Value {
        Value::hash(entries.into_iter().collect())
    }

    #[test]
    fn what_is_packed_comes_out_again() {
        let scalars = vec![
            1.into(),
            Value::Float(2.5),
            Value::Float(f64::NAN),
            Value::big(BigInt::from(1) << 100),
            Value::Undef,
            true.into(),
            Value::Symbol("sym".into()),
            "é".into(),
            Value::Bytes([0x80, 0x81].into()),
        ];
        let empty = hash(vec![("b".into(), hash(vec![])), ("c".into(), Value::array(vec![]))]);
        let value = hash(vec![("a".into(), Value::array(scalars)), (1.into(), empty)]);
        let bytes = postcard::to_allocvec(&Packed::of(&value, &mut 100).unwrap()).unwrap();
        let (Unpacked(unpacked), rest) = postcard::take_from_bytes(&bytes).unwrap();
        assert_eq!((unpacked, rest), (value, &[][..]));
    }

    #[test]
    fn what_is_large_by_aliases_is_not_packed() {
        let twice = |value: &Value| Value::array(vec![value.clone(), value.clone()]);
        let a = twice(&"x".into());
        let b = twice(&a);
        let value = hash(vec![("c".into(), twice(&b)), ("a".into(), a), ("b".into(), b)]);
        assert!(Packed::of(&value, &mut 20).is_none());
        assert!(Packed::of(&value, &mut 100).is_some());
    }
}
