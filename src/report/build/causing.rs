//! The lines that cause some changes, in as few ranges as possible.

use std::collections::BTreeSet;

use crate::diagnostic::Place;
use crate::report::{ChangedLines, Effect, FileChange, KeyChange, NoEffect, Report, Side, UnknownEffect};

/// Lines of a file, or the file as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::report) struct Range {
    /// The first line.
    pub(in crate::report) place: Place,
    /// The last line.
    pub(in crate::report) last: Option<u32>,
    /// True if the commit has it, false if it was removed.
    pub(in crate::report) is_there: bool,
    /// The change of the file as a whole.
    pub(in crate::report) file: FileChange,
}

impl Range {
    /// Returns a range of one line.
    pub(in crate::report) fn line(place: &Place, is_there: bool) -> Range {
        Range { place: place.clone(), last: place.line, is_there, file: FileChange::Edited }
    }

    /// Returns the range of changed lines.
    pub(in crate::report) fn of(lines: &ChangedLines) -> Range {
        let is_there = lines.side == Side::After;
        Range { place: lines.place.clone(), last: Some(lines.last), is_there, file: lines.file }
    }

    /// Returns a text such as `data/common.yaml:3-7`, or `:3-7` if readers know the file.
    pub(in crate::report) fn text(&self, knows_file: bool) -> String {
        let first = match self.place.line {
            Some(line) if knows_file => format!(":{line}"),
            _ => self.place.to_string(),
        };
        match self.last {
            Some(last) if self.place.line.is_some_and(|first| first < last) => format!("{first}-{last}"),
            _ => first,
        }
    }
}

/// Returns the known lines that cause `changes`, by file. Removed lines are left out for files with added lines among
/// them, since readers see both together.
pub(in crate::report) fn causing<'r>(report: &Report, changes: impl IntoIterator<Item = &'r KeyChange>) -> Vec<Range> {
    let positions: BTreeSet<usize> = changes.into_iter().flat_map(|change| &change.lines).flatten().copied().collect();
    let lines: Vec<&ChangedLines> = positions.into_iter().filter_map(|at| report.lines.get(at)).collect();
    let added: BTreeSet<&str> =
        lines.iter().filter(|lines| lines.side == Side::After).map(|lines| &*lines.place.path).collect();
    let mut ranges: Vec<Range> = Vec::new();
    for lines in lines.into_iter().filter(|lines| lines.side == Side::After || !added.contains(&*lines.place.path)) {
        let range = Range::of(lines);
        match ranges.last_mut() {
            Some(last) if last.is_followed_by(&range) => last.last = range.last,
            _ => ranges.push(range),
        }
    }
    ranges
}

impl Report {
    /// Returns the line of the later revision to mark for an effect, always one that the commit changed: that of
    /// `origin` if the commit changed it, and otherwise the first that causes the effect. There is none if the cause
    /// is a removed line, or unknown.
    pub(crate) fn line_to_mark(&self, causing: Option<&[usize]>, origin: Option<&Place>) -> Option<Place> {
        let causing = causing.map(|all| all.iter().filter_map(|at| self.lines.get(*at)));
        let mut added = causing.into_iter().flatten().filter(|lines| lines.side == Side::After).peekable();
        let is_known = added.peek().is_some();
        let origin = origin.filter(|place| self.has_changed(place));
        origin.cloned().or_else(|| if is_known { added.next().map(|lines| lines.place.clone()) } else { None })
    }

    /// Returns true if the commit changed this line of the later revision.
    pub(crate) fn has_changed(&self, place: &Place) -> bool {
        let position = |lines: &ChangedLines| (lines.place.path.clone(), lines.side, lines.place.line);
        let sought = (place.path.clone(), Side::After, place.line.or(Some(u32::MAX)));
        let end = self.lines.partition_point(|lines| position(lines) <= sought);
        let before = end.checked_sub(1).and_then(|at| self.lines.get(at));
        before.is_some_and(|lines| {
            let is_there = lines.side == Side::After && lines.place.path == place.path;
            is_there && place.line.is_none_or(|line| line <= lines.last)
        })
    }
}

/// Returns words to show instead of the lines that cause some changes, if none can be named.
pub(in crate::report) fn unknown_cause<'r>(
    report: &Report,
    mut changes: impl Iterator<Item = &'r KeyChange>,
) -> &'static str {
    let is_cut = |lines: &ChangedLines| matches!(lines.effect, Effect::Unknown(UnknownEffect::NotTraced));
    if report.is_of_facts() {
        "other facts of the nodes"
    } else if report.lines.is_empty() {
        "unknown: no line of data changes, but facts, functions or modules may"
    } else if report.lines.iter().any(is_cut) {
        "unknown: not looked into, since too much changes"
    } else if changes.any(|change| change.lines.is_some()) {
        "unknown: no changed line does it by itself"
    } else {
        "unknown: not traced to a line"
    }
}

impl Range {
    fn is_followed_by(&self, other: &Range) -> bool {
        let next = self.last.map(|last| last + 1);
        self.place.path == other.place.path && self.is_there == other.is_there && next == other.place.line
    }
}

/// The reason why lines have no effect, or why that is not known: words around a place.
pub(in crate::report) struct Reason {
    pub(in crate::report) before: String,
    pub(in crate::report) place: Option<Range>,
    pub(in crate::report) behind: String,
}

impl Reason {
    /// Returns the reason why lines have no effect, or an unknown one.
    pub(in crate::report) fn of(lines: &ChangedLines) -> Reason {
        let Effect::None(idle) = &lines.effect else {
            return Reason { before: lines.words().unwrap_or_default(), place: None, behind: String::new() };
        };
        let (before, place, behind) = idle.parts();
        // The place of the same value is on the other side.
        let is_shadowed = matches!(idle.first.reason, NoEffect::Shadowed(_));
        let side = if is_shadowed { lines.side } else { lines.side.other() };
        let place = place.map(|place| Range::line(place, side == Side::After));
        Reason { before: before.to_owned(), place, behind }
    }
}
