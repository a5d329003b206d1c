//! Finds levels of encrypted data whose keys the settings do not allow, if encrypted values are shown.

use std::collections::BTreeSet;

use crate::blind_spots::suggestions;
use crate::blind_spots::{DiffContext, wording};
use crate::fleet::{Effective, Revision};
use crate::hiera::Outcome;
use crate::hiera::backend::eyaml::NoKey;
use crate::node::NodeSet;
use crate::report::{BlindSpot, Remedy};
use crate::value::Secrecy;

/// The code of this blind spot, and of the fault.
pub(crate) const NOT_ALLOWED: &str = "eyaml-key-not-allowed";

impl DiffContext<'_> {
    /// Returns a blind spot if a changed value is encrypted with keys that are not allowed.
    pub(crate) fn keys_not_allowed(&self) -> Option<BlindSpot> {
        let outcomes = self.changes.changes.iter().flat_map(|change| [&change.outcome.before, &change.outcome.after]);
        of_outcomes(&self.both_revisions(), outcomes.flatten().map(|outcome| &**outcome))
    }
}

/// Returns a blind spot if a value is encrypted with keys that are not allowed.
pub(crate) fn of_values(revision: &Revision, effective: &Effective) -> Option<BlindSpot> {
    of_outcomes(&[revision], effective.keys.values().flatten().map(|answer| &*answer.outcome))
}

fn of_outcomes<'o>(revisions: &[&Revision], mut outcomes: impl Iterator<Item = &'o Outcome>) -> Option<BlindSpot> {
    let is_encrypted = |outcome: &Outcome| match outcome {
        Outcome::Found(value) => value.secrecy().is_some_and(Secrecy::is_encrypted),
        Outcome::Failed(_) | Outcome::NotFound => false,
    };
    let all = revisions.first()?.fleet.len();
    if !outcomes.any(is_encrypted) {
        return None;
    }
    let (mut keys, mut files, mut found) = (BTreeSet::new(), BTreeSet::new(), NodeSet::new());
    for ((place, _, why), nodes) in revisions.iter().flat_map(|revision| revision.keyless_levels()) {
        if let NoKey::NotAllowed(names) = why {
            keys.extend(names);
            files.insert(place.path.to_string());
            found.union_with(&nodes);
        }
    }
    let node_share = wording::nodes_of(&found, all);
    (!keys.is_empty()).then(|| BlindSpot {
        code: NOT_ALLOWED,
        headline: format!("the keys that hiera.yaml names for encrypted data are not allowed, on {node_share}"),
        message: format!("{} on {node_share}", text()),
        fix: Some(fix(&keys)),
        nodes: found,
        files: files.into_iter().collect(),
        ..BlindSpot::default()
    })
}

/// Returns the consequence of keys that are not allowed, in words.
pub(crate) fn text() -> &'static str {
    "no settings allow the keys that hiera.yaml names, so encrypted values are compared by their ciphertext"
}

/// Returns the setting that allows `keys`.
pub(crate) fn fix(keys: &BTreeSet<String>) -> Remedy {
    let keys: Vec<String> = keys.iter().map(|key| suggestions::quoted(key)).collect();
    Remedy::with_yaml(
        "if hierad may read them, put into settings outside of the tree, such as .git/hierad.yaml",
        format!("eyaml: {{allowed_keys: [{}]}}", keys.join(", ")),
    )
}
