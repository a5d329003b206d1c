//! Values in a compact form for caches: what data files and profiles hold, no secrets and no rich values.

use std::borrow::Cow;
use std::str::FromStr;

use num_bigint::BigInt;
use serde::{Deserialize, Serialize};

use super::{Hash, Value};

/// How deep a value may be nested to be packed.
const MAX_NESTING: usize = 100;

/// A value as it is packed.
#[derive(Serialize, Deserialize)]
pub enum Packed<'a> {
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
    Array(Vec<Packed<'a>>),
    /// A hash.
    Hash(Vec<(Packed<'a>, Packed<'a>)>),
}

impl<'a> Packed<'a> {
    /// `value` in packed form, if it can be, and has no more parts than `parts`: aliases make small files large.
    pub fn of(value: &'a Value, parts: &mut usize) -> Option<Packed<'a>> {
        Packed::at(value, parts, 0)
    }

    fn at(value: &'a Value, parts: &mut usize, depth: usize) -> Option<Packed<'a>> {
        *parts = parts.checked_sub(1).filter(|_| depth < MAX_NESTING)?;
        let mut inner = |value: &'a Value| Packed::at(value, parts, depth + 1);
        Some(match value {
            Value::Undef => Packed::Undef,
            Value::Boolean(b) => Packed::Boolean(*b),
            Value::Integer(n) => Packed::Integer(*n),
            Value::BigInteger(n) => Packed::BigInteger(n.to_string().into()),
            Value::Float(f) => Packed::Float(*f),
            Value::String(text) if text.secrecy().is_none() => Packed::String(Cow::Borrowed(text)),
            Value::Bytes(bytes) => Packed::Bytes(Cow::Borrowed(bytes)),
            Value::Symbol(name) => Packed::Symbol(Cow::Borrowed(name)),
            Value::Array(items) => Packed::Array(items.iter().map(inner).collect::<Option<_>>()?),
            Value::Hash(hash) => {
                Packed::Hash(hash.iter().map(|(key, value)| Some((inner(key)?, inner(value)?))).collect::<Option<_>>()?)
            }
            Value::String(_) | Value::Rich(_) | Value::Secret(_) => return None,
        })
    }

    /// The value; nothing if what is packed is none.
    pub fn value(self) -> Option<Value> {
        Some(match self {
            Packed::Undef => Value::Undef,
            Packed::Boolean(b) => b.into(),
            Packed::Integer(n) => Value::Integer(n),
            Packed::BigInteger(digits) => Value::big(BigInt::from_str(&digits).ok()?),
            Packed::Float(f) => Value::Float(f),
            Packed::String(text) => Value::from(&*text),
            Packed::Bytes(bytes) => Value::Bytes(bytes.as_ref().into()),
            Packed::Symbol(name) => Value::Symbol(name.as_ref().into()),
            Packed::Array(items) => Value::array(items.into_iter().map(Packed::value).collect::<Option<_>>()?),
            Packed::Hash(entries) => {
                let entry = |(key, value): (Packed<'_>, Packed<'_>)| Some((key.value()?, value.value()?));
                Value::hash(entries.into_iter().map(entry).collect::<Option<Hash>>()?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::yaml;

    #[test]
    fn what_is_packed_comes_out_again() {
        let text = "a: [1, 2.5, .nan, 123456789012345678901234567890, null, true, :sym, \"\\xE9\", !binary gIE=]\n1: {b: {}, c: []}\n";
        let value = yaml::parse(text.as_bytes()).value;
        let bytes = postcard::to_allocvec(&Packed::of(&value, &mut 100).unwrap()).unwrap();
        let (packed, rest): (Packed<'_>, _) = postcard::take_from_bytes(&bytes).unwrap();
        assert_eq!((packed.value(), rest), (Some(value), &[][..]));
    }

    #[test]
    fn what_is_large_by_aliases_is_not_packed() {
        let text = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
        let value = yaml::parse(text.as_bytes()).value;
        assert!(Packed::of(&value, &mut 20).is_none());
        assert!(Packed::of(&value, &mut 100).is_some());
    }
}
