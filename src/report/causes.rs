//! Errors with one cause: a file that cannot be parsed, an option that is wrong, a variable that is not there. The keys that fail
//! because of it, or no longer do, are told once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::wording::{count, share};
use super::{Count, Report};
use crate::diagnostic::Place;
use crate::diff::{Change, ChangeKind};
use crate::hiera::{ErrorKind, LookupError, Outcome};
use crate::node::NodeSet;

/// From so many keys with one cause on, they are told together.
const MIN_KEYS: usize = 2;

/// One error, and the keys that fail because of it, or do so no longer.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// The error; its place is the first of [`Cause::places`].
    pub error: LookupError,
    /// Where it comes from, in order.
    pub places: BTreeSet<Place>,
    /// Whether keys fail because of it now; if not, they did before.
    pub is_new: bool,
    /// The keys.
    pub keys: BTreeSet<Arc<str>>,
    /// The nodes on which some of them fail.
    pub nodes: NodeSet,
    /// Their changes: positions in [`Report::changes`].
    pub changes: Vec<usize>,
}

/// The causes that several keys share, those with the most keys first; a cause that is gone comes behind the new ones.
pub(super) fn causes(changes: &[Change]) -> Vec<Cause> {
    let mut found: BTreeMap<(bool, ErrorKind, &str), Cause> = BTreeMap::new();
    for (at, change) in changes.iter().enumerate() {
        let Some((error, is_new)) = error(change) else { continue };
        let cause = found.entry((!is_new, error.kind, error.text.visible())).or_insert_with(|| Cause {
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

/// The error of a change that is one, or was one and is a value now; and whether it is there now.
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

    /// `435 keys fail on all 143 nodes`.
    pub(super) fn heading(&self, report: &Report) -> String {
        let verb = match (self.is_new, self.error.kind) {
            (true, ErrorKind::Puppet) => "fail",
            (true, ErrorKind::Unknown) => "become unknown",
            (false, ErrorKind::Puppet) => "recover",
            (false, ErrorKind::Unknown) => "become known",
        };
        let nodes = share(Count { total: report.nodes.total, changed: self.nodes.len() });
        format!("{} {verb} on {nodes}", count(self.keys.len(), "key"))
    }

    /// The error, behind its place where it does not name that itself.
    pub(super) fn message(&self) -> String {
        let more = match self.places.len() {
            0 | 1 => String::new(),
            places => format!(" (and at {})", count(places - 1, "more place")),
        };
        let gone = if self.is_new { "" } else { "no longer: " };
        match &self.error.place {
            Some(place) => format!("{gone}{place}: {}{more}", self.error.text.visible()),
            None => format!("{gone}{}{more}", self.error.text.visible()),
        }
    }
}
