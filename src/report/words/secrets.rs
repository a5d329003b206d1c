//! Secrets in a report: redaction, and notes about them.

use std::sync::Arc;

use super::wording::count;
use crate::diff::{Change, LeafChange, LeafKind, PlacedValue};
use crate::disclosure::Disclosure;
use crate::hiera::Outcome;
use crate::report::{Reencrypted, Report};
use crate::value::{HiddenKind, Rich, Value};

/// Redacts the secrets of a change.
pub(in crate::report) fn redacted(change: Change, disclosure: &Disclosure) -> Change {
    let is_secret = |outcome: &Outcome| match outcome {
        Outcome::Found(value) => value.secrecy().is_some(),
        Outcome::Failed(error) => error.text.secrecy().is_some(),
        Outcome::NotFound => false,
    };
    let outcomes = [&change.outcome.before, &change.outcome.after];
    if !outcomes.into_iter().flatten().any(|outcome| is_secret(outcome)) {
        return change;
    }
    let part = |part: PlacedValue| PlacedValue {
        path: disclosure.path(&part.path).into_owned(),
        value: disclosure.value(&part.value).into_owned(),
    };
    let leaf = |leaf: Arc<LeafChange>| {
        let leaf = Arc::unwrap_or_clone(leaf);
        Arc::new(LeafChange { kind: leaf.kind, part: leaf.part.map(|side| side.map(part)) })
    };
    Change {
        outcome: change.outcome.map(|outcome| outcome.map(|outcome| disclosure.outcome(&outcome))),
        leaves: change.leaves.into_iter().map(leaf).collect(),
        ..change
    }
}

/// Returns a note if the secrecy of a value changes.
pub(in crate::report) fn secrecy_note(kind: LeafKind) -> Option<&'static str> {
    match kind {
        LeafKind::Sealed => Some("a secret now"),
        LeafKind::Unsealed => Some("a secret no longer"),
        _ => None,
    }
}

/// Returns true if both sides are ciphertext that cannot be decrypted.
pub(super) fn is_opaque(before: &Value, after: &Value) -> bool {
    let encrypted = |value: &Value| match value {
        Value::Rich(rich) => matches!(&**rich, Rich::Hidden(hidden) if hidden.kind == HiddenKind::Encrypted),
        _ => false,
    };
    encrypted(before) && encrypted(after)
}

impl Reencrypted {
    /// Returns the key, followed by the path in its value.
    pub(in crate::report) fn name(&self) -> String {
        self.path.below(&self.key)
    }

    /// Returns a share such as `2 of 5 nodes`.
    pub(in crate::report) fn share(&self, report: &Report) -> String {
        report.share_of(self.nodes.len())
    }
}

/// Returns a heading such as `1 secret re-encrypted, same plaintext`.
pub(in crate::report) fn reencrypted_heading(secrets: &[Reencrypted]) -> String {
    format!("{} re-encrypted, same plaintext", count(secrets.len(), "secret"))
}
