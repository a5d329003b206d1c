//! One difference told in lines, for all writers: what was marked `-`, what is marked `+`.

use std::collections::HashMap;
use std::sync::Arc;

use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices, group_diff_ops};

use super::value::{self, ELLIPSIS, inline_shortened, quoted, shorten, visible, wrap};
use super::verdict::{count, number};
use super::{Item, Report};
use crate::diff::{Diff, LeafChange, LeafKind};
use crate::hiera::Outcome;
use crate::value::Value;

/// How a line stands in a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// On both sides.
    Both,
    /// Before only.
    Removed,
    /// After only.
    Added,
    /// Says what was left out.
    Omitted,
}

/// One line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DetailLine {
    pub(super) mark: Mark,
    pub(super) text: String,
}

/// How much room a difference may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) columns: usize,
    pub(super) lines: usize,
}

impl DetailLine {
    fn new(mark: Mark, text: impl Into<String>) -> DetailLine {
        DetailLine { mark, text: text.into() }
    }
}

/// A difference on one line, if both sides fit `columns` beside each other.
pub(super) fn on_one_line(change: &LeafChange, columns: usize) -> Option<Diff<Option<String>>> {
    let values = values(change);
    if [values.before, values.after].into_iter().flatten().any(is_multi_line) {
        return None;
    }
    let before = values.before.map(|v| value::inline(v, columns));
    let after = values.after.map(|v| value::inline(v, columns));
    let used = |side: &Option<Option<String>>| {
        side.iter().flatten().map(|text| unicode_width::UnicodeWidthStr::width(&**text)).sum::<usize>()
    };
    let both = if before.is_some() && after.is_some() { " -> ".len() } else { 0 };
    let fits = used(&before) + used(&after) + both <= columns;
    match (before, after) {
        (Some(None), _) | (_, Some(None)) => None,
        (before, after) => fits.then(|| Diff::new(before.flatten(), after.flatten())),
    }
}

fn is_multi_line(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.trim_end_matches('\n').contains('\n'))
}

fn values(change: &LeafChange) -> Diff<Option<&Value>> {
    change.part.as_ref().map(|part| part.as_ref().map(|part| &part.value))
}

/// A note on the kind of a difference where its values alone do not tell it.
pub(super) fn note(change: &LeafChange) -> Option<String> {
    let Diff { before: Some(before), after: Some(after) } = values(change) else { return None };
    if change.kind == LeafKind::Reordered {
        return Some(format!("new order of {}", size(after)));
    }
    let types = (value::type_name(before), value::type_name(after));
    let tells = types.0 != types.1 && !before.is_undef() && !after.is_undef();
    tells.then(|| format!("{} -> {}", types.0, types.1))
}

fn size(value: &Value) -> String {
    match value {
        Value::Array(items) => count(items.len(), "item"),
        Value::Hash(hash) if hash.len() == 1 => "1 entry".to_owned(),
        Value::Hash(hash) => format!("{} entries", number(hash.len())),
        _ => "a value".to_owned(),
    }
}

/// The lines of a difference.
pub(super) fn lines(change: &LeafChange, room: Room) -> Vec<DetailLine> {
    let values = values(change);
    let all = match (change.kind, values.before, values.after) {
        (LeafKind::Reordered, Some(before), Some(after)) => order(Diff::new(before, after), room.columns),
        (_, Some(Value::String(before)), Some(Value::String(after))) => text(Diff::new(before, after), room.columns),
        (_, before, after) => sides(Diff::new(before, after), room.columns),
    };
    limited(all, room.lines)
}

/// Both sides of a change that is, or was, an error; messages are wrapped at `columns`.
pub(super) fn outcomes(report: &Report, item: &Item, columns: usize, room: Room) -> Vec<DetailLine> {
    let outcome = &report.first(item).outcome;
    let others = || item.others.iter().map(|at| &report.changes[*at].outcome);
    let various = Diff {
        before: others().any(|other| other.before != outcome.before),
        after: others().any(|other| other.after != outcome.after),
    };
    let side = |mark, outcome: &Option<Arc<Outcome>>, various: bool| {
        let lines = match outcome.as_deref() {
            _ if various => vec!["(various values)".to_owned()],
            None | Some(Outcome::NotFound) => vec!["(not found)".to_owned()],
            Some(Outcome::Found(value)) => value::block(value, room.columns),
            Some(Outcome::Failed(error)) => wrap(&visible(&format!("error: {error}")), columns.max(16)),
        };
        limited(lines.into_iter().map(|text| DetailLine::new(mark, text)).collect(), room.lines)
    };
    let mut lines = side(Mark::Removed, &outcome.before, various.before);
    lines.extend(side(Mark::Added, &outcome.after, various.after));
    lines
}

fn sides(values: Diff<Option<&Value>>, columns: usize) -> Vec<DetailLine> {
    let block = |mark, value: Option<&Value>| {
        let lines = value.map(|v| value::block(v, columns)).unwrap_or_default();
        lines.into_iter().map(move |text| DetailLine::new(mark, text))
    };
    block(Mark::Removed, values.before).chain(block(Mark::Added, values.after)).collect()
}

/// Cuts what exceeds `most` lines, each side's share of them.
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
    let mut kept = part(&lines[..removed], keep_removed);
    kept.extend(part(&lines[removed..], keep_added));
    kept
}

fn part(lines: &[DetailLine], keep: usize) -> Vec<DetailLine> {
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

/// How many equal lines stand around a difference.
const CONTEXT: usize = 2;

/// The difference of two texts, by lines.
fn text(texts: Diff<&str>, columns: usize) -> Vec<DetailLine> {
    if !texts.before.contains('\n') && !texts.after.contains('\n') {
        let (before, after) = apart(Diff::new(quoted(texts.before), quoted(texts.after)), columns);
        return vec![DetailLine::new(Mark::Removed, before), DetailLine::new(Mark::Added, after)];
    }
    let body = texts.map(|text| text.strip_suffix('\n').unwrap_or(text));
    let split = body.map(|text| text.split('\n').collect::<Vec<_>>());
    let mut lines = by_lines(split.as_ref().map(Vec::as_slice), columns);
    let no_newline = |mark| DetailLine::new(mark, "(no newline at the end)");
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
        group.into_iter().for_each(|op| operation(op, lines, columns, &mut out));
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
    if let DiffOp::Replace { old_index, old_len, new_index, new_len } = op
        && old_len == new_len
    {
        let pairs = (0..old_len).map(|i| {
            let pair = Diff::new(lines.before[old_index + i], lines.after[new_index + i]);
            apart(pair.map(with_visible_end), columns)
        });
        let (before, after): (Vec<String>, Vec<String>) = pairs.unzip();
        out.extend(before.into_iter().map(|text| DetailLine::new(Mark::Removed, text)));
        out.extend(after.into_iter().map(|text| DetailLine::new(Mark::Added, text)));
        return;
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

/// A line whose white space at the end can be seen.
fn with_visible_end(line: &str) -> String {
    let body = line.trim_end_matches(' ');
    format!("{}{}", visible(body), "·".repeat(line.len() - body.len()))
}

/// Two texts in `columns` each, shortened so that the first difference can be seen.
fn apart(texts: Diff<String>, columns: usize) -> (String, String) {
    let Diff { before, after } = texts;
    if before.len() <= columns && after.len() <= columns {
        return (before, after);
    }
    let same: Vec<char> = before.chars().zip(after.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    let width = |c: &char| unicode_width::UnicodeWidthChar::width(*c).unwrap_or(0);
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

/// The order of a collection, before and after: items that are on both sides, or the keys of a hash.
fn order(values: Diff<&Value>, columns: usize) -> Vec<DetailLine> {
    let (before, after) = match (values.before, values.after) {
        (Value::Array(a), Value::Array(b)) => {
            let (shared, back) = (shared(a, b), shared(b, a));
            if shared.is_empty() { (a.iter().collect(), b.iter().collect()) } else { (shared, back) }
        }
        (Value::Hash(a), Value::Hash(b)) => (
            a.keys().filter(|key| b.index_of(key).is_some()).collect::<Vec<_>>(),
            b.keys().filter(|key| a.index_of(key).is_some()).collect::<Vec<_>>(),
        ),
        _ => (Vec::new(), Vec::new()),
    };
    let shown = |values: Vec<&Value>| values.into_iter().map(|v| inline_shortened(v, columns)).collect::<Vec<_>>();
    let texts = Diff::new(shown(before), shown(after));
    let lines = texts.as_ref().map(|texts| texts.iter().map(String::as_str).collect::<Vec<_>>());
    by_lines(lines.as_ref().map(Vec::as_slice), columns)
}

/// The items of `items` that `others` has too, as often as both have them.
fn shared<'v>(items: &'v [Value], others: &[Value]) -> Vec<&'v Value> {
    let mut left: HashMap<&Value, usize> = HashMap::new();
    others.iter().for_each(|item| *left.entry(item).or_default() += 1);
    let mut take = |item: &&Value| left.get_mut(*item).filter(|n| **n > 0).map(|n| *n -= 1).is_some();
    items.iter().filter(|item| take(item)).collect()
}
