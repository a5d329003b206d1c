//! Assignability: decides if all values of one type are values of another.
//!
//! [`Guard`] compares two types. It follows recursive types only once.
//!
//! Source: the `assignable?` and `_assignable?` methods of `pops/types/types.rb`, `recursion_guard.rb`.

use super::inference::generalize::generalize;
use super::init;
use super::iterate::{is_iterable, iterated};
use crate::puppet::regex::RubyRegex;
use crate::puppet::types::inference::size::{or_any, size_of, sized};
use crate::puppet::types::uri;
use crate::value::rich::types::{Alias, Callable, Element, Range, Texts};
use crate::value::{Text, Type, Value};

/// Guards against types that refer to themselves: if the names of two recursive types come up again, the types are
/// taken to fit.
#[derive(Default)]
pub(super) struct Guard {
    recursive_this: bool,
    recursive_that: bool,
    this_names: Vec<&'static str>,
    that_names: Vec<&'static str>,
}

impl Guard {
    /// Returns true if every value of the type `other` is of the type `kind`.
    pub(super) fn assignable(&mut self, kind: &Type, other: &Type) -> bool {
        match kind {
            Type::Unit => true,
            Type::Alias(alias) if alias.is_recursive() => self.by_alias(alias, other),
            Type::Variant(types) => match other {
                Type::Undef if types.is_empty() => false,
                Type::Variant(_) if types.is_empty() => true,
                Type::Variant(others) => !others.is_empty() && others.iter().all(|other| self.by_other(kind, other)),
                _ => self.by_other(kind, other),
            },
            _ => self.by_other(kind, other),
        }
    }

    /// Compares a type that refers to itself.
    fn by_alias(&mut self, alias: &Alias, other: &Type) -> bool {
        let kind = Type::Alias(alias.clone());
        if !self.recursive_this {
            if self.this_names.contains(&alias.name()) {
                self.recursive_this = true;
            } else {
                self.this_names.push(alias.name());
                let fits = self.recursive_that && self.recursive_this || self.by_other(&kind, other);
                self.recursive_this = false;
                self.this_names.retain(|name| *name != alias.name());
                return fits;
            }
        }
        self.recursive_that || self.by_other(&kind, other)
    }

    /// Takes the other type apart, if it has alternatives or is optional.
    fn by_other(&mut self, kind: &Type, other: &Type) -> bool {
        match other {
            Type::Unit => true,
            Type::Alias(alias) if alias.is_recursive() => {
                if !self.recursive_that {
                    if self.that_names.contains(&alias.name()) {
                        self.recursive_that = true;
                    } else {
                        self.that_names.push(alias.name());
                    }
                }
                self.recursive_this && self.recursive_that || self.assignable(kind, alias.resolved())
            }
            Type::Alias(alias) => self.assignable(kind, alias.resolved()),
            Type::Variant(_) if matches!(kind, Type::Any) => true,
            Type::Variant(others) if others.is_empty() => {
                matches!(kind, Type::NotUndef(_)) && self.by_kind(kind, other)
            }
            Type::Variant(others) => others.iter().all(|other| self.assignable(kind, other)),
            Type::Optional(inner) => {
                kind.accepts_undef() && inner.as_ref().is_none_or(|inner| crate::puppet::types::assignable(kind, inner))
            }
            Type::NotUndef(Some(inner)) if !inner.accepts_undef() => self.assignable(kind, inner),
            _ => self.by_kind(kind, other),
        }
    }

    /// Compares two types by the rule for the kind of the first.
    #[expect(clippy::match_same_arms, reason = "an arm for each kind, in the order of the kinds")]
    fn by_kind(&mut self, kind: &Type, other: &Type) -> bool {
        match (kind, other) {
            (Type::Any, _)
            | (Type::Numeric, Type::Numeric)
            | (Type::Regexp(None), Type::Regexp(_))
            | (Type::Boolean(None), Type::Boolean(_)) => true,
            (Type::Scalar, other) => is_scalar(other),
            (Type::ScalarData, other) => is_scalar_data(other),
            (Type::Numeric, Type::Integer(range) | Type::Float(range)) => Range::ALL.covers(range),
            (Type::Integer(a), Type::Integer(b)) | (Type::Float(a), Type::Float(b)) => a.covers(b),
            (Type::String(texts), other) => string(texts, other),
            (Type::Enum(values, any_case), other) => kind == other || enumeration(values, *any_case, other),
            (Type::Pattern(patterns), other) => kind == other || pattern(patterns, other),
            (Type::Collection(_) | Type::Array(..) | Type::Hash(..) | Type::Tuple(..) | Type::Struct(_), _) => {
                self.collection(kind, other)
            }
            (Type::Variant(types), other) => types.iter().any(|kind| self.assignable(kind, other)),
            (Type::Optional(_), Type::Undef) | (Type::Optional(None), _) => true,
            (Type::Optional(Some(inner)), other) => self.assignable(inner, other),
            (Type::NotUndef(inner), other) => {
                !other.accepts_undef() && inner.as_ref().is_none_or(|inner| self.assignable(inner, other))
            }
            (Type::Iterable(inner), other) => match inner.as_deref().filter(|inner| !matches!(inner, Type::Any)) {
                None => is_iterable(other),
                Some(inner) => iterated(other).flatten().is_some_and(|other| self.assignable(inner, &other)),
            },
            (Type::Type(inner), Type::Type(other)) | (Type::Iterator(inner), Type::Iterator(other)) => {
                let inner = inner.as_ref();
                inner.is_none_or(|inner| other.as_ref().is_some_and(|other| self.assignable(inner, other)))
            }
            (Type::Sensitive(inner), Type::Sensitive(other)) => self.assignable(inner, other),
            (Type::Init(None, _), Type::Init(..)) => true,
            (Type::Init(inner, _), Type::Init(other, _)) => match (inner, other) {
                (Some(inner), Some(other)) => self.assignable(inner, other),
                _ => false,
            },
            (Type::Init(inner, args), other) => init::accepts(inner.as_deref(), args, other),
            (Type::SemVer(ranges), Type::SemVer(others)) => {
                let covered = |other| ranges.iter().any(|range| version_covered(other, range));
                ranges.is_empty() || !others.is_empty() && others.iter().all(covered)
            }
            (Type::Timestamp(a), Type::Timestamp(b)) | (Type::Timespan(a), Type::Timespan(b)) => a.covers(*b),
            (Type::Uri(parameters), Type::Uri(others)) => uri::covers(parameters.as_deref(), others.as_deref()),
            (Type::Callable(callable), Type::Callable(other)) => self.callable(callable.as_deref(), other.as_deref()),
            (Type::CatalogEntry, other) => {
                matches!(other, Type::CatalogEntry | Type::Class(_) | Type::Resource(..))
            }
            (Type::Class(None), Type::Class(_)) | (Type::Resource(None, _), Type::Resource(..)) => true,
            (Type::Resource(Some(a), None), Type::Resource(Some(b), _)) => a.eq_ignore_ascii_case(b),
            (Type::Runtime(runtime, name), Type::Runtime(other, other_name)) => {
                runtime.as_ref().is_none_or(|runtime| Some(runtime) == other.as_ref())
                    && name.as_ref().is_none_or(|name| Some(name) == other_name.as_ref())
            }
            (Type::Alias(alias), other) => self.assignable(alias.resolved(), other),
            (kind, other) => kind == other,
        }
    }

    fn collection(&mut self, kind: &Type, other: &Type) -> bool {
        match (kind, other) {
            (Type::Collection(size), other) => match size_of(other) {
                Some(other) => or_any(size.as_ref()).covers(&other),
                None => false,
            },
            (Type::Array(items, size), Type::Tuple(types, _)) => {
                size_of(other).is_some_and(|other| or_any(size.as_ref()).covers(&other))
                    && types.iter().all(|other| self.assignable(items, other))
            }
            (Type::Array(items, size), Type::Array(others, other)) => {
                or_any(size.as_ref()).covers(&or_any(other.as_ref())) && self.assignable(items, others)
            }
            (Type::Hash(entry, size), Type::Hash(others, other_size)) => {
                let may_be_empty = size.as_ref().is_none_or(starts_at_zero);
                may_be_empty && *other == Type::empty_hash()
                    || self.assignable(&entry.0, &others.0)
                        && self.assignable(&entry.1, &others.1)
                        && or_any(size.as_ref()).covers(&or_any(other_size.as_ref()))
            }
            (Type::Hash(entry, size), Type::Struct(elements)) => {
                let fits = |guard: &mut Guard, element: &Element| {
                    let key = Type::String(Texts::Value(element.name().clone()));
                    guard.assignable(&entry.0, &key) && guard.assignable(&entry.1, &element.value)
                };
                or_any(size.as_ref()).covers(&Range::count(elements.len()))
                    && elements.iter().all(|element| fits(self, element))
            }
            (Type::Tuple(types, _), other) => kind == other || self.tuple(types, kind, other),
            (Type::Struct(elements), Type::Struct(others)) => self.record(elements, others),
            (Type::Struct(elements), Type::Hash(entry, size)) => {
                self.record_of_hash(elements, &entry.0, &entry.1, &or_any(size.as_ref()))
            }
            _ => false,
        }
    }

    fn tuple(&mut self, types: &[Type], kind: &Type, other: &Type) -> bool {
        let sizes = (size_of(kind), size_of(other));
        let (Some(size), Some(other_size)) = sizes else { return false };
        match other {
            Type::Tuple(..) | Type::Array(..) if !size.covers(&other_size) => false,
            Type::Tuple(..) | Type::Array(..) if types.is_empty() => true,
            Type::Tuple(others, _) if others.is_empty() => starts_at_zero(&size),
            Type::Tuple(others, _) => {
                let type_at = |index: usize| types.get(index).or(types.last());
                others.iter().enumerate().all(|(i, other)| type_at(i).is_some_and(|kind| self.assignable(kind, other)))
            }
            Type::Array(items, _) => {
                let most = usize::try_from(match &other_size.to {
                    Value::Integer(n) => *n,
                    _ => i64::MAX,
                });
                types.iter().take(most.unwrap_or_default()).all(|kind| self.assignable(kind, items))
            }
            _ => false,
        }
    }

    fn record(&mut self, elements: &[Element], others: &[Element]) -> bool {
        let mut matched = 0;
        let all = elements.iter().all(|element| match others.iter().find(|o| o.name() == element.name()) {
            None => element.key.accepts_undef(),
            Some(other) => {
                matched += 1;
                self.assignable(&element.key, &other.key) && self.assignable(&element.value, &other.value)
            }
        });
        all && matched == others.len()
    }

    fn record_of_hash(&mut self, elements: &[Element], key: &Type, value: &Type, size: &Range) -> bool {
        let mut required = 0;
        let all = elements.iter().all(|element| {
            element.key.accepts_undef() || {
                required += 1;
                self.assignable(&element.value, value)
                    && crate::puppet::types::assignable(&generalize(&element.key), key)
            }
        });
        all && sized(required, elements.len()).covers(size)
    }

    fn callable(&mut self, callable: Option<&Callable>, other: Option<&Callable>) -> bool {
        let Some(callable) = callable else { return true };
        let result = other.and_then(|other| other.result.clone()).unwrap_or(Type::Any);
        if callable.result.as_ref().is_some_and(|expected| !self.assignable(expected, &result)) {
            return false;
        }
        let Some(parameters) = &callable.parameters else { return true };
        let Some(others) = other.and_then(|other| other.parameters.as_ref()) else { return false };
        let block = |callable: Option<&Callable>| callable.and_then(|c| c.block.clone()).unwrap_or(Type::Undef);
        self.assignable(others, parameters) && self.assignable(&block(other), &block(Some(callable)))
    }
}

fn starts_at_zero(size: &Range) -> bool {
    size.from.equals(&Value::Integer(0))
}

fn is_scalar_data(kind: &Type) -> bool {
    matches!(
        kind,
        Type::ScalarData
            | Type::Enum(..)
            | Type::Numeric
            | Type::Integer(_)
            | Type::Float(_)
            | Type::String(_)
            | Type::Pattern(_)
            | Type::Boolean(_)
    )
}

fn is_scalar(kind: &Type) -> bool {
    let more = matches!(
        kind,
        Type::Scalar | Type::Regexp(_) | Type::SemVer(_) | Type::SemVerRange | Type::Timestamp(_) | Type::Timespan(_)
    );
    more || is_scalar_data(kind)
}

fn string(texts: &Texts, other: &Type) -> bool {
    match (texts, other) {
        (Texts::All, Type::String(_) | Type::Enum(..) | Type::Pattern(_)) => true,
        (Texts::Size(size), Type::String(other)) => size.covers(&lengths(other)),
        (Texts::Size(size), Type::Enum(values, _)) if !values.is_empty() => {
            values.iter().all(|value| size.contains(&Range::count(value.chars().count()).from))
        }
        (Texts::Size(size), Type::Enum(..) | Type::Pattern(_)) => size.covers(&Range::at_least(0)),
        (Texts::Value(_), Type::String(other)) => texts == other,
        (Texts::Value(_), Type::Enum(values, any_case)) => values.len() == 1 && !any_case,
        _ => false,
    }
}

fn lengths(texts: &Texts) -> Range {
    match texts {
        Texts::All => Range::at_least(0),
        Texts::Size(size) => size.clone(),
        Texts::Value(text) => Range::count(text.chars().count()),
    }
}

fn enumeration(values: &[Text], any_case: bool, other: &Type) -> bool {
    match other {
        Type::String(_) | Type::Enum(..) | Type::Pattern(_) if values.is_empty() => true,
        Type::String(Texts::Value(text)) => has_text(values, any_case, text),
        Type::Enum(others, other_case) => {
            !others.is_empty()
                && (any_case || !other_case)
                && others.iter().all(|other| has_text(values, any_case, other))
        }
        _ => false,
    }
}

/// Returns true if a text is one of `values`; `any_case` ignores the case of ASCII letters.
pub(super) fn has_text(values: &[Text], any_case: bool, text: &str) -> bool {
    let same = |value: &Text| if any_case { value.eq_ignore_ascii_case(text) } else { **value == *text };
    values.iter().any(same)
}

fn pattern(patterns: &[Option<std::sync::Arc<str>>], other: &Type) -> bool {
    let matches = |text: &str| {
        let found = |pattern: &Option<std::sync::Arc<str>>| {
            let regex = RubyRegex::compile(pattern.as_deref().unwrap_or_default());
            regex.and_then(|regex| regex.is_match(text)).unwrap_or(false)
        };
        patterns.iter().any(found)
    };
    match other {
        Type::String(Texts::Value(text)) => patterns.is_empty() || matches(text),
        Type::Enum(values, _) if !values.is_empty() => patterns.is_empty() || values.iter().all(|value| matches(value)),
        Type::String(_) | Type::Enum(..) | Type::Pattern(_) => patterns.is_empty(),
        _ => false,
    }
}

fn version_covered(other: &crate::value::rich::VersionRange, range: &crate::value::rich::VersionRange) -> bool {
    other.is_covered_by(range).unwrap_or(false)
}
