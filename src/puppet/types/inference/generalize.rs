//! Types without the parameters that narrow them to some values.
//!
//! Source: the `generalize` methods of `pops/types/types.rb`.

use std::sync::Arc;

use crate::puppet::types::inference::size::sized;
use crate::value::Type;
use crate::value::rich::types::{Element, Range, TimeRange};

/// Returns true if a type has an `Init` of some type in it.
pub(crate) fn has_init(kind: &Type) -> bool {
    matches!(kind, Type::Init(Some(_), _)) || kind.parts().into_iter().any(has_init)
}

/// Returns true if a type has an `Init` that would change: Puppet fails then.
pub(crate) fn changes_init(kind: &Type) -> bool {
    let changes = |inner: &Type| generalize(inner) != *inner || has_empty(inner);
    matches!(kind, Type::Init(Some(inner), _) if changes(inner)) || kind.parts().into_iter().any(changes_init)
}

/// Returns true if a type has a tuple or a struct without parameters, which Puppet replaces by another such object.
pub(super) fn has_empty(kind: &Type) -> bool {
    let is_empty = match kind {
        // What is in a `Sensitive` is already general.
        Type::Sensitive(_) => return false,
        Type::Tuple(types, None) => types.is_empty(),
        Type::Struct(elements) => elements.is_empty(),
        _ => false,
    };
    is_empty || kind.parts().into_iter().any(has_empty)
}

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
