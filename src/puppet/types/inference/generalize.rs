//! Types without the parameters that narrow them to some values.
//!
//! Source: the `generalize` methods of `pops/types/types.rb`.

use std::sync::Arc;

use crate::puppet::types::inference::size::sized;
use crate::value::Type;
use crate::value::rich::types::{Element, Range, TimeRange};

/// Returns the type without the parameters that narrow it to some values.
pub(crate) fn generalize(kind: &Type) -> Type {
    let inner = |inner: &Option<Arc<Type>>| inner.as_ref().map(|inner| Arc::new(generalize(inner)));
    match kind {
        Type::Integer(_) => Type::Integer(Range::ALL),
        Type::Float(_) => Type::Float(Range::ALL),
        Type::String(_) => Type::STRING,
        Type::Boolean(_) => Type::Boolean(None),
        Type::Enum(values, _) => {
            let lengths = || values.iter().map(|value| value.chars().count());
            match (lengths().min(), lengths().max()) {
                (Some(least), Some(most)) => Type::sized_string(sized(least, most)),
                _ => Type::STRING,
            }
        }
        Type::Collection(_) => Type::Collection(None),
        Type::Array(items, _) => Type::array(generalize(items), None),
        Type::Hash(..) if *kind == Type::empty_hash() => kind.clone(),
        Type::Hash(entry, _) => Type::hash(generalize(&entry.0), generalize(&entry.1), None),
        Type::Tuple(types, size) => Type::Tuple(types.iter().map(generalize).collect(), size.clone()),
        Type::Struct(elements) => {
            let element = |e: &Element| Element { key: e.key.clone(), value: generalize(&e.value) };
            Type::Struct(elements.iter().map(element).collect())
        }
        Type::Variant(types) if types.is_empty() => kind.clone(),
        Type::Variant(types) => Type::variant(types.iter().map(generalize)),
        Type::Optional(kind) => Type::Optional(inner(kind)),
        Type::NotUndef(kind) => Type::NotUndef(inner(kind)),
        Type::Type(kind) => Type::Type(inner(kind)),
        Type::Iterable(kind) => Type::Iterable(inner(kind)),
        Type::Iterator(kind) => Type::Iterator(inner(kind)),
        Type::Sensitive(kind) => Type::Sensitive(generalize(kind).into()),
        Type::Timestamp(_) => Type::Timestamp(TimeRange::default()),
        Type::Timespan(_) => Type::Timespan(TimeRange::default()),
        Type::Uri(_) => Type::Uri(None),
        other => other.clone(),
    }
}
