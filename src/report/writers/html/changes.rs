//! The panels of groups: each change with both sides of its differences side by side.

use std::cell::Cell;

use maud::{Markup, html};

use super::nodes::{self, ChangedNodes};
use super::{Links, lines, linked};
use crate::diff::{ChangeKind, Diff};
use crate::hiera::Outcome;
use crate::report::build::causing::unknown_cause;
use crate::report::words::by_node::{ByNode, Extent, NodeValue};
use crate::report::words::detail::{self, DetailLine, Mark, Room};
use crate::report::words::node_list;
use crate::report::words::visible::visible;
use crate::report::words::wording::count;
use crate::report::{Group, Item, KeyChange, Leaf, Report};

/// The room for one difference.
const ROOM: Room = Room { columns: 100, lines: 400 };

/// The maximum number of differences shown for one change.
const MAX_LEAVES: usize = 500;

/// The room for the names in the head of a group.
const HEAD_COLUMNS: usize = 100;

/// The maximum number of changes of a group that are shown unfolded, and the minimum number that is worth folding.
const MAX_OPEN: usize = 20;
const MIN_FOLDED: usize = 5;

/// The maximum number of groups in the index.
const MAX_INDEX: usize = 100;

/// Returns an index of the groups, if there are several.
pub(super) fn index(report: &Report) -> Markup {
    let (groups, apart) = report.groups_by_use();
    html! {
        @if groups.len() > 1 || !apart.is_empty() {
            ul.list {
                @for (at, group) in groups.iter().enumerate().take(MAX_INDEX) {
                    @let keys: usize = group.items.iter().map(|item| item.keys).sum();
                    li {
                        a href={ "#group-" (at + 1) } { (node_list::heading(report, group, HEAD_COLUMNS)) }
                        span.quiet { ": " (count(keys, "key")) }
                    }
                }
                @if let Some(more @ 1..) = groups.len().checked_sub(MAX_INDEX) { li.quiet { (count(more, "more group")) } }
                @if let Some(heading) = report.apart_heading() { li { a href="#apart" { (heading) } } }
            }
        }
    }
}

/// Divides the room for values by node: one change may take a quarter of what is left.
const SHARE_DIVISOR: usize = 4;

/// Returns the panel of the group at a position. Its values by node take up to about `room` characters, and what they
/// use is subtracted from `room`.
pub(super) fn group(
    report: &Report,
    (at, group): (usize, &Group),
    nodes: Option<&ChangedNodes>,
    links: &dyn Links,
    room: &Cell<usize>,
) -> Markup {
    let is_long = group.items.len() >= MAX_OPEN + MIN_FOLDED;
    let (open, folded) = group.items.split_at(if is_long { MAX_OPEN } else { group.items.len() });
    html! {
        section.panel id={ "group-" (at + 1) } data-nodes=[nodes.map(|nodes| nodes.numbers(&group.nodes))] {
            div.head {
                span.who { (node_list::heading(report, group, HEAD_COLUMNS)) }
                @if nodes.is_some() { div.found.quiet hidden {} }
            }
            @for item in open { (change(report, item, links, room)) }
            @if !folded.is_empty() {
                details.rest {
                    summary { (count(folded.len(), "more change")) }
                    @for item in folded { (change(report, item, links, room)) }
                }
            }
            @for note in report.use_notes(&group.items) { div.body.quiet { (note) } }
            (nodes::list(report, &group.nodes, links))
        }
    }
}

fn change(report: &Report, item: &Item, links: &dyn Links, room: &Cell<usize>) -> Markup {
    let change = &*report.shown(item);
    let ranges = lines::ranges(report, report.first(item));
    // If a single range causes everything, it is shown once, and not again at each difference.
    let shown_range = match &ranges[..] {
        [range] => range.text(false),
        _ => String::new(),
    };
    let is_alone = matches!(&change.leaves[..], [leaf] if leaf.change.path().is_none_or(|path| path.0.is_empty()));
    html! {
        div.change {
            span class={ "word " (word_class(change.kind)) } { (report.label(change)) }
            (key(&change.key, links))
            @if item.keys > 1 {
                p.quiet { (count(item.keys, "key")) ": " @for (at, of) in report.keys_of(item).into_iter().enumerate() {
                    @if at > 0 { ", " } (linked(links.key(of), &html! { (visible(of)) }))
                } }
            }
            @if change.leaves.is_empty() {
                (sides(&detail::outcomes(change, detail::varying_sides(report, item), ROOM.columns, ROOM)))
            }
            @for leaf in change.leaves.iter().take(MAX_LEAVES) { (difference(report, (change, leaf), is_alone, &shown_range)) }
            @if let Some(more @ 1..) = change.leaves.len().checked_sub(MAX_LEAVES) {
                p.quiet { (count(more, "more difference")) }
            }
            (by_node(report, item, room))
            (lines::causes(&ranges, links))
            @if ranges.is_empty() && change.leaves.iter().all(|leaf| leaf.places(report).is_none()) && !has_place(change) {
                p.quiet { (unknown_cause(report, std::iter::once(report.first(item)))) }
            }
        }
    }
}

fn key(key: &str, links: &dyn Links) -> Markup {
    html! { code.key { (linked(links.key(key), &html! { (visible(key)) })) } }
}

/// Returns true for an error with a place.
fn has_place(change: &KeyChange) -> bool {
    matches!(change.outcome.after.as_deref(), Some(Outcome::Failed(error)) if error.place.is_some())
}

/// Returns the values of an item on other nodes, folded.
fn by_node(report: &Report, item: &Item, room: &Cell<usize>) -> Markup {
    let Some(list) = report.by_node(item, Extent::whole(room.get() / SHARE_DIVISOR, ROOM)) else { return html! {} };
    let ByNode { note, values, characters, .. } = &list;
    room.set(room.get().saturating_sub(*characters));
    let value = |value: &NodeValue| {
        html! {
            @match &value.lines[..] {
                [line] if line.mark == Mark::Both => p { (value.nodes) ": " code { (line.text) } },
                lines => { p { (value.nodes) ":" } (sides(lines)) }
            }
        }
    };
    html! {
        p.quiet { "(" (note) ")" }
        @if !values.is_empty() {
            details.values {
                summary { (count(values.len(), "other value")) }
                @for one in values { (value(one)) }
                @if let Some(rest) = list.rest(report) { p { b { (rest) } } }
            }
        } @else if let Some(rest) = list.rest(report) { p { b { (rest) } } }
    }
}

fn difference(report: &Report, (change, leaf): (&KeyChange, &Leaf), is_alone: bool, shown_range: &str) -> Markup {
    let places = leaf.places(report).filter(|places| *places != visible(shown_range));
    html! {
        div.leaf {
            div.at {
                @if !is_alone { code { (visible(&leaf.path(change))) } " " }
                @if let Some(places) = places { span.quiet { (places) } " " }
                @if let Some(note) = detail::note(&leaf.change) { span.quiet { "(" (note) ")" } }
            }
            (sides(&detail::lines(&leaf.change, ROOM)))
        }
    }
}

/// Returns the lines of a difference: those that were removed on the left, those that were added on the right.
fn sides(lines: &[DetailLine]) -> Markup {
    html! {
        div.sides {
            @for row in rows(lines) {
                (cell("before", row.before))
                (cell("after", row.after))
            }
        }
    }
}

fn cell(side: &str, line: Option<&DetailLine>) -> Markup {
    let class = match line.map(|line| line.mark) {
        None => "blank",
        Some(Mark::Both) => "both",
        Some(Mark::Omitted) => "quiet",
        Some(Mark::Removed) => "removed",
        Some(Mark::Added) => "added",
        Some(Mark::Failed) => "failed",
    };
    html! { div class={ "side " (side) " " (class) } { @if let Some(line) = line { (line.text) } } }
}

/// Returns the lines in rows: each removed line is next to the line that replaces it.
fn rows(lines: &[DetailLine]) -> Vec<Diff<Option<&DetailLine>>> {
    let mut rows: Vec<Diff<Option<&DetailLine>>> = Vec::new();
    // The first row that has nothing on the right yet.
    let mut open = 0;
    for (at, line) in lines.iter().enumerate() {
        match line.mark {
            Mark::Removed => {
                if at > 0 && lines[at - 1].mark != Mark::Removed {
                    open = rows.len();
                }
                rows.push(Diff { before: Some(line), after: None });
            }
            Mark::Added | Mark::Failed => {
                if open == rows.len() {
                    rows.push(Diff { before: None, after: Some(line) });
                } else {
                    rows[open].after = Some(line);
                }
                open += 1;
            }
            Mark::Both | Mark::Omitted => {
                rows.push(Diff { before: Some(line), after: Some(line) });
                open = rows.len();
            }
        }
    }
    rows
}

fn word_class(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added | ChangeKind::Recovered => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Changed | ChangeKind::Reordered => "changed",
        ChangeKind::Failed | ChangeKind::ErrorChanged => "alarm",
    }
}
