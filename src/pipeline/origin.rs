//! Finds the origins of changed values, by an explained lookup of the key on one node of each change.

use std::sync::Arc;

use crate::diff::{Change, Changes, Diff, LeafChange, Part, Reencrypted};
use crate::fleet::{Revision, parallel};
use crate::hiera::Outcome;
use crate::hiera::explain::Recorder;
use crate::hiera::provenance::{Contribution, contributions, origin};
use crate::node::{NodeId, NodeSet};
use crate::report::{Origin, Origins};
use crate::value::{Value, ValuePath};
use crate::workers::Workers;

/// The most changes of a report that are traced. Nobody reads the origins of more.
const TRACED_CHANGES: usize = 500;

/// One side of a change: the contributions to the value, and the value.
type Side = Option<(Vec<Contribution>, Value)>;

/// Returns the origins of `changes`, which must not be redacted yet.
pub(super) fn origins(changes: &Changes, revisions: &Diff<&Revision>, workers: &Workers) -> Origins {
    let of_change = |change: &Change| {
        let Change { key, outcome, nodes, leaves, .. } = change;
        if leaves.is_empty() {
            return Vec::new();
        }
        let before = side(key, outcome.before.as_ref(), nodes, revisions.before);
        let after = side(key, outcome.after.as_ref(), nodes, revisions.after);
        let of = |part: &Option<Part>, side: &Side| part.as_ref().and_then(|part| find(side, &part.path));
        let of_leaf = |leaf: &Arc<LeafChange>| Diff::new(of(&leaf.part.before, &before), of(&leaf.part.after, &after));
        leaves.iter().map(of_leaf).collect()
    };
    let of_secret = |secret: &Reencrypted| {
        let side = side(&secret.key, Some(&secret.outcome), &secret.nodes, revisions.after);
        find(&side, &secret.path)
    };
    let traced = &changes.changes[..changes.changes.len().min(TRACED_CHANGES)];
    Origins {
        changes: parallel::map(traced, workers, "tracing changes", of_change),
        reencrypted: changes.reencrypted.iter().take(TRACED_CHANGES).map(of_secret).collect(),
    }
}

fn find(side: &Side, path: &ValuePath) -> Option<Origin> {
    let (contributions, value) = side.as_ref()?;
    let found = origin(contributions, value, path)?;
    Some(Origin { place: found.place, level: found.level })
}

fn side(key: &str, outcome: Option<&Arc<Outcome>>, nodes: &NodeSet, revision: &Revision) -> Side {
    let Some(Outcome::Found(value)) = outcome.map(|outcome| &**outcome) else { return None };
    Some((trace(revision, nodes.first()?, key), value.clone()))
}

fn trace(revision: &Revision, node: NodeId, key: &str) -> Vec<Contribution> {
    let recorder = Recorder::default();
    revision.explain(key, node, &recorder);
    contributions(&recorder.finish(), key)
}
