//! Folded details: the differences of each group as one block, and its nodes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::escape::{MAX_NAME, characters, code, fence, html, html_code, name};
use super::table::{MAX_WHO, keys, who};
use crate::diagnostic::Place;
use crate::report::detail::{self, DetailLine, Room};
use crate::report::visible::{ELLIPSIS, shorten, shorten_middle, visible};
use crate::report::wording::{count, number};
use crate::report::{Cause, Group, Item, KeyChange, Leaf, LeafFold, Report, node_list};

/// The room for one difference.
const ROOM: Room = Room { columns: 160, lines: 40 };
/// The most differences of one key, and of keys that are named below a block.
const MAX_LEAVES: usize = 100;
const MAX_KEYS: usize = 40;
/// The most columns of the names of nodes, and of the error of a cause.
const MAX_NODES: usize = 1000;
const MAX_MESSAGE: usize = 1000;
/// The room that a block needs around its differences.
const FRAME: usize = 400;

/// Returns the error that several keys share, folded: the table has the error, its place and the first keys.
pub(super) fn cause(report: &Report, cause: &Cause) -> String {
    let mark = if cause.is_new { '!' } else { '+' };
    let error = visible(&shorten(&cause.message(), MAX_MESSAGE)).into_owned();
    let summary = html(&cause.heading(report));
    folded(&summary, false, &format!("{mark} {error}\n"), &keys(cause.keys.iter().map(|key| &**key), MAX_KEYS))
}

/// Returns as many of a group's differences as fit `room`, and true if that is all; or `None` if not even one fits.
pub(super) fn group(report: &Report, group: &Group, room: usize, open: bool) -> Option<(String, bool)> {
    // Names that the summary has are not repeated.
    let nodes = node_list::names_of_group(report, group, MAX_NODES);
    let nodes =
        nodes.filter(|names| group.who.is_some() || node_list::which(report, group, MAX_WHO).as_ref() != Some(names));
    let nodes = nodes.map(|(but, names)| format!("Nodes: {but}{}\n\n", code(&names))).unwrap_or_default();
    let total: usize = group.items.iter().map(|item| item.keys).sum();
    let summary = format!("{}: {}", who(report, group, html_code), count(total, "key"));
    let mut left = room.checked_sub(characters(&summary) + characters(&nodes) + FRAME)?;
    let (mut body, mut below, mut shown, mut shown_keys) = (String::new(), String::new(), 0, 0);
    for item in &group.items {
        let (text, note) = (item_body(report, item), item_note(report, item));
        let length = characters(&text) + characters(&note);
        if length > left {
            break;
        }
        left -= length;
        body.push_str(&text);
        below.push_str(&note);
        (shown, shown_keys) = (shown + 1, shown_keys + item.keys);
    }
    let is_all = shown == group.items.len();
    if shown == 0 {
        return None;
    }
    if !is_all {
        _ = writeln!(below, "{ELLIPSIS} {}\n", count(total - shown_keys, "more key"));
    }
    Some((folded(&summary, open, &body, &(below + &nodes)), is_all))
}

fn folded(summary: &str, open: bool, body: &str, below: &str) -> String {
    let open = if open { " open" } else { "" };
    let fence = fence(body);
    let below = if below.is_empty() { String::new() } else { format!("{}\n\n", below.trim_end()) };
    format!("\n<details{open}><summary>{summary}</summary>\n\n{fence}diff\n{body}{fence}\n\n{below}</details>\n")
}

/// Returns a note on the changes of an item that are not shown.
fn item_note(report: &Report, item: &Item) -> String {
    let mut text = String::new();
    let key = || code(&shorten_middle(&visible(&report.shown(item).key), MAX_NAME));
    if item.keys > 1 {
        _ = write!(text, "{}: {}\n\n", key(), keys_with_places(report, item));
    }
    if let Some(note) = item.note() {
        _ = write!(text, "{}: {note}\n\n", key());
    }
    text
}

/// Returns the keys of an item, each with its line where that is known: the difference above has the line of one.
fn keys_with_places(report: &Report, item: &Item) -> String {
    let origin = |change: &KeyChange| {
        let origins = change.leaves.first().map(Leaf::origins).unwrap_or_default();
        origins.after.or(origins.before).map(|origin| origin.place.clone())
    };
    let shown = origin(report.first(item));
    let mut places: BTreeMap<&str, Option<Place>> = BTreeMap::new();
    for change in [item.first].iter().chain(&item.others).map(|at| &report.changes[*at]) {
        places.entry(&change.key).or_insert_with(|| origin(change));
    }
    let one = |(key, place): (&&str, &Option<Place>)| match (place, &shown) {
        (Some(Place { path, line: Some(line) }), Some(shown)) if *path == shown.path => {
            format!("{} `:{line}`", name(key))
        }
        (Some(place), _) => format!("{} {}", name(key), name(&place.to_string())),
        (None, _) => name(key),
    };
    let named: Vec<String> = places.iter().take(MAX_KEYS).map(one).collect();
    match places.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {} more", named.join(", "), number(more)),
    }
}

fn item_body(report: &Report, item: &Item) -> String {
    let change = &*report.shown(item);
    let mut text = String::new();
    if change.leaves.is_empty() {
        _ = writeln!(text, "@@ {} {} @@", change.label(), shown(&change.key));
        let various = detail::varying_sides(report, item);
        push_lines(detail::outcomes(change, various, ROOM.columns, ROOM), &mut text);
    }
    for fold in item.leaves.iter().take(MAX_LEAVES) {
        let leaf = &change.leaves[fold.first];
        text.push_str(&leaf_head(change, leaf, fold));
        push_lines(detail::lines(&leaf.change, ROOM), &mut text);
    }
    if let Some(more @ 1..) = item.leaves.len().checked_sub(MAX_LEAVES) {
        _ = writeln!(text, "{ELLIPSIS} {}", count(more, "more difference"));
    }
    text
}

/// Returns a line such as `@@ ntp::servers[1] @@ data/common.yaml:12`.
fn leaf_head(change: &KeyChange, leaf: &Leaf, fold: &LeafFold) -> String {
    let mut rest = String::new();
    if let Some(note) = detail::note(&leaf.change) {
        _ = write!(rest, " {note}");
    }
    let origin = leaf.places().map(|places| shorten_middle(&places, ROOM.columns));
    match (fold.count(), origin) {
        (1, origin) => rest += &origin.map(|origin| format!(" {origin}")).unwrap_or_default(),
        (places, None) => _ = write!(rest, " at {} places", number(places)),
        (places, Some(origin)) => _ = write!(rest, " at {} places, such as {origin}", number(places)),
    }
    format!("@@ {} @@{rest}\n", shown(&fold.place(change)))
}

fn shown(name: &str) -> String {
    shorten_middle(&visible(name), ROOM.columns)
}

fn push_lines(lines: Vec<DetailLine>, text: &mut String) {
    for line in lines {
        _ = writeln!(text, "{} {}", line.mark.sign(), line.text);
    }
}
