//! The impact of a change at a glance: groups of nodes by the beginnings of keys.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::diff::ChangeKind;
use crate::report::{Group, KeyChange, Report, count};
use crate::visible::visible;

/// The maximum number of rows and columns. The rest has one more.
const MAX_ROWS: usize = 12;
const MAX_COLUMNS: usize = 8;

/// The minimum number of changes for which a table is worth its space.
const MIN_CHANGES: usize = 4;

/// The column of the beginnings that have none of their own.
const OTHERS: &str = "others";

/// The changes of one kind, by letter.
type Cell = BTreeMap<char, usize>;

pub(super) fn view(report: &Report) -> Markup {
    let rows: Vec<(&Group, BTreeMap<&str, Cell>)> =
        report.groups.iter().take(MAX_ROWS).map(|group| (group, cells(report, group))).collect();
    let columns = columns(&rows);
    let changes: usize = rows.iter().flat_map(|(_, cells)| cells.values()).flat_map(BTreeMap::values).sum();
    if changes < MIN_CHANGES || rows.len() * columns.len() < 2 {
        return html! {};
    }
    html! {
        table.matrix {
            caption { "Which nodes, which keys: " b { "a" } "dded, " b { "c" } "hanged, " b { "r" } "emoved, " b { "f" } "ailing" }
            thead { tr { th scope="col" { "Nodes" } @for column in &columns { th scope="col" { (visible(column)) } } } }
            tbody {
                @for (at, (group, cells)) in rows.iter().enumerate() {
                    tr {
                        th scope="row" { a href={ "#group-" (at + 1) } { (visible(&report.heading_of(group))) } }
                        @for column in &columns { (cell(column, &gathered(cells, column, &columns))) }
                    }
                }
            }
        }
        @if let Some(more @ 1..) = report.groups.len().checked_sub(MAX_ROWS) { p.quiet { "and " (count(more, "more group")) } }
    }
}

/// A cell, with its column for those who see no head of the table.
fn cell(column: &str, kinds: &Cell) -> Markup {
    let class = if kinds.contains_key(&'f') {
        "alarm"
    } else if kinds.contains_key(&'r') {
        "removed"
    } else if kinds.contains_key(&'c') {
        "changed"
    } else {
        "added"
    };
    html! {
        @if kinds.is_empty() {
            td {}
        } @else {
            td class=(class) { span.column { (visible(column)) ": " } @for (letter, number) in kinds { span.kind { (number) (letter) } " " } }
        }
    }
}

/// Returns the numbers of changes of a group by the beginnings of keys and by kind.
fn cells<'r>(report: &'r Report, group: &Group) -> BTreeMap<&'r str, Cell> {
    let mut cells: BTreeMap<&str, Cell> = BTreeMap::new();
    for change in group.items.iter().flat_map(|item| std::iter::once(&item.first).chain(&item.others)) {
        let Some(change) = report.changes.get(*change) else { continue };
        *cells.entry(beginning(&change.key)).or_default().entry(letter(change)).or_default() += 1;
    }
    cells
}

/// Returns the part of a key that names its module or, without one, the key.
fn beginning(key: &str) -> &str {
    key.split("::").next().unwrap_or(key)
}

fn letter(change: &KeyChange) -> char {
    match change.kind {
        ChangeKind::Added => 'a',
        ChangeKind::Removed => 'r',
        ChangeKind::Changed | ChangeKind::Reordered | ChangeKind::Recovered => 'c',
        ChangeKind::Failed | ChangeKind::ErrorChanged => 'f',
    }
}

/// Returns the beginnings with most changes, in order, with a column for the others.
fn columns<'r>(rows: &[(&Group, BTreeMap<&'r str, Cell>)]) -> Vec<&'r str> {
    let mut sums: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, cell) in rows.iter().flat_map(|(_, cells)| cells) {
        *sums.entry(name).or_default() += cell.values().sum::<usize>();
    }
    let mut names: Vec<&str> = sums.keys().copied().collect();
    names.sort_by_key(|name| std::cmp::Reverse(sums[name]));
    let has_others = names.len() > MAX_COLUMNS;
    names.truncate(MAX_COLUMNS);
    names.sort_unstable();
    names.extend(has_others.then_some(OTHERS));
    names
}

/// Returns the cell of a column.
fn gathered(cells: &BTreeMap<&str, Cell>, column: &str, columns: &[&str]) -> Cell {
    let belongs = |name: &str| name == column || column == OTHERS && !columns.contains(&name);
    let mut all = Cell::new();
    for (letter, number) in cells.iter().filter(|(name, _)| belongs(name)).flat_map(|(_, cell)| cell) {
        *all.entry(*letter).or_default() += number;
    }
    all
}
