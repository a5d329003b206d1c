//! Folded details: the differences of each group as one block, and its nodes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Options;
use super::document::{Block, Line, Section, Sign, code, name};
use super::escape::characters;
use super::table::{MAX_WHO, keys, who};
use crate::diagnostic::Place;
use crate::report::words::by_node::{Extent, NodeValue};
use crate::report::words::detail::{self, DetailLine, Room};
use crate::report::words::node_list;
use crate::report::words::visible::{ELLIPSIS, shorten, shorten_middle, visible};
use crate::report::words::wording::{count, number};
use crate::report::{Cause, Group, Item, KeyChange, Leaf, LeafFold, Report};

/// The room for one difference.
const ROOM: Room = Room { columns: 160, lines: 40 };
/// The maximum numbers of differences shown for one key, and of keys named below a block.
const MAX_LEAVES: usize = 100;
const MAX_KEYS: usize = 40;
/// The maximum number of lines of values by node in an open fold.
const MAX_VALUES: usize = 40;
/// The maximum widths, in columns, of the names of nodes and of the error of a cause.
const MAX_NODES: usize = 1000;
const MAX_MESSAGE: usize = 1000;
/// The room that a block needs around its differences, and a line around its text.
const FRAME: usize = 400;
const MAX_SIGN: usize = 4;

/// Returns the error that several keys share, folded: the table has the error, its place and the first keys.
pub(super) fn cause(report: &Report, cause: &Cause) -> Section {
    let sign = if cause.is_new { Sign::Failed } else { Sign::Added };
    let error = visible(&shorten(&cause.message(report), MAX_MESSAGE)).into_owned();
    let keys = Block::Paragraph(keys(cause.keys.iter().map(|key| &**key), MAX_KEYS));
    Section::fold(cause.heading(report), vec![Block::Difference(vec![(sign, error)]), keys])
}

/// Returns as many of a group's differences as fit `room`, and true if these are all; or `None` if not even one fits.
pub(super) fn group(
    report: &Report,
    group: &Group,
    options: &Options,
    room: usize,
    is_open: bool,
) -> Option<(Section, bool)> {
    // Names that the summary has are not repeated.
    let nodes = node_list::names_of_group(report, group, MAX_NODES);
    let nodes =
        nodes.filter(|names| group.who.is_some() || node_list::which(report, group, MAX_WHO).as_ref() != Some(names));
    let nodes = nodes.map(|(but, names)| Block::Paragraph(Line::from(format!("Nodes: {but}")).and(code(names))));
    let total: usize = group.items.iter().map(|item| item.keys).sum();
    let summary = who(report, group, |text| code(text)).and(format!(": {}", count(total, "key")));
    let frame = Section::fold(summary.clone(), nodes.iter().cloned().collect());
    let mut left = room.checked_sub(characters(&frame.markdown(options)) + FRAME)?;
    let (mut body, mut below, mut shown, mut shown_keys) = (Vec::new(), Vec::new(), 0, 0);
    let (mut is_complete, mut values) = (true, 0);
    for (at, item) in group.items.iter().enumerate() {
        let (mut lines, others) = (item_body(report, item), item_notes(report, item));
        let of_lines = |lines: &[(Sign, String)]| lines.iter().map(|(_, text)| characters(text) + MAX_SIGN).sum();
        let length: usize = of_lines(&lines);
        let length = length + others.iter().map(|note| characters(&note.markdown(options))).sum::<usize>();
        if length > left {
            break;
        }
        left -= length;
        // A long list leaves half of the room to the keys after it.
        let share = if at + 1 < group.items.len() { left / 2 } else { left };
        if let Some((list, is_whole)) = other_values(report, item, share) {
            left = left.saturating_sub(of_lines(&list));
            is_complete &= is_whole;
            values += list.len();
            lines.extend(list);
        }
        body.extend(lines);
        below.extend(others);
        (shown, shown_keys) = (shown + 1, shown_keys + item.keys);
    }
    let is_all = shown == group.items.len();
    if shown == 0 {
        return None;
    }
    if !is_all {
        below.push(Block::Paragraph(format!("{ELLIPSIS} {}", count(total - shown_keys, "more key")).into()));
    }
    let blocks = [Block::Difference(body)].into_iter().chain(below).chain(nodes).collect();
    let is_open = is_open && values <= MAX_VALUES;
    Some((Section::Fold { summary, is_open, blocks }, is_all && is_complete))
}

/// Returns the values of an item on other nodes, as lines of a difference, and true if these are all; or `None` if
/// there are none.
fn other_values(report: &Report, item: &Item, room: usize) -> Option<(Vec<(Sign, String)>, bool)> {
    let list = report.by_node(item, Extent::whole(room.saturating_sub(FRAME), ROOM))?;
    let note = format!("{}: {} @@", shorten_name(&report.first(item).key), list.note);
    let lines = list.values.iter().flat_map(NodeValue::all_lines).map(|line| (line.mark.into(), line.text));
    let more = list.and_more().map(|more| (Sign::More, more));
    Some((std::iter::once((Sign::Place, note)).chain(lines).chain(more).collect(), list.more == 0))
}

/// Returns notes on the changes of an item that are not shown.
fn item_notes(report: &Report, item: &Item) -> Vec<Block> {
    let others = (item.keys > 1).then(|| keys_with_places(report, item));
    others.into_iter().map(|note| Block::Paragraph(name(&report.shown(item).key).and(": ").and(note))).collect()
}

/// Returns the keys of an item, each with its line if known, since the difference above has the line of only one.
fn keys_with_places(report: &Report, item: &Item) -> Line {
    let origin = |change: &KeyChange| {
        let origins = change.leaves.first().map(Leaf::origins).unwrap_or_default();
        origins.after.or(origins.before).map(|origin| origin.place.clone())
    };
    let shown_place = origin(report.first(item));
    let mut places: BTreeMap<&str, Option<Place>> = BTreeMap::new();
    for change in [item.first].iter().chain(&item.others).map(|at| &report.changes[*at]) {
        places.entry(&change.key).or_insert_with(|| origin(change));
    }
    let entry = |(key, place): (&&str, &Option<Place>)| match (place, &shown_place) {
        (Some(Place { path, line: Some(line) }), Some(shown_place)) if *path == shown_place.path => {
            name(key).and(" ").and(code(format!(":{line}")))
        }
        (Some(place), _) => name(key).and(" ").and(name(&place.to_string())),
        (None, _) => name(key),
    };
    let entries = Line::joined(places.iter().take(MAX_KEYS).map(entry), ", ");
    match places.len().saturating_sub(MAX_KEYS) {
        0 => entries,
        more => entries.and(format!(" and {} more", number(more))),
    }
}

fn item_body(report: &Report, item: &Item) -> Vec<(Sign, String)> {
    let change = &*report.shown(item);
    let of_lines = |lines: Vec<DetailLine>| lines.into_iter().map(|line| (line.mark.into(), line.text));
    let mut body = Vec::new();
    if change.leaves.is_empty() {
        body.push((Sign::Place, format!("{} {} @@", report.label(change), shorten_name(&change.key))));
        let various = detail::varying_sides(report, item);
        body.extend(of_lines(detail::outcomes(change, various, ROOM.columns, ROOM)));
    }
    for fold in item.leaves.iter().take(MAX_LEAVES) {
        let leaf = &change.leaves[fold.first];
        body.push((Sign::Place, leaf_head(report, (change, leaf), fold)));
        body.extend(of_lines(detail::lines(&leaf.change, ROOM)));
    }
    if let Some(more @ 1..) = item.leaves.len().checked_sub(MAX_LEAVES) {
        body.push((Sign::More, count(more, "more difference")));
    }
    body
}

/// Returns the text of a line such as `@@ ntp::servers[1] @@ data/common.yaml:12`.
fn leaf_head(report: &Report, (change, leaf): (&KeyChange, &Leaf), fold: &LeafFold) -> String {
    let mut rest = String::new();
    if let Some(note) = detail::note(&leaf.change) {
        _ = write!(rest, " {note}");
    }
    let origin = leaf.places(report).map(|places| shorten_middle(&places, ROOM.columns));
    match (fold.count(), origin) {
        (1, origin) => rest += &origin.map(|origin| format!(" {origin}")).unwrap_or_default(),
        (places, None) => _ = write!(rest, " at {} places", number(places)),
        (places, Some(origin)) => _ = write!(rest, " at {} places, such as {origin}", number(places)),
    }
    format!("{} @@{rest}", shorten_name(&fold.place(change)))
}

fn shorten_name(name: &str) -> String {
    shorten_middle(&visible(name), ROOM.columns)
}
