//! Decides if a value is of a type.
//!
//! Source: the `instance?` methods of `pops/types/types.rb`.

use std::sync::Arc;

use super::assign::has_text;
use super::inference::infer::infer;
use super::init;
use crate::puppet::Error;
use crate::puppet::regex::RubyRegex;
use crate::puppet::types::{assignable, uri};
use crate::value::rich::Rich;
use crate::value::rich::types::{Element, Range, Texts};
use crate::value::{Type, Value};

type MatchResult = Result<bool, Error>;

/// Returns true if `value` is of the type. Fails if a regular expression gives up.
pub(super) fn is_instance(kind: &Type, value: &Value) -> MatchResult {
    let value = value.bare();
    Ok(match (kind, value) {
        (Type::Any | Type::Unit, _) => true,
        (Type::Undef, value) => is_undef(value),
        (Type::Default, Value::Symbol(name)) => &**name == "default",
        (Type::Scalar, value) => match value {
            Value::Rich(rich) => rich.is_scalar(),
            value => is_scalar_data(value),
        },
        (Type::ScalarData, value) => is_scalar_data(value),
        (Type::Numeric, value) => is_integer(value) || matches!(value, Value::Float(f) if !f.is_nan()),
        (Type::Integer(range), value) => is_integer(value) && range.contains(value),
        (Type::Float(range), Value::Float(_)) => range.contains(value),
        (Type::String(texts), value) => is_text(texts, value),
        (Type::Enum(values, any_case), Value::String(text)) => has_text(values, *any_case, text),
        (Type::Pattern(patterns), Value::String(_) | Value::Bytes(_)) => {
            let compile = |pattern: &Option<Arc<str>>| RubyRegex::compile(pattern.as_deref().unwrap_or_default());
            patterns.is_empty()
                || any(patterns, |pattern| match value {
                    Value::Bytes(bytes) => compile(pattern)?.is_match_bytes(bytes),
                    text => compile(pattern)?.is_match(text.as_str().unwrap_or_default()),
                })?
        }
        (Type::Boolean(only), Value::Boolean(value)) => only.is_none_or(|only| only == *value),
        (Type::Variant(types), value) => any(types, |kind| is_instance(kind, value))?,
        (Type::Optional(inner), value) => {
            is_undef(value)
                || match inner {
                    Some(inner) => is_instance(inner, value)?,
                    None => false,
                }
        }
        (Type::NotUndef(inner), value) => {
            !is_undef(value)
                && match inner {
                    Some(inner) => is_instance(inner, value)?,
                    None => true,
                }
        }
        (Type::Alias(alias), value) => is_instance(alias.resolved(), value)?,
        (Type::Init(inner, args), value) => init::is_instance(inner.as_deref(), args, value)?,
        (Type::Iterable(inner), value) => is_iterable(inner.as_deref(), value)?,
        (Type::CatalogEntry | Type::Class(_) | Type::Resource(..) | Type::Runtime(..), value) => {
            assignable(kind, &infer(value)?)
        }
        (kind, Value::Array(items)) => is_array(kind, items)?,
        (kind, Value::Hash(_)) => is_hash(kind, value)?,
        (kind, Value::Rich(rich)) => is_rich(kind, rich)?,
        _ => false,
    })
}

fn any<T>(items: &[T], mut fits: impl FnMut(&T) -> MatchResult) -> MatchResult {
    for item in items {
        if fits(item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn all<T>(items: impl Iterator<Item = T>, mut fits: impl FnMut(T) -> MatchResult) -> MatchResult {
    for item in items {
        if !fits(item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_undef(value: &Value) -> bool {
    value.is_undef() || matches!(value, Value::Symbol(name) if &**name == "undef")
}

fn is_integer(value: &Value) -> bool {
    matches!(value, Value::Integer(_) | Value::BigInteger(_))
}

fn is_scalar_data(value: &Value) -> bool {
    is_integer(value) || matches!(value, Value::Boolean(_) | Value::Float(_) | Value::String(_) | Value::Bytes(_))
}

fn is_text(texts: &Texts, value: &Value) -> bool {
    let length = match value {
        Value::String(text) => match texts {
            Texts::Value(expected) => return expected == text,
            Texts::All => return true,
            Texts::Size(_) => text.chars().count(),
        },
        Value::Bytes(bytes) => bytes.len(),
        _ => return false,
    };
    match texts {
        Texts::All => true,
        Texts::Size(size) => size.contains(&Range::count(length).from),
        Texts::Value(_) => false,
    }
}

fn has_size(size: Option<&Range>, count: usize) -> bool {
    size.is_none_or(|size| size.contains(&Range::count(count).from))
}

fn is_array(kind: &Type, items: &[Value]) -> MatchResult {
    match kind {
        Type::Collection(size) => Ok(has_size(size.as_ref(), items.len())),
        Type::Array(held, size) => {
            Ok(all(items.iter(), |item| is_instance(held, item))? && has_size(size.as_ref(), items.len()))
        }
        Type::Tuple(types, size) => {
            let counts = match size {
                Some(size) => has_size(Some(size), items.len()),
                None => types.is_empty() || types.len() == items.len(),
            };
            let Some(last) = types.last() else { return Ok(counts) };
            let each = |(at, item): (usize, &Value)| is_instance(types.get(at).unwrap_or(last), item);
            Ok(counts && all(items.iter().enumerate(), each)?)
        }
        _ => Ok(false),
    }
}

fn is_hash(kind: &Type, value: &Value) -> MatchResult {
    let Value::Hash(hash) = value else { return Ok(false) };
    match kind {
        Type::Collection(size) => Ok(has_size(size.as_ref(), hash.len())),
        Type::Hash(entry, size) => Ok(all(hash.keys(), |key| is_instance(&entry.0, key))?
            && all(hash.values(), |value| is_instance(&entry.1, value))?
            && has_size(size.as_ref(), hash.len())),
        Type::Struct(elements) => {
            let mut matched = 0;
            let fits = |element: &Element| match hash.get(element.name()) {
                None => Ok(element.key.accepts_undef()),
                Some(value) => {
                    matched += 1;
                    is_instance(&element.value, value)
                }
            };
            Ok(all(elements.iter(), fits)? && matched == hash.len())
        }
        _ => Ok(false),
    }
}

fn is_rich(kind: &Type, rich: &Rich) -> MatchResult {
    Ok(match (kind, rich) {
        (Type::Sensitive(inner), Rich::Sensitive(value)) => is_instance(inner, value)?,
        (Type::Timestamp(range), Rich::Timestamp(time)) | (Type::Timespan(range), Rich::Timespan(time)) => {
            range.contains(*time)
        }
        (Type::SemVer(ranges), Rich::SemVer(version)) => {
            ranges.is_empty() || ranges.iter().any(|range| range.includes(version))
        }
        // In Puppet, types are objects.
        (Type::SemVerRange, Rich::SemVerRange(_)) | (Type::Binary, Rich::Binary(_)) | (Type::Object, Rich::Type(_)) => {
            true
        }
        (Type::Regexp(only), Rich::Regexp(pattern)) => only.as_ref().is_none_or(|only| only == pattern),
        (Type::Uri(parameters), Rich::Uri(uri)) => uri::matches(parameters.as_deref(), uri)?,
        (Type::Type(inner), Rich::Type(kind)) => inner.as_ref().is_none_or(|inner| assignable(inner, kind)),
        _ => false,
    })
}

fn is_iterable(inner: Option<&Type>, value: &Value) -> Result<bool, Error> {
    Ok(match inner.filter(|inner| !matches!(inner, Type::Any)) {
        Some(inner) => assignable(&Type::Iterable(Some(inner.clone().into())), &infer(value)?),
        None => match value {
            Value::String(_) | Value::Bytes(_) | Value::Hash(_) | Value::Array(_) => true,
            Value::Integer(n) => *n >= 0,
            Value::BigInteger(n) => **n > num_bigint::BigInt::ZERO,
            Value::Rich(rich) => match &**rich {
                Rich::Type(kind) => match kind.resolved() {
                    Type::Enum(..) => true,
                    Type::Integer(range) => range.lower().is_some() && range.upper().is_some(),
                    _ => false,
                },
                _ => false,
            },
            _ => false,
        },
    })
}
