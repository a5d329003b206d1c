//! The entries of a data file by the lines on which they begin.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::hiera::backend::DataFile;
use crate::puppet::document::Marks;
use crate::value::{Hash, Segment, Value};

/// The maximum number of entries of a file that are looked at: aliases may repeat entries.
const MAX_ENTRIES: usize = 500_000;

/// The paths of all entries and items by the lines on which they begin. Those of a part are listed when they are first
/// asked for: of a large file, a commit changes few lines.
#[derive(Default)]
pub(super) struct Entries<'f> {
    file: Option<&'f DataFile>,
    /// In the order of their lines.
    parts: Vec<Part>,
}

/// Some lines of a file with the root entries on them, of which nothing is on other lines.
struct Part {
    first: u32,
    /// The last line on which something begins.
    last: u32,
    /// The positions of the root entries.
    roots: Range<usize>,
    entries: OnceCell<PartEntries>,
}

impl<'f> Entries<'f> {
    /// Returns the entries of a file.
    pub(super) fn of(file: Option<&'f DataFile>) -> Entries<'f> {
        let parts = file.map_or_else(Vec::new, parts);
        Entries { file, parts }
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

    /// Returns the first line of the part that a line belongs to, or `None` if no part begins before.
    pub(super) fn part_start(&self, line: u32) -> Option<u32> {
        self.part_at(line).map(|part| part.first)
    }

    /// Returns the parts, each with its first line.
    pub(super) fn parts(&self) -> impl DoubleEndedIterator<Item = (u32, PartRef<'_>)> + ExactSizeIterator {
        self.parts.iter().map(|part| (part.first, PartRef { part, hash: self.file.and_then(DataFile::content) }))
    }

    fn part_at(&self, line: u32) -> Option<&Part> {
        self.parts[..self.parts.partition_point(|part| part.first <= line)].last()
    }

    fn entries_at(&self, line: u32) -> &[(Vec<Segment>, bool)] {
        let Some((part, file)) = self.part_at(line).zip(self.file) else { return &[] };
        let entries = part.entries.get_or_init(|| PartEntries::of(file, &part.roots));
        entries.by_line.range(..=line).next_back().map_or(&[], |(_, entries)| entries)
    }
}

/// A part of a file.
pub(super) struct PartRef<'f> {
    part: &'f Part,
    hash: Option<&'f Hash>,
}

impl<'f> PartRef<'f> {
    /// Returns true if another part has the same root keys on as many lines.
    pub(super) fn is_like(&self, other: &PartRef<'_>) -> bool {
        let lines = |part: &Part| part.last - part.first;
        lines(self.part) == lines(other.part) && self.root_keys().eq(other.root_keys())
    }

    fn root_keys(&self) -> impl Iterator<Item = &'f Value> {
        let Range { start, end } = self.part.roots;
        let entries = self.hash.into_iter().flat_map(move |hash| (start..end).map_while(|at| hash.entry_at(at)));
        entries.map(|(key, _)| key)
    }
}

/// Divides a file into parts: it is one part if its root is no hash, its entries depend on each other, or not all of it
/// can be read.
fn parts(file: &DataFile) -> Vec<Part> {
    let is_divided = file.content().is_some() && !file.is_entangled() && file.fault().is_none();
    let (roots, mut left) = (&file.lines().children, MAX_ENTRIES);
    let mut parts: Vec<Part> = Vec::new();
    for (at, marks) in roots.iter().enumerate().filter(|_| is_divided) {
        let (first, last) = span(marks, &mut left);
        if last == 0 {
            continue;
        }
        let mut part = Part { first, last, roots: at..at + 1, entries: OnceCell::new() };
        while let Some(before) = parts.pop_if(|before| before.last >= part.first) {
            part.first = before.first.min(part.first);
            part.last = before.last.max(part.last);
            part.roots.start = before.roots.start;
        }
        parts.push(part);
    }
    if parts.is_empty() || left == 0 {
        return vec![Part { first: 0, last: u32::MAX, roots: 0..usize::MAX, entries: OnceCell::new() }];
    }
    parts
}

/// Returns the first and the last line of something and all in it; the last is 0 if none is known.
fn span(marks: &Marks, left: &mut usize) -> (u32, u32) {
    let (mut first, mut last) = if marks.line > 0 { (marks.line, marks.line) } else { (u32::MAX, 0) };
    *left = left.saturating_sub(1);
    for child in marks.children.iter() {
        if *left == 0 {
            break;
        }
        let (child_first, child_last) = span(child, left);
        (first, last) = (first.min(child_first), last.max(child_last));
    }
    (first, last)
}

/// The entries of a part.
#[derive(Default)]
struct PartEntries {
    by_line: BTreeMap<u32, Vec<(Vec<Segment>, bool)>>,
    count: usize,
}

impl PartEntries {
    fn of(file: &DataFile, roots: &Range<usize>) -> PartEntries {
        let mut entries = PartEntries::default();
        entries.add(file.value(), file.lines(), roots, &mut Vec::new());
        entries
    }

    /// Adds an entry and, of the items or entries in it, those at some positions.
    fn add(&mut self, value: &Value, marks: &Marks, positions: &Range<usize>, path: &mut Vec<Segment>) {
        if marks.line > 0 && !path.is_empty() {
            let is_text = matches!(value, Value::String(text) if text.contains('\n'));
            self.by_line.entry(marks.line).or_default().push((path.clone(), is_text));
        }
        self.count += 1;
        let mut child = |segment: Segment, value: &Value, marks: Option<&Marks>| {
            if let Some(marks) = marks.filter(|_| self.count < MAX_ENTRIES) {
                path.push(segment);
                self.add(value, marks, &(0..usize::MAX), path);
                path.pop();
            }
        };
        // Each part begins at its position, so that all parts together cost no more than all entries.
        match value {
            Value::Hash(hash) => {
                for at in positions.clone() {
                    let Some((key, value)) = hash.entry_at(at) else { break };
                    child(Segment::Key(key.clone()), value, marks.children.get(at));
                }
            }
            Value::Array(items) => {
                for at in positions.clone() {
                    let Some(item) = items.get(at) else { break };
                    child(Segment::Index(at), item, marks.children.get(at));
                }
            }
            _ => {}
        }
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
