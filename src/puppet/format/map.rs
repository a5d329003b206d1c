//! Formats by their types.
//!
//! Source: `Format.merge_string_formats` and `sort_formats` in `pops/types/string_converter.rb`.

use std::cmp::Ordering;

use super::Format;
use crate::puppet::Error;
use crate::puppet::types::assignable;
use crate::value::rich::types::Range;
use crate::value::{Hash, Type, Value};

/// Formats in the order in which their types are tried.
#[derive(Debug, Clone)]
pub(super) struct Formats(Vec<(Type, Format)>);

impl Formats {
    /// Returns Puppet's default formats.
    pub(super) fn defaults() -> Formats {
        let container = |letter, separator2: &str| Format {
            separator: Some(", ".into()),
            separator2: Some(separator2.into()),
            contained: Some(Formats::contained()),
            ..Format::of(letter)
        };
        Formats(vec![
            (Type::Object, Format::of('p')),
            (Type::Float(Range::ALL), Format::of('f')),
            (Type::Numeric, Format::of('d')),
            (Type::array(Type::Any, None), container('a', ", ")),
            (Type::hash(Type::Any, Type::Any, None), container('h', " => ")),
            (Type::Binary, Format::of('B')),
            (Type::Any, Format::of('s')),
        ])
    }

    /// Returns the formats inside of containers.
    pub(super) fn contained() -> Formats {
        Formats::single(Type::Any, Format::of('p'))
    }

    /// Returns one format.
    pub(super) fn single(kind: Type, format: Format) -> Formats {
        Formats(vec![(kind, format)])
    }

    /// Returns the formats that a user gave.
    pub(super) fn of_hash(hash: &Hash) -> Result<Formats, Error> {
        let mut formats: Vec<(Type, Format)> = Vec::new();
        for (key, value) in hash.iter() {
            let Some(kind) = key.as_type() else { continue };
            let format = match value.bare() {
                Value::Hash(hash) => container(hash)?,
                value => Format::parse(value.as_str().unwrap_or_default())?,
            };
            formats.push((kind.clone(), format));
        }
        Ok(Formats(formats))
    }

    /// Returns the format for a type.
    pub(super) fn for_type(&self, kind: &Type) -> Format {
        let found = self.0.iter().find(|(wide, _)| assignable(wide, kind));
        found.map_or_else(|| Format::of('s'), |(_, format)| format.clone())
    }

    fn get(&self, kind: &Type) -> Option<&Format> {
        self.0.iter().find(|(known, _)| known == kind).map(|(_, format)| format)
    }

    /// Returns these formats merged with `higher`, which win.
    pub(super) fn merged(&self, higher: &Formats) -> Formats {
        let is_covered = |low: &Type| higher.0.iter().any(|(high, _)| high != low && assignable(high, low));
        let lower = Formats(self.0.iter().filter(|(low, _)| !is_covered(low)).cloned().collect());
        let mut kinds: Vec<Type> = Vec::new();
        for (kind, _) in lower.0.iter().chain(&higher.0) {
            if !kinds.contains(kind) {
                kinds.push(kind.clone());
            }
        }
        let format = |kind: &Type| match (lower.get(kind), higher.get(kind)) {
            (Some(low), Some(high)) => Some(merged_format(low, high)),
            (low, high) => low.or(high).cloned(),
        };
        let formats = kinds.into_iter().filter_map(|kind| format(&kind).map(|format| (kind, format))).collect();
        Formats(sorted(formats))
    }
}

fn container(hash: &Hash) -> Result<Format, Error> {
    let text = |name: &str| hash.get(name).and_then(Value::as_str).map(str::to_owned);
    let format = Format::parse(&text("format").unwrap_or_default())?;
    let contained = match hash.get("string_formats").map(Value::bare) {
        Some(Value::Hash(formats)) => Some(Formats::of_hash(formats)?),
        _ => None,
    };
    Ok(Format { separator: text("separator"), separator2: text("separator2"), contained, ..format })
}

fn merged_format(low: &Format, high: &Format) -> Format {
    let contained = match (&low.contained, &high.contained) {
        (Some(low), Some(high)) => Some(low.merged(high)),
        (low, high) => low.as_ref().or(high.as_ref()).cloned(),
    };
    Format {
        separator: high.separator.clone().or_else(|| low.separator.clone()),
        separator2: high.separator2.clone().or_else(|| low.separator2.clone()),
        contained,
        ..high.clone()
    }
}

/// Sorts the narrowest types first. The order is not total, so it matters that Ruby sorts by merging halves.
fn sorted(mut formats: Vec<(Type, Format)>) -> Vec<(Type, Format)> {
    if formats.len() < 2 {
        return formats;
    }
    let right = sorted(formats.split_off(formats.len() / 2));
    let mut left = sorted(formats).into_iter().peekable();
    let mut right = right.into_iter().peekable();
    let mut out = Vec::new();
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let first = if order(&a.0, &b.0) == Ordering::Greater { &mut right } else { &mut left };
        out.extend(first.next());
    }
    out.extend(left);
    out.extend(right);
    out
}

fn order(a: &Type, b: &Type) -> Ordering {
    match (assignable(b, a), assignable(a, b)) {
        _ if a == b => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => match (rank(a), rank(b)) {
            (0, _) | (_, 0) => a.to_string().cmp(&b.to_string()),
            (a, b) => a.cmp(&b),
        },
    }
}

fn rank(kind: &Type) -> u8 {
    match kind {
        Type::Struct(_) => 1,
        Type::Hash(..) => 2,
        Type::Tuple(..) => 3,
        Type::Array(..) => 4,
        Type::Pattern(_) => 10,
        Type::Enum(..) => 11,
        Type::String(_) => 12,
        _ => 0,
    }
}
