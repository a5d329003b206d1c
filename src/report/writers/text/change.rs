//! Lays out the lines of one change.

use anstyle::Style;

use super::page::{self, Line};
use super::{ALARM, BAD, GOOD, HEADING, MAX_LEAVES, MAX_LINES, MOVED, NEW, Options, PLAIN, QUIET};
use crate::diff::{ChangeKind, Diff, LeafChange, LeafKind};
use crate::report::words::by_node::{Extent, NodeValue};
use crate::report::words::detail::{self, DetailLine, Mark, Room};
use crate::report::words::visible::{ELLIPSIS, shorten_middle, visible, wrap};
use crate::report::words::wording::count;
use crate::report::{Item, KeyChange, Leaf, LeafFold, Report};

/// The layout of changes.
pub(super) struct ChangeStyle<'r> {
    report: &'r Report,
    options: Options,
    /// The width of the column of labels.
    label_width: usize,
}

/// The maximum number of lines with the keys of an item, unless everything is shown.
const MAX_KEY_LINES: usize = 2;

/// The maximum number of other nodes' values, unless everything is shown, and the columns kept for the nodes' names.
const MAX_VALUES: usize = 3;
const NAME_COLUMNS: usize = 24;

/// The indent of the lines of a group.
const INDENT: usize = 2;

impl<'r> ChangeStyle<'r> {
    pub(super) fn new(report: &'r Report, options: Options) -> ChangeStyle<'r> {
        let items = report.groups.iter().flat_map(|group| &group.items);
        let label_width = items.map(|item| report.label(report.first(item)).len()).max().unwrap_or(0);
        ChangeStyle { report, options, label_width }
    }

    /// Returns all lines of an item.
    pub(super) fn lines(&self, item: &Item) -> Vec<Line> {
        let mut lines = self.change_lines(&self.report.shown(item), item);
        if item.keys > 1 {
            lines.extend(self.key_lines(item));
        }
        lines.extend(self.other_values(item));
        lines
    }

    /// Returns the lines of the values that an item has on other nodes.
    fn other_values(&self, item: &Item) -> Vec<Line> {
        let columns = self.options.width.saturating_sub(self.key_column() + NAME_COLUMNS);
        let extent = if self.options.full {
            Extent::whole(usize::MAX, self.room(0))
        } else {
            Extent::brief(if Report::is_alike(item) { 0 } else { MAX_VALUES }, columns)
        };
        let Some(by_node) = self.report.by_node(item, extent) else { return Vec::new() };
        let line = |text: &str| Line::new(self.key_column()).add(QUIET, text);
        let mut lines = vec![line(&format!("({})", by_node.note))];
        if Report::is_alike(item) && !self.options.full {
            return lines;
        }
        for value in by_node.values.iter().flat_map(NodeValue::all_lines) {
            lines.push(if value.mark == Mark::Both {
                line(&value.text)
            } else {
                detail_line(self.key_column(), &value)
            });
        }
        lines.extend(by_node.rest(self.report).map(|rest| line(&rest)));
        lines
    }

    /// Returns the lines that name the keys of an item with several.
    fn key_lines(&self, item: &Item) -> Vec<Line> {
        let keys: Vec<_> = self.report.keys_of(item).into_iter().map(visible).collect();
        let columns = self.options.width.saturating_sub(self.key_column());
        let lines = wrap(&format!("{}: {}", count(item.keys, "key"), keys.join(", ")), columns);
        let most = if self.options.full { lines.len() } else { MAX_KEY_LINES };
        let mut shown: Vec<Line> =
            lines.iter().take(most).map(|text| Line::new(self.key_column()).add(QUIET, text.as_str())).collect();
        if lines.len() > most {
            shown.push(Line::new(self.key_column()).add(QUIET, ELLIPSIS.to_string()));
        }
        shown
    }

    fn change_lines(&self, change: &KeyChange, item: &Item) -> Vec<Line> {
        let word = format!("{:<width$}  ", self.report.label(change), width = self.label_width);
        let head = Line::new(INDENT).add(word_style(change.kind), word);
        match &change.leaves[..] {
            [] => self.outcome_lines(head, change, item),
            [leaf] if is_whole(&leaf.change) || is_plain_change(change, leaf) => {
                self.leaf_lines(head, self.key_column(), leaf, &leaf.path(change), change.kind)
            }
            _ => {
                let key = self.shorten_name(&change.key, self.key_column());
                std::iter::once(head.add(HEADING, key)).chain(self.leaves_lines(change, item)).collect()
            }
        }
    }

    fn leaves_lines(&self, change: &KeyChange, item: &Item) -> Vec<Line> {
        // A variant of the change that the item shows may have other differences.
        let is_folded = !self.options.full && item.leaves.len() < change.leaves.len();
        let single = |first| LeafFold { first, others: Vec::new(), path: None };
        let unfolded: Vec<LeafFold> =
            if is_folded { Vec::new() } else { (0..change.leaves.len()).map(single).collect() };
        let folds = if is_folded { &item.leaves } else { &unfolded };
        let shown = if self.options.full { folds.len() } else { MAX_LEAVES };
        let mut lines = Vec::new();
        for fold in folds.iter().take(shown) {
            let leaf = &change.leaves[fold.first];
            let (mark, style) = mark(leaf.change.kind);
            let start = Line::new(self.key_column()).add(style, format!("{mark} "));
            let place = fold.path.as_ref().map(|_| fold.place(change));
            lines.extend(self.leaf_lines(
                start,
                self.key_column() + 2,
                leaf,
                &place.unwrap_or_else(|| leaf.path(change)),
                change.kind,
            ));
            if fold.count() > 1 {
                lines.push(
                    Line::new(self.key_column() + 2).add(QUIET, format!("(at {})", count(fold.count(), "place"))),
                );
            }
        }
        if folds.len() > shown {
            let left: usize = folds[shown..].iter().map(LeafFold::count).sum();
            let more = format!("{ELLIPSIS} {}", count(left, "more difference"));
            lines.push(Line::new(self.key_column()).add(QUIET, more));
        }
        lines
    }

    /// Returns the column in which keys begin.
    fn key_column(&self) -> usize {
        INDENT + self.label_width + 2
    }

    /// Shortens a name to the columns left after `indent`.
    fn shorten_name(&self, name: &str, indent: usize) -> String {
        let columns = if self.options.full { usize::MAX } else { self.options.width.saturating_sub(indent) };
        shorten_middle(&visible(name), columns)
    }

    fn room(&self, indent: usize) -> Room {
        if self.options.full {
            return Room { columns: usize::MAX, lines: usize::MAX };
        }
        Room { columns: self.options.width.saturating_sub(indent), lines: MAX_LINES }
    }

    /// Lays out a difference after `start` and, if it needs more room, below it from column `indent` on.
    fn leaf_lines(&self, start: Line, indent: usize, leaf: &Leaf, place: &str, kind: ChangeKind) -> Vec<Line> {
        let path = self.shorten_name(place, start.width());
        let start = start.add(HEADING, path);
        let origin = leaf.places(self.report);
        let note = detail::note(&leaf.change);
        // A new order that is shown on one line needs no note.
        let aside = note.as_ref().filter(|_| leaf.change.kind != LeafKind::Reordered);
        let aside = aside.map(|note| format!("  ({note})")).unwrap_or_default();
        let is_order = leaf.change.kind == LeafKind::Reordered && kind != ChangeKind::Reordered;
        let colon = if is_order { ": order " } else { ": " };
        let room = self.options.width.saturating_sub(start.width() + colon.len() + page::width(&aside));
        if let Some(values) = detail::on_one_line(&leaf.change, room) {
            let line = add_values(start.add(PLAIN, colon), values);
            return vec![line.add(QUIET, aside).with_origin(origin)];
        }
        let head = note.map_or(start.clone(), |note| start.add(QUIET, format!(": {note}")));
        let mut lines = vec![head.with_origin(origin)];
        let details = detail::lines(&leaf.change, self.room(indent + 2));
        lines.extend(details.iter().map(|line| detail_line(indent, line)));
        lines
    }

    /// Lays out a change that is, or was, an error.
    fn outcome_lines(&self, head: Line, change: &KeyChange, item: &Item) -> Vec<Line> {
        let indent = self.key_column();
        let room = self.room(indent + 2);
        let columns = self.options.width.saturating_sub(indent + 2);
        let various = detail::varying_sides(self.report, item);
        let details = detail::outcomes(change, various, columns, room);
        let lines = details.iter().map(|line| detail_line(indent, line));
        std::iter::once(head.add(HEADING, self.shorten_name(&change.key, indent))).chain(lines).collect()
    }
}

/// Returns true if a difference is between whole values.
fn is_whole(change: &LeafChange) -> bool {
    change.path().is_none_or(|path| path.0.is_empty())
}

/// Returns true if a change and its only difference can share a line.
fn is_plain_change(change: &KeyChange, leaf: &Leaf) -> bool {
    change.kind == ChangeKind::Changed && leaf.change.kind == LeafKind::Changed
}

fn add_values(line: Line, values: Diff<Option<String>>) -> Line {
    match (values.before, values.after) {
        (Some(before), Some(after)) => line.add(BAD, before).add(QUIET, " -> ").add(GOOD, after),
        (Some(before), None) => line.add(BAD, before),
        (None, Some(after)) => line.add(GOOD, after),
        (None, None) => line,
    }
}

fn detail_line(indent: usize, line: &DetailLine) -> Line {
    let (mark, style) = match line.mark {
        Mark::Both => ("  ", PLAIN),
        Mark::Removed => ("- ", BAD),
        Mark::Added => ("+ ", GOOD),
        Mark::Failed => ("! ", ALARM),
        Mark::Omitted => ("  ", QUIET),
    };
    Line::new(indent).add(style, format!("{mark}{}", line.text))
}

fn word_style(kind: ChangeKind) -> Style {
    match kind {
        ChangeKind::Added | ChangeKind::Recovered => GOOD,
        ChangeKind::Removed => BAD,
        ChangeKind::Changed => NEW,
        ChangeKind::Reordered => MOVED,
        ChangeKind::Failed | ChangeKind::ErrorChanged => ALARM,
    }
}

fn mark(kind: LeafKind) -> (char, Style) {
    match kind {
        LeafKind::Added => ('+', GOOD),
        LeafKind::Removed => ('-', BAD),
        LeafKind::Changed | LeafKind::Sealed | LeafKind::Unsealed => ('~', NEW),
        LeafKind::Reordered => ('~', MOVED),
    }
}
