//! The sizes of collections.

use crate::value::Type;
use crate::value::rich::types::Range;

/// Returns the size from `from` to `to`.
pub(crate) fn sized(from: usize, to: usize) -> Range {
    Range { from: Range::count(from).from, to: Range::count(to).to }
}

/// Returns the size of a collection; any size if none is given.
pub(crate) fn or_any(size: Option<&Range>) -> Range {
    size.cloned().unwrap_or_else(|| Range::at_least(0))
}

/// Returns the number of items or entries of the values of a type, or `None` if it is not a type of collections.
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
