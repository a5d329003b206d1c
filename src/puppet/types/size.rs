//! The sizes of collections.

use crate::value::Type;
use crate::value::rich::types::Range;

/// A size from `from` to `to`.
pub(crate) fn sized(from: usize, to: usize) -> Range {
    Range { from: Range::count(from).from, to: Range::count(to).to }
}

/// The size of a collection; any if none is given.
pub(crate) fn or_any(size: Option<&Range>) -> Range {
    size.cloned().unwrap_or_else(|| Range::at_least(0))
}

/// How many things the values of a type of collections hold.
pub(crate) fn size_of(kind: &Type) -> Option<Range> {
    match kind {
        Type::Collection(size) | Type::Array(_, size) | Type::Hash(_, size) => Some(or_any(size.as_ref())),
        Type::Tuple(_, Some(size)) => Some(size.clone()),
        Type::Tuple(types, None) if types.is_empty() => Some(Range::at_least(0)),
        Type::Tuple(types, None) => Some(Range::count(types.len())),
        Type::Struct(elements) => Some(Range::count(elements.len())),
        _ => None,
    }
}
