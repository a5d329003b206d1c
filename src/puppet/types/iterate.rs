//! Types that can be iterated over, and the types of their items.
//!
//! Source: the `iterable?` and `iterable_type` methods of `pops/types/types.rb`.

use crate::value::Type;
use crate::value::rich::types::{Element, Range};

/// Returns true if values of the type can be iterated over.
pub(crate) fn is_iterable(kind: &Type) -> bool {
    match kind {
        Type::Alias(alias) => is_iterable(alias.resolved()),
        Type::Collection(_) => true,
        kind => iterated(kind).is_some(),
    }
}

/// Returns the type of the items of an iteration, or `None` for a type that cannot be iterated over. The inner `None`
/// stands for items of any type.
#[expect(clippy::option_option, reason = "not at all, anything, or something")]
pub(super) fn iterated(kind: &Type) -> Option<Option<Type>> {
    match kind {
        Type::Alias(alias) => iterated(alias.resolved()),
        Type::Integer(_) => Some(Some(Type::Integer(Range::ALL))),
        Type::String(_) | Type::Enum(..) => Some(Some(Type::sized_string(Range::exactly(1)))),
        Type::Array(items, _) => Some(Some((**items).clone()).filter(|items| !matches!(items, Type::Any))),
        Type::Hash(entry, _) if matches!(**entry, (Type::Any, Type::Any)) => Some(Some(pair(Type::Unit, Type::Unit))),
        Type::Hash(entry, _) => Some(Some(pair(entry.0.clone(), entry.1.clone()))),
        Type::Struct(elements) if elements.is_empty() => Some(Some(pair(Type::Unit, Type::Unit))),
        Type::Struct(elements) => {
            let all = |part: fn(&Element) -> &Type| Type::variant(elements.iter().map(|element| part(element).clone()));
            Some(Some(pair(all(|element| &element.key), all(|element| &element.value))))
        }
        Type::Tuple(types, _) => Some(Some(Type::variant(types.iter().cloned()))),
        Type::Iterable(inner) | Type::Iterator(inner) => Some(inner.as_deref().cloned()),
        Type::Type(Some(inner)) => match &**inner {
            Type::Enum(..) => Some(Some((**inner).clone())),
            Type::Integer(range) if range.lower().is_some() && range.upper().is_some() => Some(Some((**inner).clone())),
            _ => None,
        },
        _ => None,
    }
}

fn pair(key: Type, value: Type) -> Type {
    Type::Tuple([key, value].into(), Some(Range::exactly(2)))
}
