//! Where the changed values of a report come from: worked out by looking the key up again on one node of each change.

use crate::diff::Diff;
use crate::fleet::{Fleet, Revision};
use crate::hiera::explain::Recorder;
use crate::hiera::lookup::{Hierarchies, Lookup};
use crate::hiera::provenance::{Contribution, contributions, origin};
use crate::node::NodeId;
use crate::report::{Origin, Report};
use crate::value::Value;

/// The most changes of a report that are traced: nobody reads the lines of more.
const TRACED_CHANGES: usize = 500;

/// Adds origins to the leaves of `report`.
pub(super) fn add(report: &mut Report, revisions: Diff<&Revision>, fleet: &Fleet) {
    for change in report.changes.iter_mut().take(TRACED_CHANGES) {
        let Some(node) = change.nodes.first().and_then(|name| fleet.find(name)) else { continue };
        let sides = [(&change.outcome.before, revisions.before), (&change.outcome.after, revisions.after)];
        let [before, after] = sides.map(|(outcome, revision)| {
            let value = outcome.as_deref().and_then(|outcome| match outcome {
                crate::hiera::Outcome::Found(value) => Some(value.clone()),
                _ => None,
            })?;
            Some((trace(revision, fleet, node, &change.key), value))
        });
        for leaf in &mut change.leaves {
            let of = |side: &Option<(Vec<Contribution>, Value)>| {
                let (contributions, value) = side.as_ref()?;
                let found = origin(contributions, value, &leaf.path)?;
                Some(Origin { place: found.place.clone(), level: found.level.clone() })
            };
            leaf.origin = Diff { before: of(&before), after: of(&after) };
        }
    }
}

fn trace(revision: &Revision, fleet: &Fleet, node: NodeId, key: &str) -> Vec<Contribution> {
    let recorder = Recorder::default();
    let hierarchies = Hierarchies::resolve(&revision.environment, fleet.scope(node));
    Lookup::new(&revision.environment, &hierarchies, fleet.scope(node)).explained_by(&recorder).get(key, None);
    contributions(&recorder.finish(), key)
}
