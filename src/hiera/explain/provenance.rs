//! The origins of the parts of an effective value, worked out on demand from a recorded lookup.

use std::sync::Arc;

use super::{Branch, Event, FoundAt, Step};
use crate::diagnostic::Place;
use crate::value::{Segment, Value, ValuePath};

/// A value that a data file contributed to a merge.
#[derive(Debug, Clone)]
pub struct Contribution {
    /// The name of the level that has it.
    level: Arc<str>,
    /// Its place.
    at: FoundAt,
    /// The value after interpolation, before merging.
    value: Value,
}

/// The origin of a part of a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The name of the level.
    pub level: Arc<str>,
    /// The file and line.
    pub place: Place,
}

/// Returns the values that contributed to the answer for `key`, highest priority first, without those of nested
/// lookups and of `lookup_options`.
pub fn contributions(explained: &Step, key: &str) -> Vec<Contribution> {
    let mut found = Vec::new();
    for step in &explained.steps {
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
    // The interpolations of a found value come before it, but are not part of the answer's own search.
    step.steps.iter().for_each(|step| collect(step, level, found));
    if let (Some(Event::Found(_, value, Some(at))), Some(level)) = (&step.event, level) {
        found.push(Contribution { level: level.clone(), at: at.clone(), value: value.clone() });
    }
}

/// Returns the origin of the part at `path` of the merged `value`. That is the first contribution with an equal part
/// there or, in an array whose items have moved, with an equal item. For a collection merged from several, it is the
/// first contribution that has anything at `path`.
pub fn origin(contributions: &[Contribution], value: &Value, path: &ValuePath) -> Option<Origin> {
    let part = path.value_in(value)?;
    let exact = |c: &Contribution| (path.value_in(&c.value)? == part).then(|| c.origin(&path.0));
    let moved = |c: &Contribution| locate(&c.value, &path.0, part).map(|path| c.origin(&path));
    let merged = |c: &Contribution| path.value_in(&c.value).map(|_| c.origin(&path.0));
    let first = |find: &dyn Fn(&Contribution) -> Option<Origin>| contributions.iter().find_map(find);
    first(&exact).or_else(|| first(&moved)).or_else(|| first(&merged))
}

impl Contribution {
    /// Returns the origin of the part at `path`, if it has one.
    pub fn origin_of(&self, path: &ValuePath) -> Option<Origin> {
        path.value_in(&self.value).map(|_| self.origin(&path.0))
    }

    /// Returns the text at `path`, if there is one.
    pub fn text_at(&self, path: &ValuePath) -> Option<&str> {
        path.value_in(&self.value)?.as_str()
    }

    /// Returns the origin of the item `text` of the array at `parent`.
    pub fn origin_of_item(&self, parent: &[Segment], text: &str) -> Option<Origin> {
        let items = ValuePath(parent.to_vec());
        let at = items.value_in(&self.value)?.as_array()?.iter().position(|item| item.as_str() == Some(text))?;
        Some(self.origin(&[parent, &[Segment::Index(at)]].concat()))
    }

    fn origin(&self, path: &[Segment]) -> Origin {
        let line = self.at.marks.line_of(&self.value, path).or(self.at.place.line);
        Origin { level: self.level.clone(), place: Place { path: self.at.place.path.clone(), line } }
    }
}

/// Returns a path that differs from `path` only in array positions, and at which `value` has an equal part.
fn locate(value: &Value, path: &[Segment], part: &Value) -> Option<Vec<Segment>> {
    let with = |segment: Segment, rest: Vec<Segment>| [vec![segment], rest].concat();
    match (path.split_first(), value) {
        (None, value) => value.eql(part).then(Vec::new),
        (Some((Segment::Index(_), rest)), Value::Array(items)) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| locate(item, rest, part).map(|rest| with(Segment::Index(at), rest))),
        // The unique merge treats a scalar as an array of one.
        (Some((Segment::Index(_), [])), scalar) => scalar.eql(part).then(Vec::new),
        (Some((Segment::Key(key), rest)), Value::Hash(hash)) => {
            locate(hash.get_value(key)?, rest, part).map(|rest| with(Segment::Key(key.clone()), rest))
        }
        _ => None,
    }
}
