//! Finds changed keys of parameters that a node classifier gives: Puppet does not look these up for their classes.
//!
//! Source: `set_resource_parameters` in `resource/type.rb`.

use std::sync::Arc;

use crate::blind_spots::{DiffContext, changed_nodes, wording};
use crate::node::{NodeSet, ProfileError};
use crate::report::{BlindSpot, Remedy};

/// The code of these blind spots.
const CLASSIFIED: &str = "classified-parameter";

impl DiffContext<'_> {
    /// Returns a blind spot for the changed keys that a classifier gives on some of the nodes where they change.
    pub(crate) fn classified(&self) -> Result<Option<BlindSpot>, ProfileError> {
        let fleet = &self.revisions.after.fleet;
        let changed = changed_nodes(self.changes);
        let Some(catalogs) = fleet.catalogs()?.filter(|_| !changed.is_empty()) else { return Ok(None) };
        let classified_on = |(key, nodes): (&Arc<str>, NodeSet)| {
            let given = catalogs.given(key)?.intersection(&nodes);
            (!given.is_empty()).then(|| (key.clone(), given))
        };
        let (keys, given): (Vec<Arc<str>>, Vec<NodeSet>) = changed.into_iter().filter_map(classified_on).unzip();
        let nodes = NodeSet::union_of(fleet.len(), given);
        let (names, node_share) =
            (wording::some(keys.iter().map(|key| &**key)), wording::nodes_of(&nodes, fleet.len()));
        Ok((!keys.is_empty()).then(|| BlindSpot {
            code: CLASSIFIED,
            headline: format!("a classifier gives {names} on {node_share}"),
            message: format!(
                "a classifier gives {names} on {node_share}, and wins over the data: the change has no effect on these \
                 classes, and shows only where something else looks the key up"
            ),
            fix: Some(Remedy::words("change the value in the classifier, or remove the parameter there")),
            keys,
            nodes,
            ..BlindSpot::default()
        }))
    }
}
