//! Where the parts of an effective value come from, worked out on demand from a recorded lookup.

use std::sync::Arc;

use super::explain::{Branch, Event, Step};
use crate::diagnostic::Place;
use crate::value::{Segment, Value, ValuePath, ruby};

/// A value that a data file gave to the fold, highest priority first.
#[derive(Debug, Clone)]
pub struct Contribution {
    /// The level.
    pub level: Arc<str>,
    /// The file and the line of the key.
    pub place: Place,
    /// The value after interpolation, before merging.
    pub value: Value,
}

/// The values that went into the answer for `key`; those of nested lookups and of `lookup_options` are not among them.
pub fn contributions(explained: &Step, key: &str) -> Vec<Contribution> {
    let mut found = Vec::new();
    for step in explained.steps() {
        if matches!(&step.branch, Some(Branch::Key(name)) if **name == *key) {
            collect(step, None, &mut found);
        }
    }
    found
}

fn collect(step: &Step, level: Option<&Arc<str>>, found: &mut Vec<Contribution>) {
    let level = match &step.branch {
        Some(Branch::Level(name)) => Some(name),
        Some(Branch::Interpolation(_)) => return,
        _ => level,
    };
    for event in step.events() {
        if let (Event::Found(_, value, Some(place)), Some(level)) = (event, level) {
            found.push(Contribution { level: level.clone(), place: place.clone(), value: value.clone() });
        }
    }
    step.steps().for_each(|step| collect(step, level, found));
}

/// The contribution that the part at `path` of the merged `value` comes from: the first that has an equal part there, or, in
/// an array whose items have moved, an equal item.
pub fn origin<'c>(contributions: &'c [Contribution], value: &Value, path: &ValuePath) -> Option<&'c Contribution> {
    let part = path.of(value)?;
    let exact = |c: &&Contribution| path.of(&c.value).is_some_and(|other| other == part);
    contributions.iter().find(exact).or_else(|| contributions.iter().find(|c| holds(&c.value, &path.0, part)))
}

fn holds(value: &Value, path: &[Segment], part: &Value) -> bool {
    match (path.split_first(), value) {
        (None, value) => ruby::eql(value, part),
        (Some((Segment::Index(_), rest)), Value::Array(items)) => items.iter().any(|item| holds(item, rest, part)),
        // The unique merge takes a scalar as an array of one, and flattens.
        (Some((Segment::Index(_), [])), scalar) => ruby::eql(scalar, part),
        (Some((Segment::Key(key), rest)), Value::Hash(hash)) => {
            hash.get_value(key).is_some_and(|v| holds(v, rest, part))
        }
        _ => false,
    }
}
