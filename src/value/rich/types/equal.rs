//! Equality of types as in Puppet, which ignores the order of alternatives.
//!
//! Source: the `eql?` methods of `pops/types/types.rb`.

use std::hash::{Hash, Hasher};
use std::mem::discriminant;

use indexmap::IndexSet;

use super::{Alias, Callable, Element, Texts, Type};

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Integer(a), Type::Integer(b)) | (Type::Float(a), Type::Float(b)) => a == b,
            (Type::String(a), Type::String(b)) => a == b,
            (Type::Enum(a, any_case), Type::Enum(b, case)) => a == b && any_case == case,
            (Type::Pattern(a), Type::Pattern(b)) => same_set(a, b),
            (Type::Boolean(a), Type::Boolean(b)) => a == b,
            (Type::Collection(a), Type::Collection(b)) => a == b,
            (Type::Array(a, size), Type::Array(b, other)) => a == b && size == other,
            (Type::Hash(a, size), Type::Hash(b, other)) => a == b && size == other,
            (Type::Tuple(a, size), Type::Tuple(b, other)) => a == b && size == other,
            (Type::Struct(a), Type::Struct(b)) => a == b,
            (Type::Variant(a), Type::Variant(b)) => same_set(a, b),
            (Type::Init(a, args), Type::Init(b, others)) => a == b && args == others,
            (Type::SemVer(a), Type::SemVer(b)) => a == b,
            (Type::Timestamp(a), Type::Timestamp(b)) | (Type::Timespan(a), Type::Timespan(b)) => a == b,
            (Type::Uri(a), Type::Uri(b)) => a == b,
            (Type::Callable(a), Type::Callable(b)) => a == b,
            (Type::Regexp(a), Type::Regexp(b)) | (Type::Class(a), Type::Class(b)) => a == b,
            (Type::Resource(a, title), Type::Resource(b, other)) => {
                a.as_ref().map(|a| a.to_lowercase()) == b.as_ref().map(|b| b.to_lowercase()) && title == other
            }
            (Type::Runtime(a, name), Type::Runtime(b, other)) => a == b && name == other,
            (Type::Alias(a), Type::Alias(b)) => a == b,
            (Type::Reference(a), Type::Reference(b)) => a == b,
            (a, b) => discriminant(a) == discriminant(b) && a.contained() == b.contained(),
        }
    }
}

impl Eq for Type {}

/// Hashes the kind, and the parts that differ between the types of many values.
impl Hash for Type {
    fn hash<H: Hasher>(&self, state: &mut H) {
        discriminant(self).hash(state);
        match self {
            Type::Integer(range) | Type::Float(range) => range.hash(state),
            Type::String(Texts::Value(text)) => text.hash(state),
            Type::Array(inner, _) => inner.hash(state),
            Type::Tuple(types, _) => types.hash(state),
            Type::Struct(elements) => elements.iter().for_each(|element| {
                element.key.hash(state);
                element.value.hash(state);
            }),
            _ => {}
        }
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Element) -> bool {
        self.key == other.key && self.value == other.value
    }
}

impl PartialEq for Callable {
    fn eq(&self, other: &Callable) -> bool {
        self.parameters == other.parameters && self.block == other.block && self.result == other.result
    }
}

impl PartialEq for Alias {
    fn eq(&self, other: &Alias) -> bool {
        self.name() == other.name()
    }
}

/// Returns true if both lists have the same length and the second contains all items of the first.
fn same_set<T: PartialEq>(a: &[T], b: &[T]) -> bool {
    a.len() == b.len() && a.iter().all(|one| b.contains(one))
}

/// Returns the types without duplicates.
pub(super) fn unique(types: Vec<Type>) -> Vec<Type> {
    types.into_iter().collect::<IndexSet<Type>>().into_iter().collect()
}
