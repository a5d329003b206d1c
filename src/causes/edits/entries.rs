//! The entries of a data file by the lines on which they begin.

use std::collections::BTreeMap;

use crate::hiera::backend::DataFile;
use crate::puppet::document::Marks;
use crate::value::{Segment, Value};

/// The maximum number of entries of a file that are looked at: aliases may repeat entries.
const MAX_ENTRIES: usize = 500_000;

/// The paths of all entries and items by the lines on which they begin.
#[derive(Default)]
pub(super) struct Entries {
    by_line: BTreeMap<u32, Vec<(Vec<Segment>, bool)>>,
    count: usize,
}

impl Entries {
    /// Returns the entries of a file.
    pub(super) fn of(file: Option<&DataFile>) -> Entries {
        let mut entries = Entries::default();
        if let Some(file) = file {
            entries.add(file.value(), file.lines(), &mut Vec::new());
        }
        entries
    }

    fn add(&mut self, value: &Value, marks: &Marks, path: &mut Vec<Segment>) {
        if marks.line > 0 && !path.is_empty() {
            let is_text = matches!(value, Value::String(text) if text.contains('\n'));
            self.by_line.entry(marks.line).or_default().push((path.clone(), is_text));
        }
        self.count += 1;
        let mut child = |segment: Segment, value: &Value, marks: Option<&Marks>| {
            if let Some(marks) = marks.filter(|_| self.count < MAX_ENTRIES) {
                path.push(segment);
                self.add(value, marks, path);
                path.pop();
            }
        };
        match value {
            Value::Hash(hash) => hash.iter().zip(0..).for_each(|((key, value), at): (_, usize)| {
                child(Segment::Key(key.clone()), value, marks.children.get(at));
            }),
            Value::Array(items) => items.iter().zip(0..).for_each(|(item, at): (_, usize)| {
                child(Segment::Index(at), item, marks.children.get(at));
            }),
            _ => {}
        }
    }

    /// Returns the paths of the entries that a line belongs to: those that begin on it, or else on the nearest line
    /// above.
    pub(super) fn at(&self, line: u32) -> impl Iterator<Item = &[Segment]> {
        self.entries_at(line).iter().map(|(path, _)| &**path)
    }

    /// Returns the path of the first entry that a line belongs to.
    pub(super) fn first_at(&self, line: u32) -> Option<&[Segment]> {
        self.at(line).next()
    }

    /// Returns true if a line is inside a text of several lines.
    pub(super) fn is_inside_text(&self, line: u32) -> bool {
        self.entries_at(line).iter().any(|(_, is_text)| *is_text)
    }

    fn entries_at(&self, line: u32) -> &[(Vec<Segment>, bool)] {
        self.by_line.range(..=line).next_back().map_or(&[], |(_, entries)| entries)
    }
}

/// Returns a path as a text that does not tell array positions apart, and that begins with the text of each path
/// above it.
pub(in crate::causes) fn normal(path: &[Segment]) -> String {
    let mut text = String::new();
    for segment in path {
        text.push('\u{1}');
        match segment {
            Segment::Index(_) => text.push_str("[]"),
            Segment::Key(key) => text.push_str(&key.to_s()),
        }
    }
    text
}
