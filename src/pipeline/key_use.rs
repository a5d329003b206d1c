//! Finds what catalogs say about the use of changed keys.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::diff::{Changes, Diff};
use crate::fleet::{Fleet, KeyUse, Revision, referred_keys};
use crate::node::ProfileError;
use crate::workers::Workers;

/// Returns what is known about the use of changed keys. Keys that data refers to on either side are left out, and all
/// keys are if data may refer to any: they may be used on nodes that do not look them up themselves. `keys` are all
/// keys of both sides, or `None` if their use is not reported.
pub(super) fn of_changes(
    changes: &Changes,
    (fleet, revisions): (&Fleet, Diff<&Revision>),
    keys: Option<&BTreeSet<Arc<str>>>,
    workers: &Workers,
) -> Result<BTreeMap<Arc<str>, KeyUse>, ProfileError> {
    let Some(keys) = keys.filter(|_| !changes.changes.is_empty()) else { return Ok(BTreeMap::new()) };
    let Some(catalogs) = fleet.catalogs()? else { return Ok(BTreeMap::new()) };
    let of_change: BTreeSet<&Arc<str>> = changes.changes.iter().map(|change| &change.key).collect();
    let of_key = |key: &Arc<str>| Some((key.clone(), catalogs.use_of(key)?));
    let mut uses: BTreeMap<Arc<str>, KeyUse> = of_change.into_iter().filter_map(of_key).collect();
    if uses.is_empty() {
        return Ok(uses);
    }
    match referred_keys(revisions.before, revisions.after, keys, workers) {
        Some(referred) => uses.retain(|key, _| !referred.contains(key)),
        None => uses.clear(),
    }
    Ok(uses)
}
