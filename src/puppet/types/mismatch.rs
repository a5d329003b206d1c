//! One mismatch between an expected and an actual type, and Puppet's words for it.
//!
//! Source: the classes of mismatches in `pops/types/type_mismatch_describer.rb`.

use std::mem::discriminant;

use super::inference::generalize::generalize;
use super::inference::normalize::normalize;
use super::{assignable, parse};
use crate::value::rich::types::{Range, Texts};
use crate::value::{Segment, Type, Value, ValuePath};

/// One step of the path to the place of a mismatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The subject of the sentence.
    Subject(String),
    /// The value of an entry.
    Entry(String),
    /// The key of an entry.
    Key(String),
    /// A parameter of a function.
    Parameter(String),
    /// An item.
    Index(usize),
    /// One of several types.
    Variant(usize),
    /// One of several signatures of a function.
    Signature(usize),
}

impl Step {
    fn is_variant(&self) -> bool {
        matches!(self, Step::Variant(_) | Step::Signature(_))
    }

    fn text(&self) -> String {
        match self {
            Step::Subject(text) => text.clone(),
            Step::Entry(key) => format!("entry '{key}'"),
            Step::Key(key) => format!("key of entry '{key}'"),
            Step::Parameter(name) => format!("parameter '{name}'"),
            Step::Index(n) => format!("index {n}"),
            Step::Variant(n) => format!("variant {n}"),
            Step::Signature(n) => format!("{}.", n + 1),
        }
    }
}

/// A mismatch at a place.
#[derive(Debug, Clone)]
pub(crate) struct Mismatch {
    /// The place.
    pub(crate) path: Vec<Step>,
    /// The difference.
    pub(crate) kind: Kind,
}

/// A difference between an expected and an actual type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// An entry is missing.
    MissingKey(String),
    /// An entry is not expected.
    ExtraneousKey(String),
    /// A name in the expected type is unknown.
    Unresolved(String),
    /// The wrong type.
    Type(Type, Type),
    /// A text that is not one of an enumeration, or does not match a pattern.
    Pattern(Type, Type),
    /// The wrong number of items or entries.
    Size(Range, Range),
    /// The wrong number of arguments.
    Count(Range, Range),
}

/// Kinds of mismatches that are merged into one if each alternative has one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// Sizes, including counts of arguments.
    Sizes,
    /// Counts of arguments.
    Counts,
    /// Types, including texts.
    Types,
}

impl Mismatch {
    /// Returns a mismatch of types, in their shortest form.
    pub(crate) fn of_type(path: &[Step], expected: &Type, actual: &Type) -> Mismatch {
        Mismatch { path: path.to_vec(), kind: Kind::Type(normalize(expected), normalize(actual)) }
    }

    pub(crate) fn of_pattern(path: &[Step], expected: &Type, actual: &Type) -> Mismatch {
        Mismatch { path: path.to_vec(), kind: Kind::Pattern(normalize(expected), normalize(actual)) }
    }

    pub(crate) fn new(path: &[Step], kind: Kind) -> Mismatch {
        Mismatch { path: path.to_vec(), kind }
    }

    /// Returns the place in the value.
    pub(crate) fn place(&self) -> ValuePath {
        let key = |name: &String| Segment::Key(name.as_str().into());
        let steps = self.path.iter().filter_map(|step| match step {
            Step::Entry(name) | Step::Key(name) => Some(key(name)),
            Step::Index(at) => Some(Segment::Index(*at)),
            _ => None,
        });
        let extra = match &self.kind {
            Kind::ExtraneousKey(name) => Some(key(name)),
            _ => None,
        };
        ValuePath(steps.chain(extra).collect())
    }

    /// Returns the steps without the alternatives that were tried.
    fn canonical(&self) -> impl Iterator<Item = &Step> {
        self.path.iter().filter(|step| !step.is_variant())
    }

    pub(crate) fn is_at_same_place(&self, other: &Mismatch) -> bool {
        self.canonical().eq(other.canonical())
    }

    pub(crate) fn belongs_to(&self, group: Group) -> bool {
        match self.kind {
            Kind::Size(..) => group == Group::Sizes,
            Kind::Count(..) => matches!(group, Group::Sizes | Group::Counts),
            Kind::Type(..) | Kind::Pattern(..) => group == Group::Types,
            _ => false,
        }
    }

    /// Merges two mismatches at the same place into one.
    pub(crate) fn merge(self, other: &Mismatch) -> Mismatch {
        let kind = match (self.kind, &other.kind) {
            (Kind::Type(expected, actual), Kind::Type(more, _) | Kind::Pattern(more, _)) => {
                Kind::Type(normalize(&Type::variant([expected, more.clone()])), actual)
            }
            (Kind::Pattern(expected, actual), Kind::Type(more, _) | Kind::Pattern(more, _)) => {
                Kind::Pattern(normalize(&Type::variant([expected, more.clone()])), actual)
            }
            (Kind::Size(expected, actual), Kind::Size(more, _) | Kind::Count(more, _)) => {
                Kind::Size(expected.span(more), actual)
            }
            (Kind::Count(expected, actual), Kind::Size(more, _) | Kind::Count(more, _)) => {
                Kind::Count(expected.span(more), actual)
            }
            (kind, _) => kind,
        };
        Mismatch { kind, ..self }
    }

    /// Returns the mismatch without one of its steps.
    pub(crate) fn without_step(mut self, at: usize) -> Mismatch {
        if at < self.path.len() {
            self.path.remove(at);
        }
        self
    }

    /// Returns the sentence; it starts with a blank if it has a place.
    pub(crate) fn text(&self) -> String {
        let (variant, path) = match self.path.split_first() {
            Some((first @ Step::Signature(_), rest)) => (format!(" {}", first.text()), rest),
            _ => (String::new(), self.path.as_slice()),
        };
        let path: Vec<String> = path.iter().map(Step::text).collect();
        let position = if path.is_empty() { String::new() } else { format!(" {}", path.join(" ")) };
        format!("{variant}{position} {}", self.kind.text())
    }
}

impl Kind {
    fn text(&self) -> String {
        match self {
            Kind::MissingKey(key) => format!("expects a value for key '{key}'"),
            Kind::ExtraneousKey(key) => format!("unrecognized key '{key}'"),
            Kind::Unresolved(name) => format!("references an unresolved type '{name}'"),
            Kind::Type(expected, actual) => type_text(expected, actual),
            Kind::Pattern(expected, actual) => pattern_text(expected, actual),
            Kind::Size(expected, actual) => {
                format!("expects size to be {}, got {}", range_text(expected, "0"), range_text(actual, "0"))
            }
            Kind::Count(expected, actual) => {
                let equals = |n: Option<&Value>, wanted: i64| n.is_some_and(|n| *n == Value::Integer(wanted));
                let (from, to) = (expected.lower(), expected.upper());
                let is_singular =
                    equals(from, 1) && (to.is_none() || equals(to, 1)) || equals(from, 0) && equals(to, 1);
                let plural = if is_singular { "" } else { "s" };
                let (expected, actual) = (range_text(expected, "no"), range_text(actual, "none"));
                format!("expects {expected} argument{plural}, got {actual}")
            }
        }
    }
}

fn range_text(range: &Range, zero: &str) -> String {
    let from = range.lower().cloned().unwrap_or(Value::Integer(0));
    let is_zero = from.equals(&Value::Integer(0));
    let shown = Value::to_s;
    match range.upper() {
        Some(to) if from.equals(to) && is_zero => zero.into(),
        Some(to) if from.equals(to) => shown(&from),
        Some(to) if is_zero => format!("at most {}", shown(to)),
        None if is_zero => "unlimited".into(),
        None => format!("at least {}", shown(&from)),
        Some(to) => format!("between {} and {}", shown(&from), shown(to)),
    }
}

fn pattern_text(expected: &Type, actual: &Type) -> String {
    let (prefix, expected) = match expected {
        Type::Optional(Some(inner)) => ("an undef value or ", &**inner),
        other => ("", other),
    };
    let actual = match actual {
        Type::String(Texts::Value(text)) => format!("'{}'", &**text),
        other => short_name(other),
    };
    format!("expects {prefix}a match for {}, got {actual}", expected.expanded())
}

fn type_text(expected: &Type, actual: &Type) -> String {
    let (optional, expected) = match expected {
        Type::Optional(Some(inner)) => (true, &**inner),
        other => (false, other),
    };
    let (types, is_list) = match expected {
        Type::Variant(types) => (types.to_vec(), true),
        other => (vec![other.clone()], false),
    };
    let detailed = types.iter().any(|kind| is_detailed(kind, actual) || fits_default(kind, actual));
    let mut names: Vec<String> = Vec::new();
    for kind in &types {
        let name = if detailed { kind.expanded() } else { short_name(kind) };
        if detailed || !is_list || !names.contains(&name) {
            names.push(name);
        }
    }
    let actual = if detailed { detailed_actual(&types, actual) } else { short_name(actual) };
    if optional {
        names.insert(0, "Undef".into());
    }
    match names.as_slice() {
        [] => format!("expects a  value, got {actual}"),
        [one] => format!("expects {} value, got {actual}", with_article(one)),
        [a, b] => format!("expects a value of type {a} or {b}, got {actual}"),
        [rest @ .., last] => format!("expects a value of type {}, or {last}, got {actual}", rest.join(", ")),
    }
}

/// Returns a word with `a` or `an` before it.
fn with_article(text: &str) -> String {
    let vowel = text.starts_with(|c: char| "aeiouAEIOU".contains(c));
    format!("{} {text}", if vowel { "an" } else { "a" })
}

fn short_name(kind: &Type) -> String {
    let inner = kind.contained().filter(|inner| !matches!(inner, Type::Any));
    match (kind, inner) {
        (Type::Alias(alias), _) => alias.name().into(),
        (Type::TypeSet, _) => "DefaultTypeSet".into(),
        (_, Some(inner)) => format!("{}[{}]", kind.simple_name(), name(inner)),
        _ => kind.simple_name().into(),
    }
}

fn name(kind: &Type) -> &'static str {
    match kind {
        Type::Alias(alias) => alias.name(),
        other => other.simple_name(),
    }
}

/// Returns true if the two are of one kind, so that their names alone would not distinguish them.
fn is_detailed(expected: &Type, actual: &Type) -> bool {
    discriminant(expected) == discriminant(actual)
        || matches!(expected, Type::Alias(_))
        || matches!(actual, Type::Alias(_))
        || matches!((expected, actual), (Type::Struct(_), Type::Hash(..)) | (Type::Tuple(..), Type::Array(..)))
}

/// Returns true if the actual type fits the expected one once that is stripped of its parameters.
fn fits_default(expected: &Type, actual: &Type) -> bool {
    let expected = expected.resolved();
    let default = parse(expected.simple_name());
    match expected {
        Type::Unit => true,
        _ => default.is_ok_and(|default| assignable(&default, actual)),
    }
}

fn detailed_actual(expected: &[Type], actual: &Type) -> String {
    let resolved: Vec<&Type> = expected.iter().map(Type::resolved).collect();
    let general = generalize(actual);
    let detailed = resolved.iter().any(|kind| is_detailed(kind, actual));
    if detailed || resolved.iter().any(|kind| assignable(kind, &general)) {
        actual.expanded()
    } else {
        actual.simple_name().into()
    }
}
