//! Compares the effective values of two revisions of one fleet.
//!
//! Only differences of meaning count: an answer that is equal on both sides is not a change, whichever level it comes
//! from. The order of hash entries and of array items is part of a value; a change of order alone is reported as
//! such. [`changes`] finds the [`Changes`] of all keys, [`leaves`] the places inside a value. This module knows
//! nothing of commits, files or how changes are shown.

mod align;
mod classes;
mod former;
mod leaf;
mod memo;
mod secret;
mod variants;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::fleet::{Answer, Effective, parallel};
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::value::{Text, Value};
use crate::workers::Workers;

pub use align::identifying_entry;
pub use former::{Former, former, innermost};
pub use leaf::{LeafChange, LeafKind, PlacedValue, leaves};
pub use secret::Reencrypted;
pub use variants::Variants;

use classes::ChangeClass;
use leaf::{Differences, EntryMemo, differences};

/// Something as it was before, and as it is after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Diff<T> {
    /// As it was before.
    pub before: T,
    /// As it is after.
    pub after: T,
}

impl<T> Diff<T> {
    /// Makes a pair of `before` and `after`.
    pub fn new(before: T, after: T) -> Diff<T> {
        Diff { before, after }
    }

    /// Returns both by reference.
    pub fn as_ref(&self) -> Diff<&T> {
        Diff { before: &self.before, after: &self.after }
    }

    /// Applies `f` to both.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Diff<U> {
        Diff { before: f(self.before), after: f(self.after) }
    }

    /// Swaps both.
    #[must_use]
    pub fn reversed(self) -> Diff<T> {
        Diff { before: self.after, after: self.before }
    }
}

/// The change of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// The key was not found, and now has a value.
    Added,
    /// The key had a value, and is no longer found.
    Removed,
    /// The key has a different value.
    Changed,
    /// Its value has the same parts in a different order.
    Reordered,
    /// The lookup of the key fails now.
    Failed,
    /// The lookup of the key no longer fails.
    Recovered,
    /// The lookup of the key fails with a different error.
    ErrorChanged,
}

impl ChangeKind {
    /// Returns its name, as programs read it.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Added => "added",
            ChangeKind::Removed => "removed",
            ChangeKind::Changed => "changed",
            ChangeKind::Reordered => "reordered",
            ChangeKind::Failed => "failed",
            ChangeKind::Recovered => "recovered",
            ChangeKind::ErrorChanged => "error_changed",
        }
    }
}

/// The change of one key on all nodes on which it is the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The key.
    pub key: Arc<str>,
    /// The kind of change.
    pub kind: ChangeKind,
    /// The answers; `None` if the key is not found.
    pub outcome: Diff<Option<Arc<Outcome>>>,
    /// The nodes.
    pub nodes: NodeSet,
    /// The places at which the values differ; empty if one side is an error.
    pub leaves: Vec<Arc<LeafChange>>,
    /// The values on the other nodes, if they differ: `outcome` and `leaves` are those of the first node.
    pub variants: Option<Variants>,
}

/// The differences of the effective values of two revisions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// All changes, sorted by key, then by first node. No node is in two changes of a key.
    pub changes: Vec<Change>,
    /// Secrets that differ only in their ciphertext, sorted by key. These are not changes.
    pub reencrypted: Vec<Reencrypted>,
}

/// Returns the nodes on which any answer differs, even in a way that is not a change, and perhaps more nodes. The
/// fleet has `all` nodes.
pub fn touched(effective: Diff<&Effective>, all: usize) -> NodeSet {
    let answers = effective.map(|effective| &effective.keys);
    let keys = answers.before.keys().chain(answers.after.keys().filter(|key| !answers.before.contains_key(*key)));
    let of_key = |key| classes::change_classes(answers.map(|keys| keys.get(key).map_or(&[][..], Vec::as_slice)));
    NodeSet::union_of(all, keys.flat_map(of_key).map(|class| class.nodes))
}

/// Returns all differences. The result does not depend on `workers`.
///
/// ```
/// use std::sync::Arc;
///
/// use hierad::diff::{ChangeKind, Diff, changes};
/// use hierad::fleet::{Answer, Effective};
/// use hierad::hiera::Outcome;
/// use hierad::node::{NodeId, NodeSet};
/// use hierad::workers::Workers;
///
/// let effective = |port: i64| {
///     let nodes = NodeSet::from_iter([NodeId(0), NodeId(1)]);
///     let answer = Answer::new(nodes, Arc::new(Outcome::Found(port.into())));
///     Effective { keys: [("port".into(), vec![answer])].into() }
/// };
/// let found = changes(Diff::new(&effective(80), &effective(8080)), &Workers::default()).changes;
/// assert_eq!((&*found[0].key, found[0].kind, found[0].nodes.len()), ("port", ChangeKind::Changed, 2));
/// ```
pub fn changes(effective: Diff<&Effective>, workers: &Workers) -> Changes {
    let answers = effective.map(|effective| &effective.keys);
    let keys: BTreeSet<&Arc<str>> = answers.before.keys().chain(answers.after.keys()).collect();
    let keys: Vec<&Arc<str>> = keys.into_iter().collect();
    let of_key = |key: &&Arc<str>| changes_of(key, answers.map(|keys| keys.get(*key).map_or(&[][..], Vec::as_slice)));
    let mut all = Changes::default();
    for Changes { changes, reencrypted } in parallel::map(&keys, workers, "comparing answers", of_key) {
        all.changes.extend(changes);
        all.reencrypted.extend(reencrypted);
    }
    all
}

/// Returns the differences in the answers for a key.
fn changes_of(key: &Arc<str>, answers: Diff<&[Answer]>) -> Changes {
    let (mut changes, memo) = (Changes::default(), &mut EntryMemo::default());
    let merged = answers.map(joined_by_text);
    let mut classes = classes::change_classes(merged.as_ref().map(|answers| &**answers));
    classes.retain(|class| !is_same_error(class.answer));
    let (varying, plain): (Vec<_>, Vec<_>) =
        classes.into_iter().partition(|class| Variants::of(class.answer).is_some());
    let mut by_outcome: IndexMap<Diff<Option<Arc<Outcome>>>, NodeSet, RandomState> = IndexMap::default();
    for ChangeClass { answer, nodes } in plain {
        let outcome = Diff::new(
            outcome_on_first(answers.before, answer.before, &nodes),
            outcome_on_first(answers.after, answer.after, &nodes),
        );
        if varying.is_empty() {
            changes.add(key, outcome, nodes, None, memo);
        } else {
            by_outcome.entry(outcome.map(Option::<&_>::cloned)).or_default().union_with(&nodes);
        }
    }
    for ChangeClass { answer, nodes } in varying {
        let Some(variants) = Variants::of(answer) else { continue };
        let outcome_on = |node| answer.map(|answer| answer.map(|answer| answer.on(node)));
        let (alike, classes) = variants.divided(answer, &nodes);
        for (node, nodes) in classes.into_iter().filter_map(|nodes| Some((nodes.first()?, nodes))) {
            let outcome = outcome_on(node);
            if outcome.before != outcome.after {
                by_outcome.entry(outcome).or_default().union_with(&nodes);
            }
        }
        if let Some(first) = alike.first() {
            changes.add(key, outcome_on(first).as_ref().map(Option::as_ref), alike, Some(variants), memo);
        }
    }
    for (outcome, nodes) in &by_outcome {
        changes.add(key, outcome.as_ref().map(Option::as_ref), nodes.clone(), None, memo);
    }
    changes.changes.sort_by_key(|change| change.nodes.first());
    changes
}

impl Changes {
    /// Divides the changes into those on `nodes` whose keys `is_chosen` selects, and all others.
    pub fn chosen(self, is_chosen: impl Fn(&str) -> bool, nodes: &NodeSet) -> (Changes, Changes) {
        let (mut these, mut others) = (Changes::default(), Changes::default());
        for change in self.changes {
            let selected = if is_chosen(&change.key) { change.nodes.intersection(nodes) } else { NodeSet::new() };
            let rest = change.nodes.difference(&selected);
            if !rest.is_empty() {
                others.changes.push(change.on(rest));
            }
            if !selected.is_empty() {
                these.changes.push(change.on(selected));
            }
        }
        for secret in self.reencrypted.into_iter().filter(|secret| is_chosen(&secret.key)) {
            let selected = secret.nodes.intersection(nodes);
            if !selected.is_empty() {
                these.reencrypted.push(Reencrypted { nodes: selected, ..secret });
            }
        }
        (these, others)
    }

    fn add(
        &mut self,
        key: &Arc<str>,
        outcome: Diff<Option<&Arc<Outcome>>>,
        nodes: NodeSet,
        variants: Option<Variants>,
        memo: &mut EntryMemo,
    ) {
        let fails = is_error(outcome.before) || is_error(outcome.after);
        let compared = if fails { Differences::default() } else { differences(outcome.map(value), memo) };
        if let Some(after) = outcome.after {
            compared.reencrypted.into_iter().for_each(|path| self.add_reencrypted(key, path, after, &nodes));
        }
        // Answers that differ only in ciphertext are not a change.
        if compared.leaves.is_empty() && !fails {
            return;
        }
        let kind = kind(outcome, &compared.leaves);
        let outcome = outcome.map(Option::<&_>::cloned);
        let mut change = Change { key: key.clone(), kind, outcome, nodes, leaves: compared.leaves, variants };
        change.seal();
        self.changes.push(change);
    }
}

/// Joins the answers with errors that have the same text: the place of an error's cause is not a part of the answer.
fn joined_by_text(answers: &[Answer]) -> Cow<'_, [Answer]> {
    if answers.iter().filter(|answer| text(Some(&answer.outcome)).is_some()).count() < 2 {
        return Cow::Borrowed(answers);
    }
    let mut known: HashMap<(&str, bool), usize> = HashMap::new();
    let mut merged: Vec<Answer> = Vec::new();
    for answer in answers {
        let text = text(Some(&answer.outcome));
        let first = text.map(|text| *known.entry((text, text.secrecy().is_some())).or_insert(merged.len()));
        match first.and_then(|first| merged.get_mut(first)) {
            Some(first) => first.nodes.union_with(&answer.nodes),
            None => merged.push(answer.clone()),
        }
    }
    Cow::Owned(merged)
}

impl Change {
    /// Returns the change of a key between two answers on some nodes, or `None` if it is none.
    pub(crate) fn between(key: &Arc<str>, outcome: &Diff<Option<Arc<Outcome>>>, nodes: NodeSet) -> Option<Change> {
        let mut found = Changes::default();
        found.add(key, outcome.as_ref().map(Option::as_ref), nodes, None, &mut EntryMemo::default());
        found.changes.pop()
    }
}

/// Returns true if both answers are errors with the same text.
fn is_same_error(answer: Diff<Option<&Answer>>) -> bool {
    let text = answer.map(|answer| text(answer.map(|answer| &answer.outcome)));
    text.before.is_some() && text.before == text.after
}

/// Returns the outcome of `answer`. If errors with the same text were joined, returns the one of the first of
/// `nodes`, since its place is shown.
fn outcome_on_first<'a>(
    answers: &'a [Answer],
    answer: Option<&'a Answer>,
    nodes: &NodeSet,
) -> Option<&'a Arc<Outcome>> {
    let outcome = answer.map(|answer| &answer.outcome);
    let Some(first) = nodes.first().filter(|_| is_error(outcome)) else { return outcome };
    answers.iter().find(|answer| answer.nodes.contains(first)).map(|answer| &answer.outcome)
}

/// Returns the text of an error, or `None` for other outcomes.
fn text(outcome: Option<&Arc<Outcome>>) -> Option<&Text> {
    match &**outcome? {
        Outcome::Failed(error) => Some(&error.text),
        _ => None,
    }
}

fn kind(outcome: Diff<Option<&Arc<Outcome>>>, leaves: &[Arc<LeafChange>]) -> ChangeKind {
    match (outcome.before, outcome.after) {
        (before, after) if is_error(before) && is_error(after) => ChangeKind::ErrorChanged,
        (_, after) if is_error(after) => ChangeKind::Failed,
        (before, _) if is_error(before) => ChangeKind::Recovered,
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Removed,
        _ if leaves.iter().all(|leaf| leaf.kind == LeafKind::Reordered) => ChangeKind::Reordered,
        _ => ChangeKind::Changed,
    }
}

fn is_error(outcome: Option<&Arc<Outcome>>) -> bool {
    matches!(outcome.map(|outcome| &**outcome), Some(Outcome::Failed(_)))
}

fn value(outcome: Option<&Arc<Outcome>>) -> Option<&Value> {
    match &**outcome? {
        Outcome::Found(value) => Some(value),
        Outcome::NotFound | Outcome::Failed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Place;
    use crate::hiera::LookupError;
    use crate::node::NodeId;
    use crate::value::Value;

    fn found(value: impl Into<Value>) -> Outcome {
        Outcome::Found(value.into())
    }

    /// `(key, nodes, outcome)` rows as effective values.
    fn effective(rows: &[(&str, &[u32], Outcome)]) -> Effective {
        let mut effective = Effective::default();
        for (key, nodes, outcome) in rows {
            let nodes = nodes.iter().map(|n| NodeId(*n)).collect();
            let answer = Answer::new(nodes, Arc::new(outcome.clone()));
            effective.keys.entry((*key).into()).or_default().push(answer);
        }
        effective
    }

    /// `key kind [nodes]` of every change, both ways.
    fn check(before: &Effective, after: &Effective, expected: &[&str]) {
        let shown = |change: &Change| format!("{} {:?} {:?}", change.key, change.kind, change.nodes);
        let forth = changes(Diff::new(before, after), &Workers::of(1)).changes;
        assert_eq!(forth.iter().map(shown).collect::<Vec<_>>(), expected);
        let back = changes(Diff::new(after, before), &Workers::of(3)).changes;
        assert_eq!(forth.len(), back.len());
        for change in &forth {
            let other = back.iter().find(|c| c.key == change.key && c.nodes == change.nodes).unwrap();
            assert_eq!(other.outcome, change.outcome.clone().reversed());
            assert_eq!(other.kind, reverse(change.kind));
        }
    }

    fn reverse(kind: ChangeKind) -> ChangeKind {
        match kind {
            ChangeKind::Added => ChangeKind::Removed,
            ChangeKind::Removed => ChangeKind::Added,
            ChangeKind::Failed => ChangeKind::Recovered,
            ChangeKind::Recovered => ChangeKind::Failed,
            same => same,
        }
    }

    #[test]
    fn equal_values_are_no_change() {
        let before = effective(&[("a", &[0, 1, 2], found("x")), ("b", &[1], found(5))]);
        let after = effective(&[("a", &[0, 1, 2], found("x")), ("b", &[1], found(5))]);
        check(&before, &after, &[]);
    }

    #[test]
    fn where_an_error_stands_is_no_part_of_it() {
        let error = |line| Outcome::Failed(LookupError::puppet("no").at(Place::line("a.yaml", line)));
        let before = effective(&[("a", &[0], error(1)), ("a", &[1], error(2)), ("b", &[0, 1], found(1))]);
        let after = effective(&[("a", &[0, 1], error(3)), ("b", &[0], error(1)), ("b", &[1], error(2))]);
        check(&before, &after, &["b Failed {0, 1}"]);
    }

    #[test]
    fn nodes_with_the_same_change_are_one_entry() {
        let before = effective(&[("a", &[0, 1, 2], found("x")), ("a", &[3], found("y"))]);
        let after = effective(&[("a", &[0], found("x")), ("a", &[1, 2, 3], found("y"))]);
        check(&before, &after, &["a Changed {1, 2}"]);
    }

    #[test]
    fn every_kind() {
        let error = |text: &str| Outcome::Failed(LookupError::puppet(text));
        let list = |items: &[i64]| Outcome::Found(items.iter().map(|n| Value::from(*n)).collect());
        let before = effective(&[
            ("changed", &[0], found(1)),
            ("errors", &[0], error("one")),
            ("fails", &[0], found(1)),
            ("goes", &[0, 1], found(1)),
            ("order", &[0], list(&[1, 2])),
            ("works", &[0, 1], error("one")),
        ]);
        let after = effective(&[
            ("changed", &[0], found("1")),
            ("comes", &[1], found(1)),
            ("errors", &[0], error("two")),
            ("fails", &[0, 1], error("one")),
            ("order", &[0], list(&[2, 1])),
            ("works", &[0], found(1)),
        ]);
        let expected = [
            "changed Changed {0}",
            "comes Added {1}",
            "errors ErrorChanged {0}",
            "fails Failed {0}",
            "fails Failed {1}",
            "goes Removed {0, 1}",
            "order Reordered {0}",
            "works Recovered {0}",
            "works Recovered {1}",
        ];
        check(&before, &after, &expected);
    }

    #[test]
    fn many_answers_on_many_nodes() {
        let rows = |shift: u32| {
            let mut effective = Effective::default();
            let outcome = |node: u32| Arc::new(found(i64::from(node + shift)));
            let answers = (0..20_000).map(|node| Answer::new(NodeSet::from_iter([NodeId(node)]), outcome(node)));
            effective.keys.insert("a".into(), answers.collect());
            effective
        };
        assert_eq!(changes(Diff::new(&rows(0), &rows(1)), &Workers::of(1)).changes.len(), 20_000);
        let one = effective(&[("a", &[19_999], found("x"))]);
        assert_eq!(changes(Diff::new(&rows(0), &one), &Workers::of(1)).changes.len(), 20_000);
    }
}
