//! Lays out one difference in lines, for all writers: removed lines are marked `-`, added lines `+`.

use std::collections::HashMap;

use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices, group_diff_ops};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::secrets::{is_opaque, secrecy_note};
use super::value::{self, inline_shortened};
use super::visible::{ELLIPSIS, quoted, shorten, visible, wrap};
use super::wording::{count, number};
use crate::diff::{Diff, LeafChange, LeafKind, Variants, identifying_entry};
use crate::hiera::{LookupError, Outcome};
use crate::report::{Item, KeyChange, Report, Similarity};
use crate::value::Value;

/// The role of a line in a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::report) enum Mark {
    /// On both sides.
    Both,
    /// Before only.
    Removed,
    /// After only.
    Added,
    /// After only, and an error.
    Failed,
    /// A note about omitted lines.
    Omitted,
}

impl Mark {
    /// Returns the sign at the beginning of a line, as in the output of `diff`.
    pub(in crate::report) fn sign(self) -> char {
        match self {
            Mark::Both | Mark::Omitted => ' ',
            Mark::Removed => '-',
            Mark::Added => '+',
            Mark::Failed => '!',
        }
    }
}

/// One line of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::report) struct DetailLine {
    pub(in crate::report) mark: Mark,
    pub(in crate::report) text: String,
}

/// The room for one difference.
#[derive(Debug, Clone, Copy)]
pub(in crate::report) struct Room {
    pub(in crate::report) columns: usize,
    pub(in crate::report) lines: usize,
}

impl DetailLine {
    fn new(mark: Mark, text: impl Into<String>) -> DetailLine {
        DetailLine { mark, text: text.into() }
    }
}

/// Returns both sides of a difference for one line, or `None` if they do not fit `columns` next to each other.
pub(in crate::report) fn on_one_line(change: &LeafChange, columns: usize) -> Option<Diff<Option<String>>> {
    if let Some(note) = secrecy_note(change.kind) {
        return Some(Diff::new(None, Some(note.to_owned())));
    }
    let values = values(change);
    if values.before.into_iter().chain(values.after).filter_map(Value::as_str).any(is_multi_line) {
        return None;
    }
    let sides = if let (LeafKind::Reordered, Diff { before: Some(before), after: Some(after) }) = (change.kind, values)
    {
        order_on_one_line(Diff::new(before, after))?.map(Some)
    } else {
        let sides = values.map(|value| value.map(|value| value::inline(value, columns)));
        let too_long = [&sides.before, &sides.after].into_iter().any(|side| matches!(side, Some(None)));
        (!too_long).then(|| sides.map(Option::flatten))?
    };
    let both = if sides.before.is_some() && sides.after.is_some() { " -> ".len() } else { 0 };
    let used: usize = sides.before.iter().chain(&sides.after).map(|text| text.width()).sum();
    (used + both <= columns).then_some(sides)
}

/// Returns both sides of a change for one line, each cut off at `columns`, so that their first difference shows.
pub(in crate::report) fn shortened(change: &KeyChange, columns: usize) -> Diff<Option<String>> {
    let side = |outcome: Option<&Outcome>| match outcome? {
        Outcome::Found(value) => Some(inline_shortened(value, MAX_COMPARED)),
        Outcome::Failed(error) => Some(visible(&format!("error: {error}")).into_owned()),
        Outcome::NotFound => None,
    };
    let sides = change.outcome.as_ref().map(|outcome| side(outcome.as_deref()));
    match sides {
        Diff { before: Some(before), after: Some(after) } => {
            let (before, after) = shortened_to_difference(Diff::new(before, after), columns);
            Diff::new(Some(before), Some(after))
        }
        sides => sides.map(|side| side.map(|text| shorten(&text, columns))),
    }
}

/// The columns of a value within which a difference is looked for.
const MAX_COMPARED: usize = 20_000;

/// Returns both orders of items for one line, such as `[a, b] -> [b, a]`, or `None` if there are too many.
fn order_on_one_line(values: Diff<&Value>) -> Option<Diff<String>> {
    let length = values.map(|value| match value {
        Value::Array(items) => items.len(),
        Value::Hash(hash) => hash.len(),
        _ => 0,
    });
    let (open, close) = if matches!(values.after, Value::Hash(_)) { ('{', '}') } else { ('[', ']') };
    let joined = |labels: Vec<String>| format!("{open}{}{close}", labels.join(", "));
    (length.before.max(length.after) <= MAX_INLINE_ORDER).then(|| order_labels(values, usize::MAX).map(joined))
}

/// The maximum number of items whose order is readable on one line.
const MAX_INLINE_ORDER: usize = 12;

fn is_multi_line(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
}

fn values(change: &LeafChange) -> Diff<Option<&Value>> {
    change.part.as_ref().map(|part| part.as_ref().map(|part| &part.value))
}

/// Returns a note on the kind of a difference, or `None` if its values alone show it.
pub(in crate::report) fn note(change: &LeafChange) -> Option<String> {
    let Diff { before: Some(before), after: Some(after) } = values(change) else { return None };
    if change.kind == LeafKind::Reordered {
        return Some(format!("new order of {}", size(after)));
    }
    if secrecy_note(change.kind).is_some() {
        return None;
    }
    if is_opaque(before, after) {
        return Some("ciphertext changed, value unknown".to_owned());
    }
    type_change(change).map(|types| format!("{} -> {}", types.before, types.after))
}

/// Returns the types of both sides if they differ.
pub(crate) fn type_change(change: &LeafChange) -> Option<Diff<&'static str>> {
    let Diff { before: Some(before), after: Some(after) } = values(change) else { return None };
    let types = Diff::new(before, after).map(value::type_name);
    let tells = types.before != types.after && !before.is_undef() && !after.is_undef();
    tells.then_some(types)
}

fn size(value: &Value) -> String {
    match value {
        Value::Array(items) => count(items.len(), "item"),
        Value::Hash(hash) if hash.len() == 1 => "1 entry".to_owned(),
        Value::Hash(hash) => format!("{} entries", number(hash.len())),
        _ => "a value".to_owned(),
    }
}

/// Returns the lines of a difference.
pub(in crate::report) fn lines(change: &LeafChange, room: Room) -> Vec<DetailLine> {
    let values = values(change);
    let all = match (change.kind, values.before, values.after) {
        (kind, ..) if let Some(note) = secrecy_note(kind) => vec![DetailLine::new(Mark::Added, note)],
        (LeafKind::Reordered, Some(before), Some(after)) => order(Diff::new(before, after), room.columns),
        (_, Some(Value::String(before)), Some(Value::String(after))) => text(Diff::new(before, after), room.columns),
        (_, before, after) => sides(Diff::new(before, after), room.columns),
    };
    limited(all, room.lines)
}

/// Returns true for a side on which the changes of an item have different outcomes.
pub(in crate::report) fn varying_sides(report: &Report, item: &Item) -> Diff<bool> {
    let KeyChange { outcome, variants, .. } = report.first(item);
    let vary = variants.as_ref().map(Variants::sides).unwrap_or_default();
    let others = || item.others.iter().map(|at| &report.changes[*at].outcome);
    match item.similarity {
        Similarity::Equal => Diff {
            before: vary.before || others().any(|other| other.before != outcome.before),
            after: vary.after || others().any(|other| other.after != outcome.after),
        },
        Similarity::ExceptNodeName | Similarity::ExceptPosition | Similarity::Shape => Diff::default(),
    }
}

/// Returns the lines of both sides of a change that is, or was, an error; messages are wrapped at `columns`.
pub(in crate::report) fn outcomes(
    change: &KeyChange,
    various: Diff<bool>,
    columns: usize,
    room: Room,
) -> Vec<DetailLine> {
    let side = |mark, outcome: Option<&Outcome>, various: bool| {
        let lines = match outcome {
            _ if various => vec!["(various values)".to_owned()],
            None | Some(Outcome::NotFound) => vec!["(not found)".to_owned()],
            Some(Outcome::Found(value)) => value::block(value, room.columns),
            Some(Outcome::Failed(error)) => message(error, columns),
        };
        limited(lines.into_iter().map(|text| DetailLine::new(mark, text)).collect(), room.lines)
    };
    let mut lines = side(Mark::Removed, change.outcome.before.as_deref(), various.before);
    let mark = if change.kind.is_error() { Mark::Failed } else { Mark::Added };
    lines.extend(side(mark, change.outcome.after.as_deref(), various.after));
    lines
}

/// Wraps an error's message, with a deeper indent below its first line.
fn message(error: &LookupError, columns: usize) -> Vec<String> {
    let lines = wrap(&visible(&format!("error: {error}")), columns.max(16) - 2);
    let further_in = |(i, line): (usize, String)| if i == 0 { line } else { format!("  {line}") };
    lines.into_iter().enumerate().map(further_in).collect()
}

fn sides(values: Diff<Option<&Value>>, columns: usize) -> Vec<DetailLine> {
    if let Diff { before: Some(before), after: Some(after) } = values
        && is_one_line(before)
        && is_one_line(after)
    {
        let (before, after) =
            shortened_to_difference(Diff::new(before, after).map(|value| inline_shortened(value, usize::MAX)), columns);
        return vec![DetailLine::new(Mark::Removed, before), DetailLine::new(Mark::Added, after)];
    }
    let block = |mark, value: Option<&Value>| {
        let lines = match value {
            Some(Value::String(text)) if is_multi_line(text) => text_block(text, columns),
            Some(value) => value::block(value, columns),
            None => Vec::new(),
        };
        lines.into_iter().map(move |text| DetailLine::new(mark, text))
    };
    block(Mark::Removed, values.before).chain(block(Mark::Added, values.after)).collect()
}

/// Returns true for a value that is not a collection and has no line ends.
fn is_one_line(value: &Value) -> bool {
    match value {
        Value::Array(_) | Value::Hash(_) => false,
        Value::String(text) => !is_multi_line(text),
        _ => true,
    }
}

/// Returns the lines of a string of several lines.
fn text_block(text: &str, columns: usize) -> Vec<String> {
    let body = text.strip_suffix('\n');
    let mut lines: Vec<String> =
        body.unwrap_or(text).split('\n').map(|line| shorten(&with_visible_end(line), columns)).collect();
    if body.is_none() {
        lines.push(NO_NEWLINE.to_owned());
    }
    lines
}

const NO_NEWLINE: &str = "(no newline at the end)";

/// Cuts off lines beyond `most`, so that each side keeps its share.
fn limited(mut lines: Vec<DetailLine>, most: usize) -> Vec<DetailLine> {
    if lines.len() <= most {
        return lines;
    }
    let removed = lines.iter().take_while(|line| line.mark == Mark::Removed).count();
    let added = lines.len() - removed;
    let in_halves = removed > 0 && lines[removed..].iter().all(|line| line.mark == Mark::Added);
    if !in_halves {
        let left_out = lines.split_off(most.saturating_sub(1)).len();
        lines.push(omitted(left_out));
        return lines;
    }
    let half = most / 2;
    let keep_removed = removed.min(half.max(most.saturating_sub(added)));
    let keep_added = added.min(most - keep_removed);
    let mut kept = first_lines(&lines[..removed], keep_removed);
    kept.extend(first_lines(&lines[removed..], keep_added));
    kept
}

fn first_lines(lines: &[DetailLine], keep: usize) -> Vec<DetailLine> {
    let mut kept = lines.to_vec();
    if keep < lines.len() {
        kept.truncate(keep.saturating_sub(1));
        kept.push(omitted(lines.len() - kept.len()));
    }
    kept
}

fn omitted(lines: usize) -> DetailLine {
    DetailLine::new(Mark::Omitted, format!("{ELLIPSIS} {}", count(lines, "more line")))
}

/// The number of equal lines around a difference.
const CONTEXT: usize = 2;

/// Compares two strings by lines.
fn text(texts: Diff<&str>, columns: usize) -> Vec<DetailLine> {
    if !texts.before.contains('\n') && !texts.after.contains('\n') {
        let (before, after) = shortened_to_difference(Diff::new(quoted(texts.before), quoted(texts.after)), columns);
        return vec![DetailLine::new(Mark::Removed, before), DetailLine::new(Mark::Added, after)];
    }
    let body = texts.map(|text| text.strip_suffix('\n').unwrap_or(text));
    let split = body.map(|text| text.split('\n').collect::<Vec<_>>());
    let mut lines = by_lines(split.as_ref().map(Vec::as_slice), columns);
    let no_newline = |mark| DetailLine::new(mark, NO_NEWLINE);
    match (texts.before.ends_with('\n'), texts.after.ends_with('\n')) {
        (true, false) => lines.push(no_newline(Mark::Added)),
        (false, true) => lines.push(no_newline(Mark::Removed)),
        _ => {}
    }
    lines
}

fn by_lines(lines: Diff<&[&str]>, columns: usize) -> Vec<DetailLine> {
    let ops = capture_diff_slices(Algorithm::Myers, lines.before, lines.after);
    let mut out = Vec::new();
    let mut shown = 0;
    for group in group_diff_ops(ops, CONTEXT) {
        let start = group.first().map_or(shown, |op| op.old_range().start);
        skipped(start - shown, &mut out);
        shown = group.last().map_or(start, |op| op.old_range().end);
        for op in group {
            operation(op, lines, columns, &mut out);
        }
    }
    if shown > 0 {
        skipped(lines.before.len() - shown, &mut out);
    }
    out
}

fn skipped(lines: usize, out: &mut Vec<DetailLine>) {
    if lines > 0 {
        out.push(DetailLine::new(Mark::Omitted, format!("{ELLIPSIS} {}", count(lines, "equal line"))));
    }
}

fn operation(op: DiffOp, lines: Diff<&[&str]>, columns: usize, out: &mut Vec<DetailLine>) {
    if let DiffOp::Replace { old_index, old_len, new_index, new_len } = op {
        let replaced =
            Diff { before: &lines.before[old_index..][..old_len], after: &lines.after[new_index..][..new_len] };
        return replacement(replaced, columns, out);
    }
    for change in op.iter_changes(lines.before, lines.after) {
        let line = match change.tag() {
            ChangeTag::Equal => DetailLine::new(Mark::Both, shorten(&visible(change.value()), columns)),
            ChangeTag::Delete => DetailLine::new(Mark::Removed, shorten(&with_visible_end(change.value()), columns)),
            ChangeTag::Insert => DetailLine::new(Mark::Added, shorten(&with_visible_end(change.value()), columns)),
        };
        out.push(line);
    }
}

/// Lays out lines that replaced others, so that the first difference of each pair shows.
fn replacement(lines: Diff<&[&str]>, columns: usize, out: &mut Vec<DetailLine>) {
    let pairs = lines.before.iter().zip(lines.after);
    let pairs = pairs.map(|(before, after)| {
        shortened_to_difference(Diff::new(before, after).map(|line| with_visible_end(line)), columns)
    });
    let (mut before, mut after): (Vec<String>, Vec<String>) = pairs.unzip();
    let rest = |lines: &[&str], shown: &mut Vec<String>| {
        let more = lines.iter().skip(shown.len()).map(|line| shorten(&with_visible_end(line), columns));
        shown.extend(more.collect::<Vec<_>>());
    };
    rest(lines.before, &mut before);
    rest(lines.after, &mut after);
    out.extend(before.into_iter().map(|text| DetailLine::new(Mark::Removed, text)));
    out.extend(after.into_iter().map(|text| DetailLine::new(Mark::Added, text)));
}

/// Makes white space at the end of a line visible.
fn with_visible_end(line: &str) -> String {
    let body = line.trim_end_matches(' ');
    format!("{}{}", visible(body), "·".repeat(line.len() - body.len()))
}

/// Shortens two texts to `columns` each, so that their first difference shows.
fn shortened_to_difference(texts: Diff<String>, columns: usize) -> (String, String) {
    let Diff { before, after } = texts;
    if before.len() <= columns && after.len() <= columns {
        return (before, after);
    }
    let same: Vec<char> = before.chars().zip(after.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    let width = |c: &char| c.width().unwrap_or(0);
    if same.iter().map(width).sum::<usize>() <= columns / 2 {
        return (shorten(&before, columns), shorten(&after, columns));
    }
    let mut lead = 0;
    let in_lead = |c: &&char| {
        lead += width(c);
        lead <= columns / 3
    };
    let start = same.len() - same.iter().rev().take_while(in_lead).count();
    let window = |text: &str| {
        let rest: String = text.chars().skip(start).collect();
        format!("{ELLIPSIS}{}", shorten(&rest, columns.saturating_sub(1)))
    };
    (window(&before), window(&after))
}

/// Compares the order of two collections by the items that both sides have, or by all if that shows no difference.
fn order(values: Diff<&Value>, columns: usize) -> Vec<DetailLine> {
    let labels = order_labels(values, columns);
    let labels = labels.as_ref().map(|labels| labels.iter().map(String::as_str).collect::<Vec<_>>());
    by_lines(labels.as_ref().map(Vec::as_slice), columns)
}

fn order_labels(values: Diff<&Value>, columns: usize) -> Diff<Vec<String>> {
    match (values.before, values.after) {
        (Value::Array(a), Value::Array(b)) => order_of_items(Diff::new(a, b), columns),
        (Value::Hash(a), Value::Hash(b)) => Diff {
            before: a.keys().filter(|key| b.index_of(key).is_some()).map(value::key).collect(),
            after: b.keys().filter(|key| a.index_of(key).is_some()).map(value::key).collect(),
        },
        _ => Diff::default(),
    }
}

/// Returns labels of the items that both sides have. Items with a name are labelled by it, whatever else in them
/// changes.
fn order_of_items(items: Diff<&[Value]>, columns: usize) -> Diff<Vec<String>> {
    let name = identifying_entry(items);
    let label = |item: &Value| match name.and_then(|name| Some((name, item.get(name)?))) {
        Some((name, id)) => format!("{name}: {}", inline_shortened(id, columns)),
        None => inline_shortened(item, columns),
    };
    let has_name = |item: &Value| name.is_some_and(|name| item.get(name).is_some());
    let comparable = |item: &Value| match name {
        Some(name) if has_name(item) => item.get(name).cloned().unwrap_or_default(),
        _ => item.clone(),
    };
    let ids = items.map(|items| items.iter().map(comparable).collect::<Vec<_>>());
    let side = |items: &[Value], own_ids: &[Value], other_ids: &[Value]| {
        let shared = shared(own_ids, other_ids);
        items.iter().zip(shared).filter(|(_, shared)| *shared).map(|(item, _)| label(item)).collect::<Vec<_>>()
    };
    let lines =
        Diff { before: side(items.before, &ids.before, &ids.after), after: side(items.after, &ids.after, &ids.before) };
    // Items without names that both changed and moved cannot be paired, so all items are listed.
    if lines.before == lines.after { items.map(|items| items.iter().map(label).collect()) } else { lines }
}

/// Returns, for each of `items`, true if `others` contains it as well, counting duplicates.
fn shared(items: &[Value], others: &[Value]) -> Vec<bool> {
    let mut left: HashMap<&Value, usize> = HashMap::new();
    for item in others {
        *left.entry(item).or_default() += 1;
    }
    let mut take = |item| left.get_mut(item).filter(|n| **n > 0).map(|n| *n -= 1).is_some();
    items.iter().map(&mut take).collect()
}
