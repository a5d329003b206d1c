//! The mismatches between two types, as sentences in Puppet's words.
//!
//! Source: `TypeMismatchDescriber` in `pops/types/type_mismatch_describer.rb`.

use super::assignable;
use super::inference::normalize::normalize;
use super::inference::size::{or_any, size_of, sized};
use super::mismatch::{Group, Kind, Mismatch, Step};
use crate::value::rich::types::{Element, Range};
use crate::value::{Hash, Type, ValuePath};

/// Returns all mismatches as text; `subject` begins the first sentence.
pub(crate) fn describe_mismatch(subject: &str, expected: &Type, actual: &Type) -> String {
    describe_place(subject, expected, actual).0
}

/// Returns all mismatches as text, and the place of the first one.
pub(crate) fn describe_place(subject: &str, expected: &Type, actual: &Type) -> (String, ValuePath) {
    let found = describe(expected, actual, &[Step::Subject(subject.to_owned())]);
    let text = match found.as_slice() {
        [one] => one.text().trim().to_owned(),
        many => many.iter().map(Mismatch::text).collect::<Vec<_>>().join("\n "),
    };
    (text, found.first().map(Mismatch::place).unwrap_or_default())
}

/// Returns the mismatches between an expected type and an actual one.
pub(crate) fn describe(expected: &Type, actual: &Type, path: &[Step]) -> Vec<Mismatch> {
    match unresolved(expected) {
        Some(name) => vec![Mismatch::new(path, Kind::Unresolved(name))],
        None => describe_normalized(&normalize(expected), expected, actual, path),
    }
}

/// Returns the first unknown name in a type, or `None` if all are known.
fn unresolved(kind: &Type) -> Option<String> {
    match kind {
        Type::Reference(name) => Some(name.to_string()),
        other => other.parts().into_iter().find_map(unresolved),
    }
}

fn with_step(path: &[Step], step: Step) -> Vec<Step> {
    path.iter().cloned().chain([step]).collect()
}

/// Returns the mismatches; `original` is the expected type as the user wrote it.
fn describe_normalized(expected: &Type, original: &Type, actual: &Type, path: &[Step]) -> Vec<Mismatch> {
    match expected {
        Type::Variant(types) => variant(types, original, actual, path),
        Type::Struct(elements) => record(elements, original, actual, path),
        Type::Hash(entry, size) => hash(entry, size.as_ref(), original, actual, path),
        Type::Tuple(types, _) => tuple(expected, types, original, actual, path),
        Type::Array(items, size) => array(items, size.as_ref(), original, actual, path),
        Type::Optional(inner) => match inner {
            Some(inner) if !matches!(actual, Type::Undef) => describe_normalized(
                inner,
                if matches!(original, Type::Alias(_)) { original } else { expected },
                actual,
                path,
            ),
            _ => Vec::new(),
        },
        Type::Pattern(_) | Type::Enum(..) => vec![Mismatch::of_pattern(path, original, actual)],
        Type::Alias(alias) => describe_normalized(&normalize(alias.resolved()), expected, actual, path),
        _ if assignable(expected, actual) => Vec::new(),
        _ => vec![Mismatch::of_type(path, original, actual)],
    }
}

fn variant(types: &[Type], original: &Type, actual: &Type, path: &[Step]) -> Vec<Mismatch> {
    let undef = matches!(original, Type::Optional(_)).then_some(&Type::Undef);
    let mut found = Vec::new();
    for (at, kind) in undef.into_iter().chain(types).enumerate() {
        let mismatches = describe(kind, actual, &with_step(path, Step::Variant(at)));
        if mismatches.is_empty() {
            return Vec::new();
        }
        found.push(mismatches);
    }
    let merged = merge(path.len(), Group::Sizes, found);
    if matches!(original, Type::Alias(_)) && merged.len() == 1 {
        return vec![Mismatch::of_type(path, original, actual)];
    }
    merged
}

/// Merges mismatches that all alternatives have at the same place.
pub(crate) fn merge(varying: usize, sizes: Group, found: Vec<Vec<Mismatch>>) -> Vec<Mismatch> {
    let alternatives = found.len();
    let mut all: Vec<Mismatch> = found.into_iter().flatten().collect();
    for group in [sizes, Group::Types] {
        let mut same = all.iter().filter(|mismatch| mismatch.belongs_to(group));
        if same.clone().count() != alternatives {
            continue;
        }
        let Some(first) = same.next().cloned() else { continue };
        let merged = same.try_fold(first, |merged, next| merged.is_at_same_place(next).then(|| merged.merge(next)));
        if let Some(merged) = merged {
            all = vec![merged];
            break;
        }
    }
    if all.len() == 1 {
        return all.into_iter().map(|mismatch| mismatch.without_step(varying)).collect();
    }
    all
}

fn array(items: &Type, size: Option<&Range>, original: &Type, actual: &Type, path: &[Step]) -> Vec<Mismatch> {
    match actual {
        Type::Tuple(types, declared_size) => {
            let actual_size = declared_size.clone().unwrap_or_else(|| Range::count(types.len()));
            if !or_any(size).covers(&actual_size) {
                return vec![Mismatch::new(path, Kind::Size(or_any(size), actual_size))];
            }
            let wrong = types.iter().enumerate().filter(|(_, kind)| !assignable(items, kind));
            wrong.flat_map(|(at, kind)| describe(items, kind, &with_step(path, Step::Index(at)))).collect()
        }
        Type::Array(held, declared_size) => {
            let actual_size = or_any(declared_size.as_ref());
            match size.filter(|size| !size.covers(&actual_size)) {
                Some(size) => vec![Mismatch::new(path, Kind::Size(size.clone(), actual_size))],
                None => vec![Mismatch::of_type(path, original, &Type::array((**held).clone(), None))],
            }
        }
        _ => vec![Mismatch::of_type(path, original, actual)],
    }
}

/// Returns the size of a struct: from its required entries to all of them.
fn struct_size(elements: &[Element]) -> Range {
    sized(elements.iter().filter(|element| !element.key.accepts_undef()).count(), elements.len())
}

fn hash(entry: &(Type, Type), size: Option<&Range>, original: &Type, actual: &Type, path: &[Step]) -> Vec<Mismatch> {
    let (key, value) = entry;
    match actual {
        Type::Struct(elements) => {
            let actual_size = struct_size(elements);
            if !or_any(size).covers(&actual_size) {
                return vec![Mismatch::new(path, Kind::Size(or_any(size), actual_size))];
            }
            let mut found = Vec::new();
            for element in elements.iter() {
                let name = element.name().as_str().to_owned();
                if !assignable(key, &element.key) {
                    found.extend(describe(key, &element.key, &with_step(path, Step::Key(name.clone()))));
                }
                if !assignable(value, &element.value) {
                    found.extend(describe(value, &element.value, &with_step(path, Step::Entry(name))));
                }
            }
            found
        }
        Type::Hash(held, declared_size) => hash_of_hash(held, declared_size.as_ref(), size.cloned(), original, path),
        _ => vec![Mismatch::of_type(path, original, actual)],
    }
}

fn hash_of_hash(
    held: &(Type, Type),
    declared_size: Option<&Range>,
    size: Option<Range>,
    original: &Type,
    path: &[Step],
) -> Vec<Mismatch> {
    let actual_size = or_any(declared_size);
    if let Some(size) = size.filter(|size| !size.covers(&actual_size)) {
        return vec![Mismatch::new(path, Kind::Size(size, actual_size))];
    }
    let actual = Type::hash(held.0.clone(), held.1.clone(), None);
    vec![Mismatch::of_type(path, original, &actual)]
}

fn record(elements: &[Element], original: &Type, actual: &Type, path: &[Step]) -> Vec<Mismatch> {
    match actual {
        Type::Struct(others) => record_of_record(elements, others, path),
        Type::Hash(held, declared_size) => {
            hash_of_hash(held, declared_size.as_ref(), Some(struct_size(elements)), original, path)
        }
        _ => vec![Mismatch::of_type(path, original, actual)],
    }
}

fn record_of_record(elements: &[Element], others: &[Element], path: &[Step]) -> Vec<Mismatch> {
    let mut found = Vec::new();
    let mut rest: Hash = others.iter().map(|other| (other.name().clone(), crate::value::Value::Undef)).collect();
    for element in elements {
        let name = element.name().as_str().to_owned();
        let other = others.iter().rev().find(|other| other.name() == element.name());
        let Some(other) = other.filter(|_| rest.remove(&element.name().clone().into()).is_some()) else {
            if !element.key.accepts_undef() {
                found.push(Mismatch::new(path, Kind::MissingKey(name)));
            }
            continue;
        };
        if !assignable(&element.key, &other.key) {
            found.extend(describe(&element.key, &other.key, &with_step(path, Step::Key(name.clone()))));
        }
        if !assignable(&element.value, &other.value) {
            found.extend(describe(&element.value, &other.value, &with_step(path, Step::Entry(name))));
        }
    }
    let extra = rest.keys().filter_map(|key| key.as_str());
    found.extend(extra.map(|key| Mismatch::new(path, Kind::ExtraneousKey(key.to_owned()))));
    found
}

fn tuple(expected: &Type, types: &[Type], original: &Type, actual: &Type, path: &[Step]) -> Vec<Mismatch> {
    if expected == actual || types.is_empty() && matches!(actual, Type::Array(..)) {
        return Vec::new();
    }
    let (Some(size), Some(actual_size)) = (size_of(expected), size_of(actual)) else {
        return vec![Mismatch::of_type(path, original, actual)];
    };
    match actual {
        Type::Tuple(..) | Type::Array(..) if !size.covers(&actual_size) => {
            vec![Mismatch::new(path, Kind::Size(size, actual_size))]
        }
        Type::Tuple(others, _) => {
            let Some(last) = types.len().checked_sub(1) else { return Vec::new() };
            let each = others.iter().enumerate().map(|(at, other)| (at.min(last), other));
            each.flat_map(|(at, other)| describe(&types[at], other, &with_step(path, Step::Index(at)))).collect()
        }
        Type::Array(items, _) => {
            let each = types.iter().enumerate();
            each.flat_map(|(at, kind)| describe(kind, items, &with_step(path, Step::Index(at)))).collect()
        }
        _ => vec![Mismatch::of_type(path, original, actual)],
    }
}
