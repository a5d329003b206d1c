//! Finds references to keys that no data file has: Puppet silently puts nothing in their place.

use std::sync::Arc;

use super::Fault;
use crate::diagnostic::{Place, Severity};
use crate::fleet::Revision;
use crate::hiera::backend::{DataFile, Format, Mentions};
use crate::puppet::document::Marks;
use crate::value::Value;

/// Returns a note for each key that the data file at `path` refers to and no data file has.
pub(super) fn faults(path: &str, file: &DataFile, revision: &Revision) -> Vec<Fault> {
    if !matches!(file.format(), Format::Yaml | Format::Yaml34 | Format::Json | Format::Hocon) {
        return Vec::new();
    }
    let fault = |from: &str, to: &Arc<str>| {
        let dotted = dotted(to, revision);
        let dotted = dotted.map(|key| format!(" (the key {key} has dots: a lookup of it needs these quotes)"));
        let dotted = dotted.unwrap_or_default();
        let text = format!("no data file here has the key '{to}': an interpolation that looks it up is empty{dotted}");
        let value = file.content().and_then(|content| content.get(from));
        let mut lines = Vec::new();
        if let (Some(value), Some(marks)) = (value, file.marks(from)) {
            lines_of(to, value, marks, &mut lines);
        }
        let lines = if lines.is_empty() { file.line(from).into_iter().collect() } else { lines };
        let fault = Fault::new(Severity::Note, "absent-key", text);
        lines.into_iter().fold(fault, |fault, line| fault.at(Some(Place::line(path, line))))
    };
    let absent = |to: &&Arc<str>| revision.key_of(to).is_none();
    let mentions = file.mentions().iter();
    mentions.flat_map(|(from, mentions)| mentions.keys.iter().filter(absent).map(|to| fault(from, to))).collect()
}

/// Returns a key with dots that begins with the name `to`, as lookups ask for it, or `None` if there is none.
fn dotted<'r>(to: &str, revision: &'r Revision) -> Option<&'r Arc<str>> {
    let beginning = format!("'{to}.");
    revision.keys.range(Arc::from(&*beginning)..).next().filter(|key| key.starts_with(&beginning))
}

/// Adds the lines of the texts in a value that refer to the key `to`.
fn lines_of(to: &Arc<str>, value: &Value, marks: &Marks, lines: &mut Vec<u32>) {
    let refers = |value: &Value| Mentions::of(value).keys.contains(to);
    match value {
        Value::Array(items) => items.iter().zip(marks.children.iter()).for_each(|(item, marks)| {
            lines_of(to, item, marks, lines);
        }),
        Value::Hash(hash) => hash.iter().zip(marks.children.iter()).for_each(|((key, value), marks)| {
            lines.extend(refers(key).then_some(marks.line));
            lines_of(to, value, marks, lines);
        }),
        text => lines.extend(refers(text).then_some(marks.line)),
    }
}
