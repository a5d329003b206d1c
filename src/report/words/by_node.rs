//! The values that the similar changes of an item have on each node. All writers share one list of them, and say only
//! how much of it they have room for.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use unicode_width::UnicodeWidthStr;

use super::detail::{self, DetailLine, Mark, Room, on_one_line, varying_sides};
use super::links::full_command;
use super::node_list;
use super::value::inline_shortened;
use super::visible::{shorten, shorten_middle, visible};
use super::wording::number;
use crate::diff::{Diff, LeafChange};
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::report::{Item, KeyChange, Report, Similarity};
use crate::value::Segment;

/// The part of a list that there is room for.
#[derive(Debug, Clone, Copy)]
pub(in crate::report) struct Extent {
    /// The maximum number of values, besides that of the change that is shown.
    pub(in crate::report) values: usize,
    /// The maximum number of changes that are compared with each other, to name the nodes of equal ones together.
    pub(in crate::report) compared: usize,
    /// The approximate maximum number of characters.
    pub(in crate::report) characters: usize,
    /// The room for one value. If it is a single line, values are shortened to it.
    pub(in crate::report) room: Room,
}

impl Extent {
    /// Returns the extent of a list of a few values, each on one line, or of none, for the note alone.
    pub(in crate::report) fn brief(values: usize, columns: usize) -> Extent {
        let compared = if values == 0 { 1 } else { MAX_COMPARED };
        Extent { values, compared, characters: usize::MAX, room: Room { columns, lines: 1 } }
    }

    /// Returns the extent of a list that has about this many characters.
    pub(in crate::report) fn whole(characters: usize, room: Room) -> Extent {
        Extent { values: usize::MAX, compared: usize::MAX, characters, room }
    }
}

/// The maximum number of changes that are compared for a brief list. Any number of nodes may have their own values.
const MAX_COMPARED: usize = 16;
const MAX_VARIANTS: usize = 5;

/// The maximum width, in columns, of the names of nodes in a brief list, and in other lists.
const NAME_COLUMNS: usize = 40;
const MAX_NAMES: usize = 1000;

/// The maximum number of differences of a change that are shown.
const MAX_LEAVES: usize = 100;

/// The approximate number of characters that an entry takes besides its words.
const FRAME: usize = 40;

/// The values of an item, by node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::report) struct ByNode {
    /// A note on the change that is shown.
    pub(in crate::report) note: String,
    /// The values other than that of the change that is shown.
    pub(in crate::report) values: Vec<NodeValue>,
    /// The number of values that are not listed.
    pub(in crate::report) more: usize,
    /// The approximate number of characters of the list.
    pub(in crate::report) characters: usize,
}

/// A value, and the nodes that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::report) struct NodeValue {
    /// The names of the nodes.
    pub(in crate::report) nodes: String,
    /// Both sides: one line if they fit on it.
    pub(in crate::report) lines: Vec<DetailLine>,
}

impl NodeValue {
    /// Returns the value in lines below the names, or on the same line if it has only one.
    pub(in crate::report) fn all_lines(&self) -> Vec<DetailLine> {
        match &self.lines[..] {
            [DetailLine { mark: Mark::Both, text }] => {
                vec![DetailLine { mark: Mark::Both, text: format!("{}: {text}", self.nodes) }]
            }
            lines => {
                let names = DetailLine { mark: Mark::Both, text: format!("{}:", self.nodes) };
                std::iter::once(names).chain(lines.iter().cloned()).collect()
            }
        }
    }
}

impl ByNode {
    /// Returns words about the values that are not listed, with the command that lists them.
    pub(in crate::report) fn rest(&self, report: &Report) -> Option<String> {
        Some(format!("{}: `{}`", self.and_more()?, full_command(report)))
    }

    /// Returns words for the number of values that are not listed, or `None` if all are.
    pub(in crate::report) fn and_more(&self) -> Option<String> {
        (self.more > 0).then(|| format!("and {} more", number(self.more)))
    }
}

impl Report {
    /// Returns true if the changes of an item are equal except for names or positions. Brief reports need no list
    /// then.
    pub(in crate::report) fn is_alike(item: &Item) -> bool {
        matches!(item.similarity, Similarity::ExceptNodeName | Similarity::ExceptPosition)
    }

    /// Returns true if the changes of an item do not have the same values.
    pub(in crate::report) fn differs_by_node(&self, item: &Item) -> bool {
        item.similarity != Similarity::Equal || self.has_various(item)
    }

    /// Returns true if the value of a side is not shown, since it differs from node to node.
    fn has_various(&self, item: &Item) -> bool {
        let various = varying_sides(self, item);
        self.first(item).leaves.is_empty() && (various.before || various.after)
    }

    /// Returns the values of an item by node, or `None` if all have the same.
    pub(in crate::report) fn by_node(&self, item: &Item, extent: Extent) -> Option<ByNode> {
        if !self.differs_by_node(item) {
            return None;
        }
        let is_various = self.has_various(item);
        let mut list = List::of(self, item, extent);
        let first = if is_various { None } else { Some(list.entries.remove(0)) };
        let names = |nodes: &NodeSet| {
            let columns = if extent.room.lines == 1 { NAME_COLUMNS } else { MAX_NAMES };
            node_list::names(self, nodes, columns)
        };
        let note = match (item.similarity, &first) {
            (Similarity::ExceptNodeName, _) => "each node with its own name".to_owned(),
            (Similarity::ExceptPosition, _) => "at other positions on other nodes".to_owned(),
            (_, Some(first)) => format!("an example, on {}; other values on other nodes", names(&first.nodes)),
            (_, None) => "the values by node".to_owned(),
        };
        // One further value takes no more room than its number.
        let most = if list.entries.len() == extent.values.saturating_add(1) { usize::MAX } else { extent.values };
        let more = list.more(most, first.as_ref());
        let shown = list.entries.into_iter().take(most);
        let value = |entry: Entry| NodeValue { nodes: names(&entry.nodes), lines: entry.lines };
        Some(ByNode { note, values: shown.map(value).collect(), more, characters: list.characters })
    }

    /// Returns the changes of an item, at most `most`, each variant separately.
    fn each_change<'r>(&'r self, item: &'r Item, most: usize) -> impl Iterator<Item = Cow<'r, KeyChange>> {
        let all = std::iter::once(&item.first).chain(&item.others).map(|at| &self.changes[*at]);
        // Variants hardly ever have equal words, and making each of them takes time.
        let variants = if most == MAX_COMPARED { MAX_VARIANTS } else { most };
        let count = if item.others.is_empty() { 1 + item.more } else { 0 };
        all.flat_map(move |change| change.first_variants(variants, count)).take(most)
    }
}

/// Changes with the same words.
struct Entry {
    nodes: NodeSet,
    lines: Vec<DetailLine>,
    changes: usize,
}

/// The list under construction.
struct List {
    entries: Vec<Entry>,
    /// The number of changes that were looked at, out of `total`.
    compared: usize,
    total: usize,
    characters: usize,
}

impl List {
    fn of(report: &Report, item: &Item, extent: Extent) -> List {
        let mut list = List { entries: Vec::new(), compared: 0, total: 1 + item.more, characters: 0 };
        let mut numbers: HashMap<Vec<DetailLine>, usize, RandomState> = HashMap::default();
        let various = varying_sides(report, item);
        for change in report.each_change(item, extent.compared) {
            let lines = words(&change, various, extent.room);
            let name_length = change.nodes.first().map_or(0, |node| report.names.fleet.name(node).len());
            let at = numbers.get(&lines).copied();
            let text_length =
                if at.is_some() { 0 } else { lines.iter().map(|line| line.text.len()).sum::<usize>() + FRAME };
            if list.characters + name_length + text_length > extent.characters && !list.entries.is_empty() {
                break;
            }
            list.characters += name_length + text_length;
            list.compared += 1;
            if let Some(at) = at {
                list.entries[at].nodes.union_with(&change.nodes);
                list.entries[at].changes += 1;
            } else {
                numbers.insert(lines.clone(), list.entries.len());
                list.entries.push(Entry { nodes: change.nodes.clone(), lines, changes: 1 });
            }
        }
        list
    }

    /// Returns the number of values, or of changes if they were not all compared, besides the first `most` entries and
    /// the one that is shown.
    fn more(&self, most: usize, first: Option<&Entry>) -> usize {
        if self.compared == self.total {
            return self.entries.len().saturating_sub(most);
        }
        let listed = self.entries.iter().take(most).chain(first).map(|entry| entry.changes).sum();
        self.total.saturating_sub(listed)
    }
}

/// Returns both sides of a change in lines.
fn words(change: &KeyChange, various: Diff<bool>, room: Room) -> Vec<DetailLine> {
    let is_brief = room.lines == 1;
    let line = |text: String| DetailLine { mark: Mark::Both, text };
    if change.leaves.is_empty() {
        let side = |outcome: Option<&Outcome>, various: bool| match outcome {
            None | Some(Outcome::NotFound) => "(not found)".to_owned(),
            Some(Outcome::Found(value)) => inline_shortened(value, room.columns),
            Some(Outcome::Failed(_)) if !various => "an error".to_owned(),
            Some(Outcome::Failed(error)) => shorten(&visible(&format!("error: {error}")), room.columns),
        };
        let before = side(change.outcome.before.as_deref(), various.before);
        let after = side(change.outcome.after.as_deref(), various.after);
        return vec![line(format!("{before} -> {after}"))];
    }
    let parts: Option<Vec<String>> = change
        .leaves
        .iter()
        .take(MAX_LEAVES)
        .map(|leaf| leaf_on_one_line(change, &leaf.change, room, is_brief))
        .collect();
    let more = change.leaves.len() > MAX_LEAVES;
    let text = parts.map(|parts| parts.join("; ") + if more { "; …" } else { "" });
    match text {
        Some(text) if is_brief => vec![line(shorten(&text, room.columns))],
        Some(text) if text.width() <= room.columns => vec![line(text)],
        _ => change.leaves.iter().take(MAX_LEAVES).flat_map(|leaf| leaf_lines(change, &leaf.change, room)).collect(),
    }
}

/// Returns a difference on one line, with its path if there are several; `None` if it needs more lines.
fn leaf_on_one_line(change: &KeyChange, leaf: &LeafChange, room: Room, is_brief: bool) -> Option<String> {
    let shortened =
        || leaf.part.as_ref().map(|part| part.as_ref().map(|part| inline_shortened(&part.value, room.columns / 2)));
    let sides = on_one_line(leaf, room.columns).or_else(|| is_brief.then(shortened))?;
    let text = match sides {
        Diff { before: Some(before), after: Some(after) } => format!("{before} -> {after}"),
        Diff { before: Some(one), after: None } | Diff { before: None, after: Some(one) } => one,
        Diff { before: None, after: None } => String::new(),
    };
    Some(if is_alone(change, leaf) { text } else { format!("{}: {text}", path(change, leaf)) })
}

fn leaf_lines(change: &KeyChange, leaf: &LeafChange, room: Room) -> Vec<DetailLine> {
    let lines = detail::lines(leaf, room);
    if is_alone(change, leaf) {
        return lines;
    }
    let path = DetailLine { mark: Mark::Both, text: path(change, leaf) };
    std::iter::once(path).chain(lines).collect()
}

/// Returns true if the path of a difference says nothing: it is the only one, and not at a position in a list.
fn is_alone(change: &KeyChange, leaf: &LeafChange) -> bool {
    let is_position = |segment: &Segment| matches!(segment, Segment::Index(_));
    change.leaves.len() == 1 && !leaf.path().is_some_and(|path| path.0.iter().any(is_position))
}

/// Returns the path of a difference: below its key, or from it if it is the only one.
fn path(change: &KeyChange, leaf: &LeafChange) -> String {
    let path = leaf.path().map(|path| path.below(&change.key)).unwrap_or_default();
    let below = path.strip_prefix(&*change.key).filter(|_| change.leaves.len() > 1);
    shorten_middle(&visible(below.unwrap_or(&path)), MAX_NAMES)
}
