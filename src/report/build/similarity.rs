//! Joins changes of a key that a person would read as one.
//!
//! Data that interpolates a node's name gives every node a different value, and a change to it would fill pages that
//! all say the same. Changes are therefore joined into one item if their differences are equal, in whatever order, or
//! equal except for the node's name or for positions in lists. If a key still changes in too many ways, changes of
//! the same shape are joined and one is shown as an example.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::diff::{Change, ChangeKind, Diff, LeafChange, LeafKind, PlacedValue};
use crate::fleet::Fleet;
use crate::hiera::{LookupError, Outcome};
use crate::node::NodeSet;
use crate::report::{Item, Similarity};
use crate::value::{Hash, Segment, Text, Value, ValuePath};

/// The maximum number of items of a key; more are joined by their shape.
const MAX_VARIANTS: usize = 4;

/// The maximum number of differences of a change that are sorted to compare them.
const MAX_SORTED: usize = 2000;

/// The parts of a change that similar changes have in common.
#[derive(PartialEq, Eq, Hash)]
enum Signature<'c> {
    /// The differences between values.
    Leaves(ChangeKind, Cow<'c, [Arc<LeafChange>]>),
    /// The errors.
    Errors(ChangeKind, Diff<Option<LookupError>>),
    /// The kinds of the differences and their paths, without values.
    Shape(ChangeKind, Vec<(LeafKind, ValuePath)>),
}

/// Returns the items of all changes except those at the positions `folded`, with their nodes.
pub(in crate::report) fn items(changes: &[Change], folded: &HashSet<usize>, fleet: &Fleet) -> Vec<(Item, NodeSet)> {
    let mut all = Vec::new();
    let mut start = 0;
    for run in changes.chunk_by(|a, b| a.key == b.key) {
        let single = |(first, change): (usize, &Change)| {
            let more = change.variants.as_ref().map_or(0, |variants| variants.count(&change.nodes) - 1);
            let similarity = Similarity::Equal;
            let item = Item { first, others: Vec::new(), more, similarity, keys: 1, pattern: None, leaves: Vec::new() };
            (item, change.nodes.clone())
        };
        let shown = (start..).zip(run).filter(|(at, _)| !folded.contains(at));
        let mut items: Vec<(Item, NodeSet)> = shown.map(single).collect();
        start += run.len();
        if items.iter().map(|(item, _)| 1 + item.more).sum::<usize>() > 1 {
            let vary = |item: &Item| vary(&changes[item.first]);
            items = join(items, Similarity::Equal, |item| (!vary(item)).then(|| exact_signature(&changes[item.first])));
            let is_plain = |item: &Item| item.similarity == Similarity::Equal && !vary(item);
            let in_order = |item: &Item| in_order(&changes[item.first], Segment::clone);
            items = join(items, Similarity::Equal, |item| is_plain(item).then(|| in_order(item))?);
            let masked = |item: &Item| without_node_name(&changes[item.first], fleet);
            items = join(items, Similarity::ExceptNodeName, masked);
            let anywhere = |item: &Item| without_positions(&changes[item.first]);
            items = join(items, Similarity::ExceptPosition, |item| is_plain(item).then(|| anywhere(item))?);
            join_variants(&mut items, Similarity::ExceptNodeName, |item| vary(item) && masked(item).is_some());
            // Variants with different differences count as separate items until they are joined.
            let item_count = |item: &Item| {
                let are_joined = item.similarity == Similarity::ExceptNodeName || !vary(item);
                if are_joined { 1 } else { 1 + item.more }
            };
            if items.iter().map(|(item, _)| item_count(item)).sum::<usize>() > MAX_VARIANTS {
                items = join(items, Similarity::Shape, |item| Some(shape_signature(&changes[item.first])));
                join_variants(&mut items, Similarity::Shape, vary);
            }
        }
        all.extend(items);
    }
    all
}

/// Joins the items with the same signature.
fn join<'c>(
    items: Vec<(Item, NodeSet)>,
    similarity: Similarity,
    signature: impl Fn(&Item) -> Option<Signature<'c>>,
) -> Vec<(Item, NodeSet)> {
    if items.len() < 2 {
        return items;
    }
    let mut joined: Vec<(Item, NodeSet)> = Vec::new();
    let mut by_signature: HashMap<Signature<'c>, usize, RandomState> = HashMap::default();
    for (item, nodes) in items {
        let Some(signature) = signature(&item) else {
            joined.push((item, nodes));
            continue;
        };
        let at = *by_signature.entry(signature).or_insert(joined.len());
        match joined.get_mut(at) {
            Some((one, all)) => {
                one.others.push(item.first);
                one.others.extend(item.others);
                one.more += 1 + item.more;
                one.similarity = similarity;
                all.union_with(&nodes);
            }
            None => joined.push((item, nodes)),
        }
    }
    joined
}

/// Returns true if the variants of a change have different differences.
fn vary(change: &Change) -> bool {
    change.variants.as_ref().is_some_and(|variants| change.leaves.iter().any(|leaf| variants.vary_in(leaf)))
}

/// Notes the similarity of changes that are not joined with others, but whose own variants are.
fn join_variants(items: &mut [(Item, NodeSet)], similarity: Similarity, are_joined: impl Fn(&Item) -> bool) {
    for (item, _) in items.iter_mut().filter(|(item, _)| item.similarity == Similarity::Equal && are_joined(item)) {
        item.similarity = similarity;
    }
}

fn exact_signature(change: &Change) -> Signature<'_> {
    if change.leaves.is_empty() {
        return Signature::Errors(change.kind, errors(change));
    }
    Signature::Leaves(change.kind, Cow::Borrowed(&change.leaves))
}

/// Returns the signature of a change with its differences in an order independent of the value's order, and each step
/// of their paths as `step` maps it. Returns `None` if there are none, or too many.
fn in_order(change: &Change, step: impl Fn(&Segment) -> Segment) -> Option<Signature<'static>> {
    if !(1..=MAX_SORTED).contains(&change.leaves.len()) {
        return None;
    }
    let part =
        |part: &PlacedValue| PlacedValue { path: ValuePath(part.path.0.iter().map(&step).collect()), ..part.clone() };
    let leaf = |leaf: &Arc<LeafChange>| {
        Arc::new(LeafChange { kind: leaf.kind, part: leaf.part.as_ref().map(|side| side.as_ref().map(part)) })
    };
    let mut leaves: Vec<Arc<LeafChange>> = change.leaves.iter().map(leaf).collect();
    leaves.sort_by_cached_key(|leaf| (leaf.path().map(ToString::to_string), leaf.kind));
    Some(Signature::Leaves(change.kind, leaves.into()))
}

/// Returns the signature of a change without the positions in lists, or `None` if its paths contain none.
fn without_positions(change: &Change) -> Option<Signature<'static>> {
    let is_position = |step: &Segment| matches!(step, Segment::Index(_));
    let has_positions = |leaf: &Arc<LeafChange>| leaf.path().is_some_and(|path| path.0.iter().any(is_position));
    change.leaves.iter().any(has_positions).then_some(())?;
    in_order(change, |step| if is_position(step) { Segment::Index(0) } else { step.clone() })
}

fn errors(change: &Change) -> Diff<Option<LookupError>> {
    change.outcome.as_ref().map(|outcome| match outcome.as_deref() {
        Some(Outcome::Failed(error)) => Some(error.clone()),
        _ => None,
    })
}

fn shape_signature(change: &Change) -> Signature<'_> {
    let place = |leaf: &Arc<LeafChange>| (leaf.kind, leaf.path().cloned().unwrap_or_default());
    Signature::Shape(change.kind, change.leaves.iter().map(place).collect())
}

/// Returns the signature of a change with the name of its node masked, or `None` if it is on several nodes and does
/// not differ between them by their names alone.
fn without_node_name(change: &Change, fleet: &Fleet) -> Option<Signature<'static>> {
    let names = |node| NodeName::new(fleet.name(node)).forms();
    let is_of_each_node = match &change.variants {
        Some(variants) => {
            vary(change) && change.leaves.iter().all(|leaf| variants.have_only(leaf, &change.nodes, &names))
        }
        None => change.nodes.len() == 1,
    };
    let node = change.nodes.first().filter(|_| is_of_each_node)?;
    let name = NodeName::new(fleet.name(node));
    Some(match exact_signature(change) {
        Signature::Leaves(kind, leaves) => {
            Signature::Leaves(kind, leaves.iter().map(|leaf| name.mask_leaf(leaf)).collect())
        }
        Signature::Errors(kind, errors) => {
            let error = |error: LookupError| LookupError {
                text: Text::with(name.mask_text(&error.text), error.text.secrecy()),
                ..error
            };
            Signature::Errors(kind, errors.map(|e| e.map(error)))
        }
        Signature::Shape(kind, places) => Signature::Shape(kind, places),
    })
}

/// The forms of a node's name that occur in values: the full name, and its first label.
struct NodeName<'a> {
    full: &'a str,
    host: &'a str,
}

/// The minimum length of a first label that is masked: a shorter one may be a part of any word.
const MIN_LABEL: usize = 4;

impl<'a> NodeName<'a> {
    fn new(full: &'a str) -> NodeName<'a> {
        NodeName { full, host: full.split('.').next().unwrap_or(full) }
    }

    /// Returns the leaf with the name masked, or the same leaf if it does not contain the name.
    fn mask_leaf(&self, leaf: &Arc<LeafChange>) -> Arc<LeafChange> {
        let is_within = |part: &PlacedValue| self.is_in_path(&part.path) || self.is_in(&part.value);
        let Diff { before, after } = &leaf.part;
        if !before.iter().chain(after).any(is_within) {
            return leaf.clone();
        }
        let part =
            |part: &PlacedValue| PlacedValue { path: self.mask_path(&part.path), value: self.mask_value(&part.value) };
        Arc::new(LeafChange { kind: leaf.kind, part: leaf.part.as_ref().map(|side| side.as_ref().map(part)) })
    }

    fn is_in_path(&self, path: &ValuePath) -> bool {
        path.0.iter().any(|segment| matches!(segment, Segment::Key(key) if self.is_in(key)))
    }

    fn is_in(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.forms().iter().any(|form| text.contains(form)),
            Value::Array(items) => items.iter().any(|item| self.is_in(item)),
            Value::Hash(hash) => hash.iter().any(|(key, value)| self.is_in(key) || self.is_in(value)),
            _ => false,
        }
    }

    /// Returns the forms that are masked.
    fn forms(&self) -> [&'a str; 2] {
        [self.full, if self.host.len() < MIN_LABEL { self.full } else { self.host }]
    }

    fn mask_text(&self, text: &str) -> Arc<str> {
        let text = text.replace(self.full, "\u{0}N");
        if self.host.len() < MIN_LABEL { text.into() } else { text.replace(self.host, "\u{0}H").into() }
    }

    fn mask_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(Text::with(self.mask_text(text), text.secrecy())),
            Value::Array(items) => items.iter().map(|item| self.mask_value(item)).collect(),
            Value::Hash(hash) => {
                Value::hash(hash.iter().map(|(k, v)| (self.mask_value(k), self.mask_value(v))).collect::<Hash>())
            }
            other => other.clone(),
        }
    }

    fn mask_path(&self, path: &ValuePath) -> ValuePath {
        let segment = |segment: &Segment| match segment {
            Segment::Key(key) => Segment::Key(self.mask_value(key)),
            index @ Segment::Index(_) => index.clone(),
        };
        ValuePath(path.0.iter().map(segment).collect())
    }
}
