//! The table: which nodes change, what changes, and where it comes from.

use super::Options;
use super::document::{Block, Line, Piece, Section, code, name, row_markdown, strong};
use super::escape::characters;
use super::links::{MAX_CHANGES, link, places};
use crate::diagnostic::Place;
use crate::diff::{Diff, LeafKind};
use crate::hiera::Outcome;
use crate::report::build::causing::{causing, unknown_cause};
use crate::report::words::by_node::{ByNode, Extent, NodeValue};
use crate::report::words::detail;
use crate::report::words::node_list;
use crate::report::words::visible::{ELLIPSIS, shorten, visible};
use crate::report::words::wording::{count, number};
use crate::report::{Cause, Group, Item, KeyChange, LeafFold, Report, Similarity};
use crate::value::Segment;

/// The maximum number of rows, and of lines in one row.
const MAX_ROWS: usize = 100;
const MAX_ITEMS: usize = 6;
/// The maximum widths, in columns, of a description of nodes, of both sides of a difference, and of an error.
pub(super) const MAX_WHO: usize = 80;
const MAX_VALUES: usize = 100;
const MAX_ERROR: usize = 120;
/// The maximum number of keys shown for one cause.
const MAX_KEYS: usize = 3;

/// The room for the head of a table, or for a fold around it.
const FRAME: usize = 40;

/// Returns the table with a row for each cause and each group, in at most `budget` characters, and the number of rows
/// that fit.
pub(super) fn table(report: &Report, options: &Options, budget: usize) -> (Option<Block>, usize) {
    rows(report, (&report.causes, report.groups_by_use().0), options, budget)
}

/// Returns the folded table of the groups on nodes whose catalogs do not use the keys, in at most `budget`
/// characters.
pub(super) fn apart(report: &Report, options: &Options, budget: usize) -> Option<Section> {
    let (others, groups) = report.groups_by_use();
    let heading = report.apart_heading()?;
    let is_open = others.is_empty() && report.causes.is_empty();
    let (table, _) = rows(report, (&[], groups), options, budget);
    Some(Section::Fold { summary: heading.into(), is_open, blocks: table.into_iter().collect() })
}

fn rows(
    report: &Report,
    (causes, groups): (&[Cause], &[Group]),
    options: &Options,
    budget: usize,
) -> (Option<Block>, usize) {
    if groups.is_empty() && causes.is_empty() {
        return (None, 0);
    }
    let of_causes = causes.iter().map(|cause| cause_row(report, cause));
    let all = of_causes.chain(groups.iter().map(|group| group_row(report, group)));
    let mut left = budget.saturating_sub(FRAME);
    let mut rows = Vec::new();
    for row in all {
        let length = characters(&row_markdown(&row, options));
        if rows.len() == MAX_ROWS || length > left {
            let (shown, more) = (rows.len(), left_out((causes, groups), rows.len()));
            rows.push([ELLIPSIS.to_string().into(), more.into(), Line::default()]);
            return (Some(Block::Table(rows)), shown);
        }
        left -= length;
        rows.push(row);
    }
    let shown = rows.len();
    (Some(Block::Table(rows)), shown)
}

/// Returns the number of rows left out after the first `shown`, and the number of their keys.
fn left_out((causes, groups): (&[Cause], &[Group]), shown: usize) -> String {
    let groups = groups.iter().skip(shown.saturating_sub(causes.len()));
    let causes = causes.iter().skip(shown);
    let rows = causes.len() + groups.len();
    let keys: usize = causes.map(|cause| cause.keys.len()).sum();
    let keys = keys + groups.flat_map(|group| &group.items).map(|item| item.keys).sum::<usize>();
    format!("{} of {}", count(rows, "more group"), count(keys, "key"))
}

fn cause_row(report: &Report, cause: &Cause) -> [Line; 3] {
    let nodes = if cause.nodes.is_singleton() && !report.is_of_nodes() {
        code(node_list::names(report, &cause.nodes, MAX_WHO))
    } else {
        cause.share(report).into()
    };
    let event = cause.event(report);
    let keys = keys(cause.keys.iter().map(|key| &**key), MAX_KEYS);
    let error = shorten(&visible(cause.error.text.visible()), MAX_ERROR);
    let place = |place: &Place| {
        let text = place.to_string();
        if cause.is_new { link(place, &text) } else { name(&text) }
    };
    let place = cause.error.place.as_ref().map(place);
    let more = match cause.places.len() {
        0 | 1 => String::new(),
        places => format!(" and {}", count(places - 1, "more place")),
    };
    let what = strong(event).and(": ").and(keys).and(line_break()).and(error);
    let unknown = || unknown_cause(report, cause.changes.iter().map(|at| &report.changes[*at])).into();
    [nodes, what, place.unwrap_or_else(unknown).and(more)]
}

fn line_break() -> Line {
    Line::of(Piece::Break)
}

/// Returns some keys, and the number of the others.
pub(super) fn keys<'k>(all: impl ExactSizeIterator<Item = &'k str>, most: usize) -> Line {
    let more = all.len().saturating_sub(most);
    let shown = Line::joined(all.take(most).map(name), ", ");
    if more == 0 { shown } else { shown.and(format!(" and {} more", number(more))) }
}

fn group_row(report: &Report, group: &Group) -> [Line; 3] {
    let mut what: Vec<Line> = group.items.iter().take(MAX_ITEMS).map(|item| self::what(report, item)).collect();
    let more: usize = group.items.iter().skip(MAX_ITEMS).map(|item| item.keys).sum();
    if more > 0 {
        what.push(format!("{ELLIPSIS} {}", count(more, "more key")).into());
    }
    what.extend(report.use_notes(&group.items).into_iter().map(|note| Line::of(Piece::Small(note))));
    [who(report, group, narrow_code), Line::joined(what, line_break()), places(report, group)]
}

/// The width beyond which each alternative of a description has its own line.
const MAX_NARROW: usize = 40;

/// Formats text as code. Long text with alternatives takes several lines, since it would push the other cells out of
/// view.
fn narrow_code(text: &str) -> Line {
    if text.chars().count() <= MAX_NARROW {
        return code(text);
    }
    Line::joined(text.split('|').map(code), Line::from(" or").and(line_break()))
}

/// Returns the nodes of a group, with their number if there are several: `` `site=berlin`, `role=web` (28 nodes)``.
pub(super) fn who(report: &Report, group: &Group, code: impl Fn(&str) -> Line) -> Line {
    // The verdict gives the number of all nodes.
    let nodes = count(group.nodes.len(), "node");
    if let Some(who) = &group.who {
        return Line::joined(who.written(|term| code(&term.to_string()), ", "), "").and(format!(" ({nodes})"));
    }
    match node_list::which(report, group, MAX_WHO) {
        Some((_, name)) if group.nodes.is_singleton() => code(&name),
        Some((but, names)) => Line::from(but).and(code(&names)).and(format!(" ({nodes})")),
        None => report.share_of(group.nodes.len()).into(),
    }
}

/// Returns a change in short: its key, and the values if they are short.
fn what(report: &Report, item: &Item) -> Line {
    let change = &*report.shown(item);
    let place = match &item.leaves[..] {
        [fold] => fold.place(change),
        _ => change.key.to_string(),
    };
    let place = name(&place);
    let keys = if item.keys > 1 { format!(" in {}", count(item.keys, "key")) } else { String::new() };
    let label = match (report.label(change), &item.leaves[..]) {
        ("changed", [fold]) => match change.leaves[fold.first].change.kind {
            LeafKind::Added => "added ".into(),
            LeafKind::Removed => "removed ".into(),
            _ => Line::default(),
        },
        ("changed", _) => Line::default(),
        (label, _) if change.kind.is_error() => strong(label).and(" "),
        (label, _) => format!("{label} ").into(),
    };
    let values = values(report, change, item).map(|values| Line::from(": ").and(values)).unwrap_or_default();
    label.and(place).and(keys).and(values)
}

/// Returns the values of a change, or the number of its differences.
fn values(report: &Report, change: &KeyChange, item: &Item) -> Option<Line> {
    if change.kind.is_error() {
        let Some(Outcome::Failed(error)) = change.outcome.after.as_deref() else { return None };
        return Some(shorten(&visible(error.text.visible()), MAX_ERROR).into());
    }
    // Positions are not what a reader looks for.
    let is_anywhere = item.similarity == Similarity::ExceptPosition;
    if !is_anywhere && let Some(list) = report.by_node(item, brief(item)) {
        return Some(by_node(change, item, list));
    }
    let [fold] = &item.leaves[..] else {
        return differences(change, &item.leaves);
    };
    let leaf = &change.leaves[fold.first].change;
    let alike = match (fold.count(), is_anywhere) {
        (1, false) => String::new(),
        (1, true) => " (positions differ)".to_owned(),
        (places, _) => format!(" (at {} places)", number(places)),
    };
    if leaf.kind == LeafKind::Reordered {
        return detail::note(leaf).map(|note| (note + &alike).into());
    }
    let Some(sides) = detail::on_one_line(leaf, MAX_VALUES) else {
        return detail::note(leaf).map(|note| (note + &alike).into());
    };
    let values = both_sides(sides)?;
    let note = detail::note(leaf).map(|note| format!(" ({note})")).unwrap_or_default();
    Some(values.and(note + &alike))
}

/// Returns both sides of a difference.
fn both_sides(sides: Diff<Option<String>>) -> Option<Line> {
    match sides {
        Diff { before: Some(before), after: Some(after) } => Some(code(before).and(" → ").and(code(after))),
        Diff { before: Some(one), after: None } | Diff { before: None, after: Some(one) } => Some(code(one)),
        Diff { before: None, after: None } => None,
    }
}

/// The maximum number of other nodes' values in a cell.
const MAX_BY_NODE: usize = 2;

fn brief(item: &Item) -> Extent {
    Extent::brief(if Report::is_alike(item) { 0 } else { MAX_BY_NODE }, MAX_VALUES)
}

/// Returns the values of a change that differ from node to node: some of them, each on a line.
fn by_node(change: &KeyChange, item: &Item, list: ByNode) -> Line {
    if Report::is_alike(item) {
        return list.note.into();
    }
    let more = list.and_more().map(|more| line_break().and(more));
    let shown = match &item.leaves[..] {
        [fold] => detail::on_one_line(&change.leaves[fold.first].change, MAX_VALUES).map(both_sides),
        _ => None,
    };
    let value = |value: NodeValue| {
        let text = value.lines.into_iter().map(|line| line.text).collect::<String>();
        code(value.nodes).and(" ").and(code(text))
    };
    let first = shown.flatten().map(|sides| sides.and(format!(" ({})", list.note)));
    let first = first.unwrap_or_else(|| list.note.clone().into());
    Line::joined(std::iter::once(first).chain(list.values.into_iter().map(value)), line_break())
        .and(more.unwrap_or_default())
}

/// The maximum number of entries or items that a cell names as lost, or as gained, and the maximum width of each in
/// columns.
const MAX_NAMED: usize = 2;
const MAX_ENTRY: usize = 40;

/// Returns what a value loses and gains, and the number of its other differences; `None` if there are none.
fn differences(change: &KeyChange, folds: &[LeafFold]) -> Option<Line> {
    let of_kind = |kind| folds.iter().filter(move |fold| change.leaves[fold.first].change.kind == kind);
    let number_of = |folds: &mut dyn Iterator<Item = &LeafFold>| folds.map(LeafFold::count).sum::<usize>();
    let (all, mut parts, mut named) = (number_of(&mut folds.iter()), Vec::new(), 0);
    for (kind, verb) in [(LeafKind::Removed, "loses"), (LeafKind::Added, "gains")] {
        let entries: Vec<Line> = of_kind(kind).take(MAX_NAMED).map(|fold| entry(change, fold)).collect();
        if entries.is_empty() {
            continue;
        }
        let of_this_kind = number_of(&mut of_kind(kind));
        let more = match number_of(&mut of_kind(kind).skip(MAX_NAMED)) {
            0 => String::new(),
            more => format!(" and {} more", number(more)),
        };
        parts.push(Line::from(format!("{verb} ")).and(Line::joined(entries, ", ")).and(more));
        named += of_this_kind;
    }
    match all - named {
        0 => {}
        rest if named == 0 => parts.push(count(rest, "difference").into()),
        rest => parts.push(count(rest, "other difference").into()),
    }
    (!parts.is_empty()).then(|| Line::joined(parts, "; "))
}

/// Returns an entry of a hash by its path, or an item of an array by its value if that is short.
fn entry(change: &KeyChange, fold: &LeafFold) -> Line {
    let leaf = &change.leaves[fold.first].change;
    let is_item = leaf.path().and_then(|path| path.0.last()).is_some_and(|last| matches!(last, Segment::Index(_)));
    let value = detail::on_one_line(leaf, MAX_ENTRY).and_then(|sides| sides.after.or(sides.before));
    match value {
        Some(value) if is_item && fold.path.is_none() => code(value),
        _ => name(fold.place(change).strip_prefix(&*change.key).unwrap_or_default()),
    }
}

/// The part of a group that its row in the table leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Omission {
    /// Nothing is left unsaid.
    Nothing,
    /// The names of nodes that are only described, or places that contribute to values in addition to the lines that
    /// cause the changes.
    Places,
    /// Values or keys.
    Values,
}

/// Returns true if the row of a cause omits keys or a part of the error.
pub(super) fn is_cause_shortened(cause: &Cause) -> bool {
    let error = visible(cause.error.text.visible());
    cause.keys.len() > MAX_KEYS || cause.places.len() > 1 || shorten(&error, MAX_ERROR) != error
}

/// Returns what the row of a group omits, provided that the table has that row.
pub(super) fn omitted_from_row(report: &Report, group: &Group) -> Omission {
    let which = node_list::which(report, group, MAX_WHO);
    let are_nodes_named = group.who.is_none() && which == node_list::names_of_group(report, group, usize::MAX);
    if group.items.len() > MAX_ITEMS {
        return Omission::Values;
    }
    let causing = causing(report, report.changes_of(group).take(MAX_CHANGES));
    let of_item = |item: &Item| {
        let change = &*report.shown(item);
        let is_by_node = report.differs_by_node(item);
        let ([fold], 1, false, false) = (&item.leaves[..], item.keys, is_by_node, change.kind.is_error()) else {
            return Omission::Values;
        };
        let leaf = &change.leaves[fold.first];
        let are_values_shown =
            leaf.change.kind != LeafKind::Reordered && detail::on_one_line(&leaf.change, MAX_VALUES).is_some();
        let is_from_elsewhere = || {
            let origins = leaf.origins();
            let mut places = [origins.before, origins.after].into_iter().flatten().map(|origin| &origin.place.path);
            places.any(|path| !causing.iter().any(|range| range.place.path == *path))
        };
        match (are_values_shown, are_nodes_named && !leaf.has_behind() && (causing.is_empty() || !is_from_elsewhere()))
        {
            (false, _) => Omission::Values,
            (true, false) => Omission::Places,
            (true, true) => Omission::Nothing,
        }
    };
    group.items.iter().map(of_item).max().unwrap_or(Omission::Values)
}
