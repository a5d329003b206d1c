//! The panels of groups: each change with both sides of its differences beside each other.

use maud::{Markup, html};

use super::nodes::{self, ChangedNodes};
use super::{Options, lines};
use crate::diff::{ChangeKind, Diff};
use crate::report::detail::{self, DetailLine, Mark, Room};
use crate::report::visible::visible;
use crate::report::wording::count;
use crate::report::{Group, Item, KeyChange, Leaf, Report, node_list};

/// The room for one difference.
const ROOM: Room = Room { columns: 100, lines: 400 };

/// The most differences of one change.
const MAX_LEAVES: usize = 500;

/// The room for the names in the head of a group.
const HEAD_COLUMNS: usize = 100;

/// Returns the panel of a group.
pub(super) fn group(report: &Report, group: &Group, nodes: &ChangedNodes, options: &Options) -> Markup {
    html! {
        section.panel data-nodes=(nodes.numbers(&group.nodes)) {
            div.head {
                span.who { (node_list::heading(report, group, HEAD_COLUMNS)) }
                div.found.quiet hidden {}
            }
            @for item in &group.items { (change(report, item, options)) }
            (nodes::list(report, &group.nodes))
        }
    }
}

fn change(report: &Report, item: &Item, options: &Options) -> Markup {
    let change = &*report.shown(item);
    let is_alone = matches!(&change.leaves[..], [leaf] if leaf.change.path().is_none_or(|path| path.0.is_empty()));
    html! {
        div.change {
            span class={ "word " (word_class(change.kind)) } { (change.label()) }
            code.key { (visible(&change.key)) }
            @if item.keys > 1 {
                p.quiet { (count(item.keys, "key")) ": " (visible(&report.keys_of(item).join(", "))) }
            }
            @if change.leaves.is_empty() {
                (sides(&detail::outcomes(change, detail::varying_sides(report, item), ROOM.columns, ROOM)))
            }
            @for leaf in change.leaves.iter().take(MAX_LEAVES) { (difference(change, leaf, is_alone)) }
            @if let Some(more @ 1..) = change.leaves.len().checked_sub(MAX_LEAVES) {
                p.quiet { (count(more, "more difference")) }
            }
            @if let Some(note) = item.note() { p.quiet { "(" (note) ")" } }
            (lines::causes(report, report.first(item), options))
        }
    }
}

fn difference(change: &KeyChange, leaf: &Leaf, is_alone: bool) -> Markup {
    html! {
        div.leaf {
            div.at {
                @if !is_alone { code { (visible(&leaf.path(change))) } " " }
                @if let Some(places) = leaf.places() { span.quiet { (places) } " " }
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

/// Returns the lines in rows: what was removed stands beside what was added for it.
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
