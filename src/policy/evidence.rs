//! The things in a report that a rule is about, and their numbers.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::Rule;
use super::rule::{Subject, Thresholds};
use crate::diagnostic::Place;
use crate::node::NodeSet;
use crate::report::{PolicyHit, Report, count};
use crate::value::ValuePath;

/// The maximum number of lines of a hit.
const MAX_PLACES: usize = 100;

/// The maximum number of examples in a sentence.
const MAX_EXAMPLES: usize = 2;

/// The things in a report that a rule is about.
#[derive(Clone)]
pub(super) struct Evidence<'r> {
    pub(super) report: &'r Report,
    /// The number of nodes that the rule is about: shares are of this number.
    pub(super) nodes: usize,
    pub(super) changes: Vec<TouchedChange>,
    pub(super) others: Vec<Other>,
}

/// The part of a change that a rule is about.
#[derive(Debug, Clone)]
pub(super) struct TouchedChange {
    /// Its position in the report.
    pub(super) at: usize,
    /// The nodes.
    pub(super) nodes: NodeSet,
    /// The places in its value, each with the changed line that causes it if there is one.
    pub(super) places: Vec<(ValuePath, Option<Place>)>,
    /// True if a secret or unknown value makes it uncertain whether the rule is about them.
    pub(super) is_unseen: bool,
}

/// Something else that a rule is about.
#[derive(Debug, Clone)]
pub(super) struct Other {
    pub(super) kind: OtherKind,
    /// The number of things.
    pub(super) count: usize,
    /// A short description.
    pub(super) text: String,
    /// The files that it concerns.
    pub(super) files: Vec<String>,
    /// Its line in the later revision, if it has one.
    pub(super) place: Option<Place>,
}

/// The kinds of other things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OtherKind {
    /// Nothing can be read any more.
    Unreadable,
    /// A new error in a file.
    Finding,
    /// A changed line.
    Line,
    /// A blind spot.
    BlindSpot,
}

impl Evidence<'_> {
    /// Returns true if there is no evidence.
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.others.is_empty()
    }

    /// Returns true if the evidence suffices for a rule to be hit.
    pub(super) fn is_enough_for(&self, rule: &Rule) -> bool {
        let Subject::Changes(changes) = &rule.subject else { return !self.is_empty() };
        !self.is_empty() && self.exceeds(&changes.more_than)
    }

    fn exceeds(&self, limits: &Thresholds) -> bool {
        let (report, changes) = (self.report, &self.changes);
        limits.nodes.is_none_or(|limit| limit.is_less_than(self.node_set().len(), self.nodes))
            && limits.keys.is_none_or(|limit| limit.is_less_than(self.keys().len(), report.former_keys))
            && limits.groups.is_none_or(|limit| groups(report, changes) > limit)
    }

    fn keys(&self) -> Vec<Arc<str>> {
        self.keys_of(|_| true).into_iter().cloned().collect()
    }

    fn keys_of(&self, is_counted: impl Fn(&TouchedChange) -> bool) -> BTreeSet<&Arc<str>> {
        let changes = self.changes.iter().filter(|change| is_counted(change));
        changes.map(|change| &self.report.changes[change.at].key).collect()
    }

    fn node_set(&self) -> NodeSet {
        NodeSet::union_of(self.report.names.fleet.len(), self.changes.iter().map(|change| change.nodes.clone()))
    }

    /// Returns the first lines that the commit changed, in order: no other lines may be marked.
    fn places(&self) -> Vec<Place> {
        let of_changes = self.changes.iter().flat_map(|change| &change.places).filter_map(|(_, line)| line.as_ref());
        let all = of_changes.chain(self.others.iter().filter_map(|other| other.place.as_ref()));
        let all = all.filter(|place| self.report.has_changed(place));
        let places: BTreeSet<&Place> = all.filter(|place| !place.path.starts_with('/')).collect();
        places.into_iter().take(MAX_PLACES).cloned().collect()
    }

    /// Returns the numbers in words.
    fn numbers_in_words(&self, keys: usize, nodes: &NodeSet) -> String {
        let mut parts = Vec::new();
        if keys > 0 {
            parts.push(format!("{} on {}", count(keys, "key"), self.report.share_of(nodes.len())));
        }
        let unseen = self.keys_of(|change| change.is_unseen).len();
        if unseen > 0 {
            parts.push(format!("{} not judged: secret, unknown or not text", count(unseen, "key")));
        }
        for of_kind in self.others.chunk_by(|a, b| a.kind == b.kind) {
            parts.push(others_in_words(of_kind));
        }
        parts.join("; ")
    }

    /// Returns the hit of a rule.
    pub(super) fn hit(&self, rule: &Rule) -> PolicyHit {
        let (keys, nodes) = (self.keys(), self.node_set());
        PolicyHit {
            name: rule.name.clone(),
            level: rule.level,
            message: rule.message.clone(),
            reviewers: rule.reviewers.clone(),
            found: self.numbers_in_words(keys.len(), &nodes),
            keys,
            nodes,
            places: self.places(),
            waiver: None,
        }
    }
}

/// Returns the number of groups that contain any of the changes. Keys that fail for the same cause are one group.
fn groups(report: &Report, changes: &[TouchedChange]) -> usize {
    let changes: HashSet<usize> = changes.iter().map(|change| change.at).collect();
    let is_touched = |at: &usize| changes.contains(at);
    let groups = report
        .groups
        .iter()
        .filter(|group| group.items.iter().any(|item| is_touched(&item.first) || item.others.iter().any(is_touched)));
    groups.count() + report.causes.iter().filter(|cause| cause.changes.iter().any(is_touched)).count()
}

/// Returns words such as `2 changed lines, data/common.yaml:3`.
fn others_in_words(of_kind: &[Other]) -> String {
    let number: usize = of_kind.iter().map(|other| other.count).sum();
    let thing = match of_kind[0].kind {
        OtherKind::Unreadable => return of_kind[0].text.clone(),
        OtherKind::Finding => "new error",
        OtherKind::Line => "changed line",
        OtherKind::BlindSpot => "blind spot",
    };
    let examples: Vec<&str> = of_kind.iter().take(MAX_EXAMPLES).map(|other| &*other.text).collect();
    let more = if of_kind.len() > MAX_EXAMPLES { ", ..." } else { "" };
    format!("{}: {}{more}", count(number, thing), examples.join(", "))
}
