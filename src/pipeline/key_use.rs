//! Finds the classes of changed keys, and the nodes with each class in their catalogs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::diff::{Changes, Diff};
use crate::fleet::{Fleet, Revision, referred_keys};
use crate::hiera::class_of_parameter;
use crate::report::KeyClass;
use crate::workers::Workers;

/// Returns the classes of changed keys: those that some known catalog has. A key that data refers to on either side is
/// not among them, and no key is if data may refer to any: it may be used on nodes without its class.
pub(super) fn of_changes(
    changes: &Changes,
    (fleet, revisions): (&Fleet, Diff<&Revision>),
    keys: &BTreeSet<Arc<str>>,
    workers: &Workers,
) -> BTreeMap<Arc<str>, KeyClass> {
    let class_of = |key: &Arc<str>| Some((key.clone(), class_of_parameter(key)?.to_owned()));
    let classes: BTreeMap<Arc<str>, String> =
        changes.changes.iter().filter_map(|change| class_of(&change.key)).collect();
    if classes.is_empty() {
        return BTreeMap::new();
    }
    let Some(catalogs) = fleet.catalogs() else { return BTreeMap::new() };
    let of_class = |(key, class): (Arc<str>, String)| {
        let with = catalogs.with(&class)?.clone();
        Some((key, KeyClass { class: class.into(), with, known: catalogs.known().clone() }))
    };
    let mut found: BTreeMap<Arc<str>, KeyClass> = classes.into_iter().filter_map(of_class).collect();
    if found.is_empty() {
        return found;
    }
    match referred_keys(revisions.before, revisions.after, keys, workers) {
        Some(referred) => found.retain(|key, _| !referred.contains(key)),
        None => found.clear(),
    }
    found
}
