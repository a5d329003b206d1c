//! The changed lines of files that no known node reads, as they are written, with both sides together.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::wording::count;
use crate::diagnostic::Place;
use crate::report::{ChangedLines, FileChange, Report, Side};

/// A run of adjacent changed lines.
pub(in crate::report) struct UnreadLines<'r> {
    /// The place of the first line.
    pub(in crate::report) place: &'r Place,
    /// The change of their file as a whole.
    pub(in crate::report) file: FileChange,
    /// The places of equal runs elsewhere.
    pub(in crate::report) others: Vec<&'r Place>,
    /// The lines before the change, then those after it; in pairs if both set the same keys.
    pub(in crate::report) lines: Vec<(Side, &'r str)>,
}

impl UnreadLines<'_> {
    /// Returns the total number of lines at all places.
    pub(in crate::report) fn len(&self) -> usize {
        self.lines.len() * (1 + self.others.len())
    }

    /// Returns a note on the file and the other places, such as ` (new file) and 7 more places`; it may be empty.
    pub(in crate::report) fn more(&self) -> String {
        let file = self.file.words();
        match self.others.len() {
            0 => file.to_owned(),
            others => format!("{file} and {}", count(others, "more place")),
        }
    }

    /// Returns true if the place exists after the commit.
    pub(in crate::report) fn is_there(&self) -> bool {
        self.lines.iter().any(|(side, _)| *side == Side::After)
    }

    /// Returns the sign of a side, as in the output of `diff`.
    pub(in crate::report) fn sign(side: Side) -> char {
        match side {
            Side::Before => '-',
            Side::After => '+',
        }
    }
}

/// Interleaves the lines of both sides if they set the same keys in the same order.
fn in_pairs(lines: Vec<(Side, &str)>) -> Vec<(Side, &str)> {
    let (before, after): (Vec<_>, Vec<_>) = lines.iter().copied().partition(|(side, _)| *side == Side::Before);
    let key = |line: &str| line.split_once(": ").map(|(key, _)| key.to_owned());
    let is_pair = |(one, other): (&(Side, &str), &(Side, &str))| key(one.1).is_some() && key(one.1) == key(other.1);
    if before.len() != after.len() || !before.iter().zip(&after).all(is_pair) {
        return lines;
    }
    before.into_iter().zip(after).flat_map(|(before, after)| [before, after]).collect()
}

impl Report {
    /// Returns the changed lines to show from files that no known node reads, in the order of the files.
    pub(in crate::report) fn unread(&self) -> Vec<UnreadLines<'_>> {
        // The number of unchanged lines above is the same on both sides.
        let mut changed: BTreeMap<(&str, Side), u32> = BTreeMap::new();
        let mut found: BTreeMap<(&str, u32), Vec<&ChangedLines>> = BTreeMap::new();
        for lines in &self.lines {
            let before = changed.entry((&lines.place.path, lines.side)).or_default();
            let above = lines.place.line.unwrap_or(1).saturating_sub(1 + *before);
            *before += u32::try_from(lines.len()).unwrap_or(u32::MAX);
            if !lines.text.is_empty() {
                found.entry((&lines.place.path, above)).or_default().push(lines);
            }
        }
        let mut all: Vec<UnreadLines<'_>> = Vec::new();
        let mut known: HashMap<Vec<(Side, &str)>, usize> = HashMap::new();
        for mut parts in found.into_values() {
            parts.sort_by_key(|lines| lines.side);
            let Some(first) = parts.iter().find(|lines| lines.side == Side::After).or(parts.first()) else { continue };
            let lines = parts.iter().flat_map(|part| part.text.iter().map(|text| (part.side, text.as_str())));
            let lines: Vec<(Side, &str)> = in_pairs(lines.collect());
            match known.entry(lines) {
                Entry::Occupied(at) => all[*at.get()].others.push(&first.place),
                Entry::Vacant(new) => {
                    let lines = new.key().clone();
                    all.push(UnreadLines { place: &first.place, file: first.file, others: Vec::new(), lines });
                    new.insert(all.len() - 1);
                }
            }
        }
        all
    }

    /// Returns the heading above the lines in `unread`.
    pub(in crate::report) fn unread_heading(unread: &[UnreadLines<'_>]) -> String {
        let lines = unread.iter().map(UnreadLines::len).sum();
        let places = unread.iter().flat_map(|part| [part.place].into_iter().chain(part.others.iter().copied()));
        let paths: BTreeSet<&str> = places.map(|place| &*place.path).collect();
        let files = if paths.len() == 1 { "a file".to_owned() } else { count(paths.len(), "file") };
        format!("{} in {files} that no known node reads", count(lines, "changed line"))
    }
}
