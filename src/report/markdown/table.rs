//! The table: whom the changes hit, what they are, and where they come from.

use std::fmt::Write as _;

use super::Options;
use super::escape::{characters, code, html, name};
use super::links::{link, places};
use crate::diff::{Diff, LeafKind};
use crate::hiera::Outcome;
use crate::report::detail;
use crate::report::visible::{ELLIPSIS, shorten, visible};
use crate::report::wording::{count, number, share};
use crate::report::{Cause, Count, Group, Item, KeyChange, Report, Similarity, node_list};

/// The most rows, and the most lines of one.
const MAX_ROWS: usize = 100;
const MAX_ITEMS: usize = 6;
/// The most columns of a description of nodes, of both sides of a difference, and of an error.
pub(super) const MAX_WHO: usize = 80;
const MAX_VALUES: usize = 48;
const MAX_ERROR: usize = 120;
/// The most keys of one cause.
const MAX_KEYS: usize = 3;

/// Returns the table with a row for each cause and each group, in at most `budget` characters.
pub(super) fn table(report: &Report, options: &Options, budget: usize) -> String {
    if report.groups.is_empty() && report.causes.is_empty() {
        return String::new();
    }
    let mut text = "\n| who | what | why |\n|---|---|---|\n".to_owned();
    let causes = report.causes.iter().map(|cause| cause_row(report, cause, options));
    let rows = causes.chain(report.groups.iter().map(|group| group_row(report, group, options)));
    let mut left = budget.saturating_sub(characters(&text));
    for (shown, row) in rows.enumerate() {
        let length = characters(&row);
        if shown == MAX_ROWS || length > left {
            _ = writeln!(text, "| {ELLIPSIS} | {} | |", left_out(report, shown));
            break;
        }
        left -= length;
        text.push_str(&row);
    }
    text
}

/// Returns the number of the rows that are left out behind the first `shown`, and of their keys.
fn left_out(report: &Report, shown: usize) -> String {
    let causes = report.causes.iter().skip(shown);
    let groups = report.groups.iter().skip(shown.saturating_sub(report.causes.len()));
    let rows = causes.len() + groups.len();
    let keys: usize = causes.map(|cause| cause.keys.len()).sum();
    let keys = keys + groups.flat_map(|group| &group.items).map(|item| item.keys).sum::<usize>();
    format!("{} of {}", count(rows, "more group"), count(keys, "key"))
}

fn cause_row(report: &Report, cause: &Cause, options: &Options) -> String {
    let nodes = share(Count { total: report.nodes.total, changed: cause.nodes.len() });
    let heading = cause.heading(report);
    let verb = heading.split(" on ").next().unwrap_or_default();
    let keys = keys(cause.keys.iter().map(|key| &**key), MAX_KEYS);
    let error = html(&shorten(&visible(cause.error.text.visible()), MAX_ERROR));
    let place =
        cause.error.place.as_ref().map(|place| {
            if cause.is_new { link(place, &place.to_string(), options) } else { name(&place.to_string()) }
        });
    let more = match cause.places.len() {
        0 | 1 => String::new(),
        places => format!(" and {}", count(places - 1, "more place")),
    };
    format!("| {nodes} | **{verb}**: {keys}<br>{error} | {}{more} |\n", place.unwrap_or_default())
}

/// Returns some keys, and the number of the others.
pub(super) fn keys<'k>(all: impl ExactSizeIterator<Item = &'k str>, most: usize) -> String {
    let total = all.len();
    let shown: Vec<String> = all.take(most).map(name).collect();
    match total - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), number(more)),
    }
}

fn group_row(report: &Report, group: &Group, options: &Options) -> String {
    let mut what: Vec<String> = group.items.iter().take(MAX_ITEMS).map(|item| self::what(report, item)).collect();
    let more: usize = group.items.iter().skip(MAX_ITEMS).map(|item| item.keys).sum();
    if more > 0 {
        what.push(format!("{ELLIPSIS} {}", count(more, "more key")));
    }
    format!("| {} | {} | {} |\n", who(report, group, code), what.join("<br>"), places(report, group, options))
}

/// Returns the nodes of a group with their number, such as `` `site=berlin`, `role=web` (28 of 161 nodes)``.
pub(super) fn who(report: &Report, group: &Group, code: impl Fn(&str) -> String) -> String {
    let share = share(Count { total: report.nodes.total, changed: group.nodes.len() });
    if let Some(who) = &group.who {
        return format!("{} ({share})", who.written(|term| code(&term.to_string()), ", "));
    }
    match node_list::which(report, group, MAX_WHO) {
        Some((but, names)) => format!("{but}{} ({share})", code(&names)),
        None => share,
    }
}

/// Returns a change in short: its key, and the values if they are short.
fn what(report: &Report, item: &Item) -> String {
    let change = &*report.shown(item);
    let place = match &item.leaves[..] {
        [fold] => fold.place(change),
        _ => change.key.to_string(),
    };
    let place = name(&place);
    let keys = if item.keys > 1 { format!(" in {}", count(item.keys, "key")) } else { String::new() };
    let label = match (change.label(), &item.leaves[..]) {
        ("changed", [fold]) => match change.leaves[fold.first].change.kind {
            LeafKind::Added => "added ".to_owned(),
            LeafKind::Removed => "removed ".to_owned(),
            _ => String::new(),
        },
        ("changed", _) => String::new(),
        (label, _) if change.kind.is_error() => format!("**{label}** "),
        (label, _) => format!("{label} "),
    };
    let values = values(change, item).map(|values| format!(": {values}")).unwrap_or_default();
    format!("{label}{place}{keys}{values}")
}

/// Returns the values of a change, or the number of its differences.
fn values(change: &KeyChange, item: &Item) -> Option<String> {
    if change.kind.is_error() {
        let Some(Outcome::Failed(error)) = change.outcome.after.as_deref() else { return None };
        return Some(html(&shorten(&visible(error.text.visible()), MAX_ERROR)));
    }
    // Positions are not what a reader looks for.
    let is_anywhere = item.similarity == Similarity::ExceptPosition;
    if let Some(note) = item.note().filter(|_| !is_anywhere) {
        return Some(note);
    }
    let [fold] = &item.leaves[..] else {
        let differences: usize = item.leaves.iter().map(super::LeafFold::count).sum();
        return (differences > 0).then(|| count(differences, "difference"));
    };
    let leaf = &change.leaves[fold.first].change;
    let alike = match (fold.count(), is_anywhere) {
        (1, false) => String::new(),
        (1, true) => " (positions differ)".to_owned(),
        (alike, _) => format!(" ({} alike)", number(alike)),
    };
    if leaf.kind == LeafKind::Reordered {
        return detail::note(leaf).map(|note| note + &alike);
    }
    let Some(sides) = detail::on_one_line(leaf, MAX_VALUES) else {
        return detail::note(leaf).map(|note| note + &alike);
    };
    let values = match sides {
        Diff { before: Some(before), after: Some(after) } => format!("{} → {}", code(&before), code(&after)),
        Diff { before: Some(one), after: None } | Diff { before: None, after: Some(one) } => code(&one),
        Diff { before: None, after: None } => return None,
    };
    Some(values + &alike)
}
