//! Finds the things in a report that a rule is about.

use std::borrow::Cow;

use super::ValueTest;
use super::evidence::{Evidence, Other, OtherKind, TouchedChange};
use super::names::Names;
use super::rule::{ChangeRule, FileRule, Kind, LineKind, Rule, Subject};
use super::value_test::Seen;
use crate::diagnostic::{Place, Severity};
use crate::diff::{ChangeKind, Diff, LeafKind};
use crate::disclosure::is_clear_secret;
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::pattern::any;
use crate::report::{ChangedLines, Effect, KeyChange, Leaf, Report, Side, is_of_secret, type_change};
use crate::value::{Hash, Rich, Segment, Value, ValuePath};

/// Returns the evidence for a rule in a report.
pub(super) fn select<'r>(rule: &Rule, report: &'r Report) -> Evidence<'r> {
    let mut evidence = Evidence { report, nodes: report.nodes.total, changes: Vec::new(), others: Vec::new() };
    match &rule.subject {
        Subject::Changes(rule) => {
            let nodes = nodes(rule, report);
            evidence.nodes = nodes.as_ref().map_or(report.nodes.total, NodeSet::len);
            evidence.changes = changes(rule, report, nodes.as_ref());
            evidence.others = errors(rule, report);
        }
        Subject::Lines(rule) => evidence.others = lines(rule, report),
        Subject::BlindSpots(rule) => evidence.others = blind_spots(rule, report),
    }
    evidence
}

/// Returns the nodes that a rule names, or `None` for all.
fn nodes(rule: &ChangeRule, report: &Report) -> Option<NodeSet> {
    let matching =
        || report.names.fleet.iter().filter(|(_, name)| any(&rule.nodes, name)).map(|(node, _)| node).collect();
    (!rule.nodes.is_empty()).then(matching)
}

fn changes(rule: &ChangeRule, report: &Report, nodes: Option<&NodeSet>) -> Vec<TouchedChange> {
    let mut found = Vec::new();
    for (at, change) in report.changes.iter().enumerate() {
        let names = Names::of(&rule.keys, &change.key);
        let is_on = nodes.is_none_or(|nodes| !change.nodes.intersection(nodes).is_empty());
        if names.are_none() || !is_on {
            continue;
        }
        // Only conditions on values need the values of each node.
        let variants: Vec<Cow<'_, KeyChange>> =
            if rule.looks_at_values() { change.each_variant().collect() } else { vec![Cow::Borrowed(change)] };
        for variant in variants {
            let affected = nodes.map_or_else(|| variant.nodes.clone(), |nodes| variant.nodes.intersection(nodes));
            for (is_unseen, places) in places(rule, &names, &variant, report) {
                if !affected.is_empty() && !places.is_empty() {
                    found.push(TouchedChange { at, nodes: affected.clone(), places, is_unseen });
                }
            }
        }
    }
    found
}

impl ChangeRule {
    fn looks_at_values(&self) -> bool {
        self.values.before.is_some() || self.values.after.is_some() || self.kinds.contains(&Kind::ClearSecret)
    }

    /// Returns true if the rule is about every change.
    fn is_about_all(&self) -> bool {
        let is_narrow = self.values.before.is_some() || self.values.after.is_some();
        self.keys.is_empty() && self.nodes.is_empty() && !is_narrow && self.more_than == super::Thresholds::default()
    }
}

/// A place in the value of a key that a change touches.
#[derive(Clone)]
struct Touch<'a> {
    path: Cow<'a, ValuePath>,
    before: Option<&'a Value>,
    after: Option<&'a Value>,
    /// True for a side whose whole value is unknown.
    is_unknown: Diff<bool>,
    /// The difference that contains it; `None` for the whole value.
    leaf: Option<&'a Leaf>,
}

/// Places in the value of a key, with their lines.
type Places = Vec<(ValuePath, Option<Place>)>;

/// Returns the places of a change that a rule is about, with `false`, and those that it may be about because their
/// values cannot be seen, with `true`.
fn places(rule: &ChangeRule, names: &Names<'_>, change: &KeyChange, report: &Report) -> [(bool, Places); 2] {
    let touches = touches(change, rule.looks_at_values() || names.are_below());
    let answer = |touch: &Touch<'_>| {
        let is_of_kind = || rule.kinds.is_empty() || rule.kinds.iter().any(|kind| touch.is_of(*kind, change));
        let is_met = |test: &Option<ValueTest>, seen| test.as_ref().map_or(Some(true), |test| test.is_met_by(seen));
        let seen = touch.seen();
        let is_named = match names.have(&touch.path) {
            true => Some(true),
            false if [seen.before, seen.after].into_iter().any(Seen::is_hidden) && names.may_be_in(&touch.path) => None,
            false => Some(false),
        };
        let answers = [is_named, is_met(&rule.values.before, seen.before), is_met(&rule.values.after, seen.after)];
        let is_out = answers.contains(&Some(false)) || !is_of_kind();
        if is_out { None } else { Some(answers.contains(&None)) }
    };
    let mut matches: Vec<(bool, &Touch<'_>)> =
        touches.iter().filter_map(|touch| Some((answer(touch)?, touch))).collect();
    // If differences match, the match of the whole value adds nothing.
    if matches.iter().any(|(_, touch)| touch.leaf.is_some()) {
        matches.retain(|(_, touch)| touch.leaf.is_some());
    }
    let of_error = match change.outcome.after.as_deref() {
        Some(Outcome::Failed(error)) => error.place.as_ref(),
        _ => None,
    };
    let first = change.leaves.first();
    let line = |touch: &Touch<'_>| {
        let leaf = touch.leaf.or(first);
        let origin = leaf.and_then(|leaf| leaf.origins().after).map(|origin| &origin.place);
        let causing = leaf.and_then(Leaf::lines).or(change.lines.as_deref());
        report.line_to_mark(causing, origin.or(of_error))
    };
    let place = |touch: &Touch<'_>| (touch.path.clone().into_owned(), line(touch));
    [false, true].map(|unseen| {
        let group = matches.iter().filter(|(is_unseen, _)| *is_unseen == unseen);
        (unseen, group.map(|(_, touch)| place(touch)).collect())
    })
}

/// Returns the places that a change touches: the whole value and each difference; with `is_deep`, also everything
/// inside them.
fn touches(change: &KeyChange, is_deep: bool) -> Vec<Touch<'_>> {
    let (before, after) = (found_value(change.outcome.before.as_deref()), found_value(change.outcome.after.as_deref()));
    let is_unknown = change.outcome.as_ref().map(|outcome| is_unknown(outcome.as_deref()));
    let root = Touch { path: Cow::Owned(ValuePath::default()), before, after, is_unknown, leaf: None };
    let mut all = Vec::with_capacity(change.leaves.len() + 1);
    // If a change has no differences, one side is not a value, and the other one is entirely added or removed.
    if change.leaves.is_empty() && is_deep {
        push_all(root, &mut all);
        return all;
    }
    all.push(root);
    for leaf in &change.leaves {
        let part = leaf.change.part.as_ref().map(Option::as_ref);
        let Some(path) = leaf.change.path() else { continue };
        let (before, after) = (part.before.map(|part| &part.value), part.after.map(|part| &part.value));
        let touch = Touch { path: Cow::Borrowed(path), before, after, is_unknown: Diff::default(), leaf: Some(leaf) };
        // Reordering a value leaves its parts unchanged.
        if is_deep && leaf.change.kind != LeafKind::Reordered { push_all(touch, &mut all) } else { all.push(touch) }
    }
    all
}

fn found_value(outcome: Option<&Outcome>) -> Option<&Value> {
    match outcome {
        Some(Outcome::Found(value)) => Some(value),
        _ => None,
    }
}

/// Returns true if a value may be anything. This includes failures of Puppet that are due to gaps in a profile.
fn is_unknown(outcome: Option<&Outcome>) -> bool {
    matches!(outcome, Some(Outcome::Failed(_)))
}

/// Adds a place and all places in it.
fn push_all<'a>(touch: Touch<'a>, all: &mut Vec<Touch<'a>>) {
    let Touch { path, before, after, is_unknown, leaf } = touch.clone();
    all.push(touch);
    let mut inner = |segment: Segment, before, after| {
        push_all(Touch { path: Cow::Owned(path.child(segment)), before, after, is_unknown, leaf }, all);
    };
    let hash = |value: Option<&'a Value>| value.and_then(Value::as_hash);
    let (was, is) = (hash(before), hash(after));
    for (key, value) in is.into_iter().flat_map(Hash::iter) {
        inner(Segment::Key(key.clone()), was.and_then(|was| was.get_value(key)), Some(value));
    }
    for (key, value) in
        was.into_iter().flat_map(Hash::iter).filter(|(key, _)| is.is_none_or(|is| is.index_of(key).is_none()))
    {
        inner(Segment::Key(key.clone()), Some(value), None);
    }
    let items = |value: Option<&'a Value>| value.and_then(Value::as_array).unwrap_or_default();
    let (was, is) = (items(before), items(after));
    for at in 0..was.len().max(is.len()) {
        inner(Segment::Index(at), was.get(at), is.get(at));
    }
}

impl Touch<'_> {
    /// Returns the visible part of the values.
    fn seen(&self) -> Diff<Seen<'_>> {
        let seen = |value, is_unknown| match value {
            Some(value) => Seen::Value(value),
            None if is_unknown => Seen::Unknown,
            None => Seen::Nothing,
        };
        Diff::new(seen(self.before, self.is_unknown.before), seen(self.after, self.is_unknown.after))
    }

    fn is_of(&self, kind: Kind, change: &KeyChange) -> bool {
        let leaf = || self.leaf.map(|leaf| &*leaf.change);
        let is_entry = |kind| leaf().is_some_and(|leaf| leaf.kind == kind && !self.path.0.is_empty());
        match kind {
            Kind::Added => change.kind == ChangeKind::Added,
            Kind::Removed => change.kind == ChangeKind::Removed,
            Kind::Changed => change.kind == ChangeKind::Changed,
            Kind::Reordered => {
                change.kind == ChangeKind::Reordered || leaf().is_some_and(|leaf| leaf.kind == LeafKind::Reordered)
            }
            Kind::EntryAdded => is_entry(LeafKind::Added),
            Kind::EntryRemoved => is_entry(LeafKind::Removed),
            Kind::Type => leaf().is_some_and(|leaf| type_change(leaf).is_some()),
            Kind::Error => change.kind.is_error(),
            Kind::Unknown => change.label() == "unknown",
            Kind::Recovered => change.kind == ChangeKind::Recovered,
            Kind::Secret => leaf().is_some_and(is_of_secret),
            Kind::ClearSecret => self.is_clear_secret(&change.key),
        }
    }

    /// Returns true if a secret is in plaintext: the value was hidden before, or looks like a secret.
    fn is_clear_secret(&self, key: &str) -> bool {
        let Some(after) = self.after else { return false };
        let is_same = self.leaf.is_some_and(|leaf| leaf.change.kind == LeafKind::Reordered);
        let is_bare = !matches!(after, Value::Array(_) | Value::Hash(_) | Value::Undef) && !is_hidden(after);
        let is_unsealed = self.leaf.is_some_and(|leaf| leaf.change.kind == LeafKind::Unsealed);
        // For the whole value, it is unknown which parts are new.
        let is_new = self.leaf.is_some() || !matches!(self.before, Some(before) if before == after);
        is_new
            && !is_same
            && (is_unsealed || is_bare && self.before.is_some_and(is_hidden) || is_clear_secret(key, &self.path, after))
    }
}

fn is_hidden(value: &Value) -> bool {
    matches!(value, Value::Rich(rich) if matches!(**rich, Rich::Hidden(_)))
}

/// Returns new errors that belong to no key, if a rule is about all errors.
fn errors(rule: &ChangeRule, report: &Report) -> Vec<Other> {
    if !rule.kinds.contains(&Kind::Error) || !rule.is_about_all() {
        return Vec::new();
    }
    let is_lost = report.is_unreadable.after && !report.is_unreadable.before;
    let lost = is_lost.then(|| Other {
        kind: OtherKind::Unreadable,
        count: 1,
        text: "nothing can be read any more".to_owned(),
        files: Vec::new(),
        place: None,
    });
    let is_new_error =
        |finding: &&crate::report::FindingChange| finding.is_new && finding.diagnostic.severity == Severity::Error;
    let findings = report.findings.iter().filter(is_new_error).map(|finding| {
        let diagnostic = &finding.diagnostic;
        let place = diagnostic.place.clone();
        let text = place.as_ref().map_or_else(|| diagnostic.text.clone(), Place::to_string);
        let files = place.iter().map(|place| place.path.to_string()).collect();
        Other { kind: OtherKind::Finding, count: 1, text, files, place }
    });
    lost.into_iter().chain(findings).collect()
}

fn lines(rule: &FileRule<LineKind>, report: &Report) -> Vec<Other> {
    let is_of_kind = |lines: &ChangedLines| {
        rule.kinds.iter().any(|kind| match kind {
            LineKind::NoEffect => matches!(lines.effect, Effect::None(_)) && !lines.effect.is_of_equal_data(),
            LineKind::Reason(reason) => lines.effect.has_reason(*reason),
        })
    };
    let selected = report.lines.iter().filter(|lines| is_of_kind(lines) && any(&rule.files, &lines.place.path));
    let other = |lines: &ChangedLines| Other {
        kind: OtherKind::Line,
        count: lines.len(),
        text: lines.range(),
        files: vec![lines.place.path.to_string()],
        place: (lines.side == Side::After).then(|| lines.place.clone()),
    };
    selected.map(other).collect()
}

fn blind_spots(rule: &FileRule<String>, report: &Report) -> Vec<Other> {
    let mut found = Vec::new();
    for spot in &report.blind_spots {
        let is_of_code = rule.kinds.is_empty() || rule.kinds.iter().any(|code| code == spot.code);
        let files: Vec<String> = spot.files.iter().filter(|file| any(&rule.files, file)).cloned().collect();
        if is_of_code && (rule.files.is_empty() || !files.is_empty()) {
            let text = spot.headline.clone();
            found.push(Other { kind: OtherKind::BlindSpot, count: 1, text, files, place: None });
        }
    }
    found
}
