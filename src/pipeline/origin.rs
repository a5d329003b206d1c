//! Where the changed values of a report come from: worked out by looking the key up again on one node of each change.

use std::sync::Arc;

use crate::diff::Diff;
use crate::fleet::{Fleet, Revision};
use crate::hiera::Outcome;
use crate::hiera::explain::Recorder;
use crate::hiera::lookup::Lookup;
use crate::hiera::provenance::{Contribution, contributions, origin};
use crate::node::NodeId;
use crate::report::{KeyChange, Origin, Report};
use crate::value::Value;

/// The most changes of a report that are traced: nobody reads the lines of more.
const TRACED_CHANGES: usize = 500;

/// One side of a change: what went into the value, and the value.
type Side = Option<(Vec<Contribution>, Value)>;

/// Adds origins to the leaves of `report`.
pub(super) fn add(report: &mut Report, revisions: &Diff<&Revision>, fleet: &Fleet) {
    for change in report.changes.iter_mut().take(TRACED_CHANGES) {
        let before = side(change, change.outcome.before.as_ref(), revisions.before, fleet);
        let after = side(change, change.outcome.after.as_ref(), revisions.after, fleet);
        for leaf in &mut change.leaves {
            let part = &leaf.change.part;
            leaf.origin.before = part.before.as_ref().and_then(|part| find(&before, &part.path));
            leaf.origin.after = part.after.as_ref().and_then(|part| find(&after, &part.path));
        }
    }
}

fn find(side: &Side, path: &crate::value::ValuePath) -> Option<Origin> {
    let (contributions, value) = side.as_ref()?;
    let found = origin(contributions, value, path)?;
    Some(Origin { place: found.place, level: found.level })
}

fn side(change: &KeyChange, outcome: Option<&Arc<Outcome>>, revision: &Revision, fleet: &Fleet) -> Side {
    let Some(Outcome::Found(value)) = outcome.map(|outcome| &**outcome) else { return None };
    let node = fleet.find(change.nodes.first()?)?;
    Some((trace(revision, fleet, node, &change.key), value.clone()))
}

fn trace(revision: &Revision, fleet: &Fleet, node: NodeId, key: &str) -> Vec<Contribution> {
    let Some(hierarchies) = revision.hierarchies(node) else { return Vec::new() };
    let recorder = Recorder::default();
    let lookup = Lookup::new(&revision.environment, hierarchies, fleet.scope(node));
    _ = lookup.explained_by(&recorder).get(key, None);
    contributions(&recorder.finish(), key)
}
