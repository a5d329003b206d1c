//! The types of values.
//!
//! [`infer`] finds a common type for the parts of a collection, [`infer_set`] keeps the type of each part.
//!
//! Source: `pops/types/type_calculator.rb`.

use std::sync::Arc;

use super::generalize::generalize;
use super::normalize::enumeration;
use crate::puppet::Error;
use crate::puppet::types::{assignable, uri};
use crate::value::rich::types::{Alias, Element, OwnAlias, Range, Texts, TimeRange};
use crate::value::rich::{Rich, VersionRange};
use crate::value::{Hash, Type, Value};

/// The maximum number of keys and values in a value whose type is inferred. The time to find a common type grows with
/// the square of their number, in Puppet as in hierad.
const PARTS_LIMIT: usize = 10_000;

/// Returns the type of a value; a collection gets a common type of its parts. Fails if the value has too many parts.
pub(crate) fn infer(value: &Value) -> Result<Type, Error> {
    check_size(value)?;
    let (mut floats, mut has_nan) = (0, false);
    count_floats(value, &mut floats, &mut has_nan);
    if has_nan && floats > 1 {
        // Ruby fails or not, by their order.
        return Err(Error::unknown("the common type of NaN and other numbers"));
    }
    Ok(common_of(value))
}

/// Returns the type of a value; a collection gets the type of each of its parts. Fails if the value has too many
/// parts.
pub(crate) fn infer_set(value: &Value) -> Result<Type, Error> {
    check_size(value)?;
    Ok(set_of(value))
}

fn count_floats(value: &Value, floats: &mut usize, has_nan: &mut bool) {
    match value.bare() {
        Value::Float(number) => {
            *floats += 1;
            *has_nan |= number.is_nan();
        }
        Value::Array(items) => items.iter().for_each(|item| count_floats(item, floats, has_nan)),
        Value::Hash(hash) => hash.iter().for_each(|(key, value)| {
            count_floats(key, floats, has_nan);
            count_floats(value, floats, has_nan);
        }),
        _ => {}
    }
}

fn check_size(value: &Value) -> Result<(), Error> {
    fn fits(value: &Value, left: &mut usize) -> bool {
        let Some(rest) = left.checked_sub(1) else { return false };
        *left = rest;
        match value.bare() {
            Value::Array(items) => items.iter().all(|item| fits(item, left)),
            Value::Hash(hash) => hash.iter().all(|(key, value)| fits(key, left) && fits(value, left)),
            Value::Rich(rich) => match &**rich {
                Rich::Sensitive(value) => fits(value, left),
                _ => true,
            },
            _ => true,
        }
    }
    let mut left = PARTS_LIMIT;
    if fits(value, &mut left) {
        return Ok(());
    }
    Err(Error::unknown(format!("the data type of a value of more than {PARTS_LIMIT} parts")))
}

fn common_of(value: &Value) -> Type {
    match value.bare() {
        Value::Array(items) if !items.is_empty() => {
            Type::array(common(items.iter().map(common_of)), Some(Range::count(items.len())))
        }
        Value::Hash(hash) if !hash.is_empty() => {
            let (key, value) = (common(hash.keys().map(common_of)), common(hash.values().map(common_of)));
            Type::hash(key, value, Some(Range::count(hash.len())))
        }
        Value::Rich(rich) if matches!(**rich, Rich::SemVer(_)) => Type::SemVer([].into()),
        other => set_of(other),
    }
}

/// Returns the same as [`infer_set`], for a part of a value whose size is already checked.
pub(crate) fn set_of(value: &Value) -> Type {
    match value {
        Value::Undef => Type::Undef,
        Value::Boolean(b) => Type::Boolean(Some(*b)),
        Value::Integer(_) | Value::BigInteger(_) => Type::Integer(Range::exactly(value.clone())),
        Value::Float(_) => Type::Float(Range::exactly(value.clone())),
        Value::String(text) => Type::String(Texts::Value(text.clone())),
        // Puppet writes the bytes as if each were a character.
        Value::Bytes(bytes) => {
            Type::String(Texts::Value(bytes.iter().map(|b| char::from(*b)).collect::<String>().into()))
        }
        Value::Symbol(name) => match &**name {
            "default" => Type::Default,
            "undef" => Type::Undef,
            _ => runtime("Symbol"),
        },
        Value::Array(items) if items.is_empty() => Type::array(Type::Unit, Some(Range::exactly(0))),
        Value::Array(items) => Type::Tuple(items.iter().map(set_of).collect(), None),
        Value::Hash(hash) => infer_hash(hash),
        Value::Rich(rich) => infer_rich(rich),
        Value::Secret(secret) => set_of(&secret.1),
    }
}

fn infer_hash(hash: &Hash) -> Type {
    if hash.is_empty() {
        return Type::empty_hash();
    }
    let is_name =
        |key: &Value| matches!(key, Value::String(name) if !name.is_empty()) || matches!(key, Value::Bytes(_));
    if hash.keys().all(is_name) {
        let element = |(key, value): (&Value, &Value)| Element { key: set_of(key), value: set_of(value) };
        return Type::Struct(hash.iter().map(element).collect());
    }
    let (key, value) = (Type::variant(hash.keys().map(set_of)), Type::variant(hash.values().map(set_of)));
    Type::hash(key, value, Some(Range::count(hash.len())))
}

fn runtime(class: &str) -> Type {
    Type::Runtime(Some("ruby".into()), Some(class.into()))
}

fn infer_rich(rich: &Rich) -> Type {
    match rich {
        Rich::Sensitive(value) => Type::Sensitive(generalize(&common_of(value)).into()),
        Rich::Timestamp(time) => Type::Timestamp(TimeRange::exactly(*time)),
        Rich::Timespan(span) => Type::Timespan(TimeRange::exactly(*span)),
        Rich::SemVer(version) => {
            let range = VersionRange::between(version.clone(), version.clone(), false);
            Type::SemVer(range.into_iter().collect())
        }
        Rich::SemVerRange(_) => Type::SemVerRange,
        Rich::Regexp(pattern) => Type::Regexp(Some(pattern.clone())),
        Rich::Binary(_) => Type::Binary,
        Rich::Uri(uri) => Type::Uri(Some(uri::parts(uri)).filter(|parts| !parts.is_empty()).map(Arc::new)),
        Rich::Type(kind) => Type::Type(Some(Arc::new(kind.clone()))),
        Rich::Hidden(_) => Type::Any,
        Rich::Ruby("Class", name) => Type::Type(Some(Arc::new(runtime(name)))),
        Rich::Ruby(class, _) => runtime(class),
    }
}

fn common(types: impl Iterator<Item = Type>) -> Type {
    types.reduce(|a, b| common_type(&a, &b)).unwrap_or(Type::Any)
}

/// Returns the narrowest type that both types fit, of those that Puppet tries.
fn common_type(a: &Type, b: &Type) -> Type {
    match (a, b) {
        (Type::Undef, _) => return b.clone(),
        (_, Type::Undef) => return a.clone(),
        (Type::Unit, _) => return b.clone(),
        (_, Type::Unit) => return a.clone(),
        _ if assignable(a, b) => return a.clone(),
        _ if assignable(b, a) => return b.clone(),
        (Type::Array(a, _), Type::Array(b, _)) => return Type::array(common_type(a, b), None),
        (Type::Hash(a, _), Type::Hash(b, _)) => {
            return Type::hash(common_type(&a.0, &b.0), common_type(&a.1, &b.1), None);
        }
        (Type::Integer(a), Type::Integer(b)) => return Type::Integer(a.span(b)),
        (Type::Float(a), Type::Float(b)) => return Type::Float(a.span(b)),
        (Type::String(a), Type::String(b)) => return common_string(a, b),
        (Type::String(Texts::Value(text)), Type::Enum(values, _))
        | (Type::Enum(values, _), Type::String(Texts::Value(text))) => {
            return enumeration(values.iter().chain([text]).cloned().collect(), false);
        }
        (Type::Enum(..), Type::String(_)) | (Type::String(_), Type::Enum(..)) => return Type::Enum([].into(), false),
        (Type::Enum(a, _), Type::Enum(b, _)) => return enumeration(a.iter().chain(b.iter()).cloned().collect(), false),
        (Type::Regexp(_), Type::Regexp(_)) => return Type::Regexp(None),
        (Type::Class(_), Type::Class(_)) => return Type::Class(None),
        _ => {}
    }
    let wide = [Type::Numeric, Type::ScalarData, Type::Scalar, Type::Alias(Alias::Own(OwnAlias::Data))];
    let fits = |wide: &Type| assignable(wide, a) && assignable(wide, b);
    if let Some(wide) = wide.into_iter().find(fits) {
        return wide;
    }
    if let (Type::Type(a), Type::Type(b)) = (a, b) {
        return Type::Type(match (a, b) {
            (Some(a), Some(b)) => Some(common_type(a, b).into()),
            _ => None,
        });
    }
    let rich = Type::Alias(Alias::Own(OwnAlias::RichData));
    if fits(&rich) { rich } else { Type::Any }
}

fn common_string(a: &Texts, b: &Texts) -> Type {
    match (a, b) {
        (Texts::Size(a), Texts::Size(b)) => Type::sized_string(a.span(b)),
        (Texts::Value(a), Texts::Value(b)) => enumeration(vec![a.clone(), b.clone()], false),
        _ => Type::STRING,
    }
}
