//! The shortest form of a type: alternatives that overlap become one.
//!
//! Source: the `normalize` methods of `pops/types/types.rb`.

use std::sync::Arc;

use super::generalize::{generalize, has_empty};
use crate::puppet::Error;
use crate::value::rich::VersionRange;
use crate::value::rich::types::{Element, Range, Texts, TimeRange};
use crate::value::{Text, Type, Value};

/// Returns the type in its shortest form.
pub(crate) fn normalize(kind: &Type) -> Type {
    let inner = |inner: &Option<Arc<Type>>| inner.as_ref().map(|inner| Arc::new(normalize(inner)));
    match kind {
        Type::Collection(_) => Type::Collection(None),
        Type::Array(items, _) if matches!(**items, Type::Any) => Type::array(Type::Any, None),
        Type::Array(items, size) => Type::Array(normalize(items).into(), size.clone()),
        Type::Hash(entry, size) if *kind != Type::empty_hash() => {
            Type::hash(normalize(&entry.0), normalize(&entry.1), size.clone())
        }
        Type::Tuple(types, size) => Type::Tuple(types.iter().map(normalize).collect(), size.clone()),
        Type::Struct(elements) => {
            let element = |e: &Element| Element { key: e.key.clone(), value: normalize(&e.value) };
            Type::Struct(elements.iter().map(element).collect())
        }
        Type::Variant(types) if !types.is_empty() => variant(kind, types),
        Type::Optional(Some(inner)) => optional(normalize(inner)),
        Type::NotUndef(Some(inner)) => not_undef(normalize(inner)),
        Type::Type(kind) => Type::Type(inner(kind)),
        Type::Iterable(kind) => Type::Iterable(inner(kind)),
        Type::Iterator(kind) => Type::Iterator(inner(kind)),
        // A new one is made general.
        Type::Sensitive(kind) => match normalize(kind) {
            inner if inner == **kind => Type::Sensitive(kind.clone()),
            inner => Type::Sensitive(generalize(&inner).into()),
        },
        other => other.clone(),
    }
}

/// Puppet's error when it shortens or widens what is in an `Init`: it cannot make the new `Init`.
pub(in crate::puppet::types) const NO_NEW_INIT: &str = "wrong number of arguments (given 1, expected 2)";

/// Returns the error with which Puppet shortens a type, or `None` if it does not fail.
pub(in crate::puppet::types) fn fault(kind: &Type) -> Option<Error> {
    let unknown = || Some(Error::unknown(format!("whether Puppet can shorten {kind}")));
    let fault = match kind {
        Type::Init(Some(inner), _) => match stays(inner) {
            Some(true) => None,
            Some(false) => Some(Error::bare(NO_NEW_INIT)),
            None => unknown(),
        },
        // Puppet fails with a bare `Optional` among alternatives, and with open ends of ranges.
        Type::Variant(types) => {
            let flat = Type::variant(types.iter().map(normalize));
            let parts = if let Type::Variant(parts) = &flat { parts } else { types };
            let floats = parts.iter().filter(|part| is_float(part)).count();
            let is_apart = |from: &Range, part: &Type| matches!(part, Type::Integer(range) if !range.meets(from));
            let is_open = |part: &Type| match part {
                Type::Integer(range) => range.upper().is_none() && parts.iter().any(|part| is_apart(range, part)),
                Type::Float(range) => floats > 1 && (range.lower().is_none() || range.upper().is_none()),
                part => *part == Type::Optional(None),
            };
            if parts.iter().any(is_open) { unknown() } else { None }
        }
        _ => None,
    };
    fault.or_else(|| kind.parts().into_iter().find_map(self::fault))
}

/// Returns true if the shortest form of a type is the same object in Puppet, or `None` if that cannot be told.
fn stays(kind: &Type) -> Option<bool> {
    match kind {
        _ if normalize(kind) != *kind || has_empty(kind) => Some(false),
        // Those without parameters are no new objects, and this may have none; with them, an array is refused.
        Type::Collection(_) | Type::Variant(_) | Type::Optional(_) | Type::NotUndef(_) | Type::Callable(_) => None,
        // What is in a `Sensitive` is already general.
        Type::Sensitive(inner) => inner.parts().is_empty().then_some(true),
        Type::Hash(_, Some(_)) if *kind != Type::empty_hash() => Some(false),
        other => other.parts().into_iter().map(stays).find(|stays| *stays != Some(true)).unwrap_or(Some(true)),
    }
}

fn optional(inner: Type) -> Type {
    match inner {
        Type::NotUndef(Some(inner)) => optional(normalize(&inner)),
        Type::NotUndef(None) => Type::Optional(None),
        inner if inner.accepts_undef() => inner,
        inner => Type::Optional(Some(inner.into())),
    }
}

fn not_undef(inner: Type) -> Type {
    match inner {
        Type::Optional(Some(inner)) => not_undef(normalize(&inner)),
        Type::Optional(None) => Type::NotUndef(None),
        inner if !inner.accepts_undef() => inner,
        inner => Type::NotUndef(Some(inner).filter(|inner| !matches!(inner, Type::Any)).map(Arc::new)),
    }
}

fn variant(kind: &Type, before: &[Type]) -> Type {
    let mut types: Vec<Type> = before.iter().map(normalize).collect();
    if types.len() == 1 {
        return types.remove(0);
    }
    let is_changed = types != before || before.iter().any(has_sized_hash);
    if types.iter().any(|kind| matches!(kind, Type::Undef | Type::Optional(_))) {
        let rest = types.into_iter().filter_map(|kind| match kind {
            Type::Undef => None,
            Type::Optional(inner) => inner.as_deref().cloned(),
            other => Some(other),
        });
        return normalize(&Type::Optional(Some(Type::variant(rest).into())));
    }
    let mut flat = Vec::new();
    for kind in types {
        match kind {
            Type::Variant(inner) => flat.extend(inner.iter().cloned()),
            other => flat.push(other),
        }
    }
    let count = flat.len();
    let merged = merge(flat);
    // If nothing became shorter, the order stays, too.
    if is_changed || merged.len() != count { Type::variant(merged) } else { kind.clone() }
}

/// Returns true if a hash with a size is in a type, which Puppet makes anew even if nothing in it becomes shorter.
fn has_sized_hash(kind: &Type) -> bool {
    let is_sized = matches!(kind, Type::Hash(_, Some(_))) && *kind != Type::empty_hash();
    is_sized || kind.parts().into_iter().any(has_sized_hash)
}

/// Merges the alternatives of each kind that has ranges or lists.
fn merge(types: Vec<Type>) -> Vec<Type> {
    let types = merge_last(
        types,
        |kind| matches!(kind, Type::NotUndef(_)),
        |found| {
            let inner = found.into_iter().map(|kind| kind.contained().cloned().unwrap_or(Type::Any));
            Type::NotUndef(Some(normalize(&Type::variant(inner)).into()))
        },
    );
    let is_text = |kind: &Type| match kind {
        Type::Enum(values, any_case) => !values.is_empty() && !any_case,
        kind => matches!(kind, Type::String(Texts::Value(_))),
    };
    let types = merge_last(types, is_text, |found| enumeration(found.iter().flat_map(texts).collect(), false));
    let is_any_case = |kind: &Type| matches!(kind, Type::Enum(values, true) if !values.is_empty());
    let types = merge_last(types, is_any_case, |found| {
        let lower = found.iter().flat_map(texts).map(|text| Text::from(text.to_lowercase())).collect();
        enumeration(lower, true)
    });
    let types = merge_last(
        types,
        |kind| matches!(kind, Type::Pattern(_)),
        |found| {
            let mut patterns: Vec<Option<Arc<str>>> = Vec::new();
            for kind in &found {
                let Type::Pattern(more) = kind else { continue };
                more.iter().for_each(|p| {
                    if !patterns.contains(p) {
                        patterns.push(p.clone());
                    }
                });
            }
            Type::Pattern(patterns.into())
        },
    );
    let types = merge_first(
        types,
        |kind| matches!(kind, Type::SemVer(_)),
        |found| {
            let ranges = found.iter().flat_map(|kind| match kind {
                Type::SemVer(ranges) => ranges.to_vec(),
                _ => Vec::new(),
            });
            let ranges: Vec<VersionRange> = ranges.collect();
            vec![Type::SemVer(merge_versions(ranges.clone()).unwrap_or(ranges).into())]
        },
    );
    [is_integer as fn(&Type) -> bool, is_float, is_timespan, is_timestamp]
        .into_iter()
        .fold(types, |types, is_kind| merge_first(types, is_kind, |found| merge_pairwise(found, join_ranges)))
}

fn is_integer(kind: &Type) -> bool {
    matches!(kind, Type::Integer(_))
}

fn is_float(kind: &Type) -> bool {
    matches!(kind, Type::Float(_))
}

fn is_timespan(kind: &Type) -> bool {
    matches!(kind, Type::Timespan(_))
}

fn is_timestamp(kind: &Type) -> bool {
    matches!(kind, Type::Timestamp(_))
}

fn texts(kind: &Type) -> Vec<Text> {
    match kind {
        Type::Enum(values, _) => values.to_vec(),
        Type::String(Texts::Value(text)) => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// Joins two or more types of a kind into one, which follows the others.
fn merge_last(types: Vec<Type>, is_kind: impl Fn(&Type) -> bool, join: impl FnOnce(Vec<Type>) -> Type) -> Vec<Type> {
    if types.iter().filter(|kind| is_kind(kind)).count() < 2 {
        return types;
    }
    let (found, mut others): (Vec<Type>, Vec<Type>) = types.into_iter().partition(is_kind);
    others.push(join(found));
    others
}

/// Joins two or more types of a kind, whose result precedes the others.
fn merge_first(
    types: Vec<Type>,
    is_kind: impl Fn(&Type) -> bool,
    join: impl FnOnce(Vec<Type>) -> Vec<Type>,
) -> Vec<Type> {
    if types.iter().filter(|kind| is_kind(kind)).count() < 2 {
        return types;
    }
    let (found, others): (Vec<Type>, Vec<Type>) = types.into_iter().partition(is_kind);
    join(found).into_iter().chain(others).collect()
}

/// Joins each part, from the last on, with all earlier ones that it can be joined with.
fn merge_pairwise<T>(mut parts: Vec<T>, join: impl Fn(&T, &T) -> Option<T>) -> Vec<T> {
    let mut result = Vec::new();
    while let Some(mut one) = parts.pop() {
        parts.retain(|other| match join(&one, other) {
            Some(both) => {
                one = both;
                false
            }
            None => true,
        });
        result.push(one);
    }
    result
}

fn join_ranges(a: &Type, b: &Type) -> Option<Type> {
    match (a, b) {
        (Type::Integer(a), Type::Integer(b)) => (a.meets(b) || are_adjacent(a, b)).then(|| Type::Integer(a.span(b))),
        (Type::Float(a), Type::Float(b)) => a.meets(b).then(|| Type::Float(a.span(b))),
        (Type::Timespan(a), Type::Timespan(b)) => join_times(*a, *b).map(Type::Timespan),
        (Type::Timestamp(a), Type::Timestamp(b)) => join_times(*a, *b).map(Type::Timestamp),
        _ => None,
    }
}

fn are_adjacent(a: &Range, b: &Range) -> bool {
    let follows = |end: &Value, start: &Value| match (end, start) {
        (Value::Integer(end), Value::Integer(start)) => end.checked_add(1) == Some(*start),
        _ => false,
    };
    follows(&a.to, &b.from) || follows(&b.to, &a.from)
}

fn join_times(a: TimeRange, b: TimeRange) -> Option<TimeRange> {
    let before = |end: Option<i128>, start: Option<i128>| matches!((end, start), (Some(e), Some(s)) if e < s);
    if before(a.to, b.from) || before(b.to, a.from) {
        return None;
    }
    let from = a.from.zip(b.from).map(|(a, b)| a.min(b));
    Some(TimeRange { from, to: a.to.zip(b.to).map(|(a, b)| a.max(b)) })
}

/// Joins ranges of versions that overlap or touch.
pub(in crate::puppet::types) fn merge_versions(ranges: Vec<VersionRange>) -> Result<Vec<VersionRange>, Error> {
    if ranges.len() < 2 {
        return Ok(ranges);
    }
    let mut parts = ranges;
    let mut result = Vec::new();
    while let Some(mut one) = parts.pop() {
        let mut apart = Vec::new();
        for other in parts {
            match one.union(&other) {
                Some(Some(both)) => one = both.map_err(Error::puppet)?,
                // One of several ranges has no beginning to compare.
                Some(None) | None => apart.push(other),
            }
        }
        result.push(one);
        parts = apart;
    }
    result.reverse();
    Ok(result)
}

/// Returns an enumeration of texts: sorted, each once.
pub(in crate::puppet::types) fn enumeration(mut values: Vec<Text>, any_case: bool) -> Type {
    values.sort();
    values.dedup();
    Type::Enum(values.into(), any_case)
}
