//! Errors with one cause: a file that cannot be parsed, a wrong option, a missing variable. The keys that fail because
//! of it, or no longer do, are shown once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::diagnostic::Place;
use crate::diff::{Change, ChangeKind};
use crate::hiera::{LookupError, Outcome};
use crate::node::NodeSet;
use crate::report::words::wording::count;
use crate::report::{Between, KeyChange, Report};

/// The least number of keys that are shown by their cause.
const MIN_KEYS: usize = 2;

/// An error, and the keys that fail because of it or no longer do.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// The error; its place is the first of [`Cause::places`].
    pub error: LookupError,
    /// The places of the error, in order.
    pub places: BTreeSet<Place>,
    /// True if the keys fail after the change, false if they failed before it.
    pub is_new: bool,
    /// The keys.
    pub keys: BTreeSet<Arc<str>>,
    /// The nodes on which at least one of the keys fails.
    pub nodes: NodeSet,
    /// The changes: positions in [`Report::changes`].
    pub changes: Vec<usize>,
}

/// Returns the causes that several keys share: new causes before causes that are gone, those with the most keys
/// first.
pub(in crate::report) fn causes(changes: &[Change]) -> Vec<Cause> {
    let mut found: BTreeMap<(bool, bool, &str), Cause> = BTreeMap::new();
    for (at, change) in changes.iter().enumerate() {
        let Some((error, is_new)) = error(change) else { continue };
        let cause = found.entry((!is_new, error.kind.is_unknown(), error.text.visible())).or_insert_with(|| Cause {
            error: error.clone(),
            places: BTreeSet::new(),
            is_new,
            keys: BTreeSet::new(),
            nodes: NodeSet::new(),
            changes: Vec::new(),
        });
        cause.places.extend(error.place.clone());
        cause.keys.insert(change.key.clone());
        cause.nodes.union_with(&change.nodes);
        cause.changes.push(at);
    }
    let shared = found.into_values().filter(|cause| cause.keys.len() >= MIN_KEYS);
    let mut causes: Vec<Cause> = shared.map(Cause::with_first_place).collect();
    causes.sort_by_key(|cause| (!cause.is_new, std::cmp::Reverse(cause.keys.len())));
    causes
}

/// Returns the error of a change that is an error now, or was one and is a value now; the second field says if it is
/// an error now.
fn error(change: &Change) -> Option<(&LookupError, bool)> {
    let is_new = change.kind.is_error();
    let outcome = if is_new { &change.outcome.after } else { &change.outcome.before };
    match outcome.as_deref() {
        Some(Outcome::Failed(error)) if is_new || change.kind == ChangeKind::Recovered => Some((error, is_new)),
        _ => None,
    }
}

impl Cause {
    fn with_first_place(mut self) -> Cause {
        self.error.place = self.places.first().cloned();
        self
    }

    /// Returns a heading such as `435 keys fail on all 143 nodes`.
    pub(in crate::report) fn heading(&self, report: &Report) -> String {
        format!("{} on {}", self.event(report), self.share(report))
    }

    /// Returns the end of the heading, such as `all 143 nodes`.
    pub(in crate::report) fn share(&self, report: &Report) -> String {
        match &report.between {
            Between::Nodes(compared) if !self.is_new => compared.before.to_string(),
            _ => report.share_of(self.nodes.len()),
        }
    }

    /// Returns the beginning of the heading, such as `435 keys fail`.
    pub(in crate::report) fn event(&self, report: &Report) -> String {
        let changes = || self.changes.iter().map(|at| &report.changes[*at]);
        let are_added = self.is_new && !report.is_of_nodes() && changes().all(KeyChange::is_of_new_key);
        let verb = match (self.is_new, self.error.kind.is_unknown()) {
            (true, false) => "fail",
            (false, false) if report.is_of_nodes() => "fail",
            (_, true) if are_added || report.is_of_nodes() => "are unknown",
            (true, true) => "become unknown",
            (false, false) if changes().all(|change| change.label() == "removed") => "that failed are removed",
            (false, false) => "recover",
            (false, true) => "become known",
        };
        let keys = if are_added { "added key" } else { "key" };
        format!("{} {verb}", count(self.keys.len(), keys))
    }

    /// Returns the error with its place and the number of further places.
    pub(in crate::report) fn message(&self, report: &Report) -> String {
        let more = match self.places.len() {
            0 | 1 => String::new(),
            places => format!(" (and at {})", count(places - 1, "more place")),
        };
        let gone = if self.is_new || report.is_of_nodes() { "" } else { "no longer: " };
        match &self.error.place {
            Some(place) => format!("{gone}{place}: {}{more}", self.error.text.visible()),
            None => format!("{gone}{}{more}", self.error.text.visible()),
        }
    }
}
