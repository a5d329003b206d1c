//! Finds keys of the commit for which manifests name a merge strategy: nodes get the value merged that way, but the
//! report shows the value that the data alone yields.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::blind_spots::{DiffContext, accept, changed_nodes, wording};
use crate::fleet::NodeRevision;
use crate::hiera::budget::Cost;
use crate::hiera::key::root_of;
use crate::hiera::layer::Environment;
use crate::hiera::manifests::{ManifestMerge, name};
use crate::hiera::merge::Strategy;
use crate::node::{NodeId, NodeSet};
use crate::puppet::json;
use crate::report::{BlindSpot, Remedy};
use crate::tree::TreeError;
use crate::value::{Hash, Value};

/// The code of such blind spots.
const MERGE: &str = "merge-in-manifest";

/// The maximum number of lookups that are made to see if merges make a difference.
const MOST_LOOKUPS: usize = 2000;

impl DiffContext<'_> {
    /// Returns a blind spot for keys whose merged values change on nodes where the report shows no change.
    pub(crate) fn merges_in_manifests(&self) -> Result<Option<BlindSpot>, TreeError> {
        let changed = changed_nodes(self.changes);
        let mut found: Vec<(Arc<str>, Vec<ManifestMerge>, NodeSet)> = Vec::new();
        let mut left = MOST_LOOKUPS;
        let environments = self.both_revisions().into_iter().flat_map(|revision| revision.environment.roots());
        for Environment { lookups, options, .. } in environments {
            if let Some(error) = &lookups.error {
                return Err(error.clone());
            }
            for (key, affected) in &self.affected.keys {
                let strategies = lookups.strategies(&root_of(key), &options.lookup_options);
                if strategies.is_empty()
                    || self.accepted.has_key(MERGE, key)
                    || found.iter().any(|(known, ..)| known == key)
                {
                    continue;
                }
                let unseen = changed.get(key).map_or_else(|| affected.clone(), |nodes| affected.difference(nodes));
                let unseen = self.differing(key, &strategies, &unseen, &mut left);
                if !unseen.is_empty() {
                    found.push((key.clone(), strategies, unseen));
                }
            }
        }
        let Some((first, strategies, _)) = found.first() else { return Ok(None) };
        let nodes = NodeSet::union_of(self.revisions.after.fleet.len(), found.iter().map(|(.., nodes)| nodes.clone()));
        let node_share = wording::nodes_of(&nodes, self.revisions.after.fleet.len());
        let names: BTreeSet<String> = strategies.iter().map(|asked| name(&asked.merge)).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(" and ");
        let place = strategies.iter().find_map(|asked| asked.places.first());
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        let others = found.len() - 1;
        let more = if others > 0 { format!(", and {} more", wording::count(others, "key")) } else { String::new() };
        Ok(Some(BlindSpot {
            code: MERGE,
            headline: format!("manifests look up '{first}' with the merge strategy {names}{more}"),
            message: format!(
                "manifests look up '{first}' with the merge strategy {names}{place}{more}: what they find changes on \
                 {node_share}, and is not shown",
            ),
            fix: Some(fix(&found)),
            nodes,
            keys: found.iter().map(|(key, ..)| key.clone()).collect(),
            ..BlindSpot::default()
        }))
    }
}

impl DiffContext<'_> {
    /// Returns the `nodes` whose value changes under one of the strategies, or may change if no lookups are `left`.
    fn differing(&self, key: &str, merges: &[ManifestMerge], nodes: &NodeSet, left: &mut usize) -> NodeSet {
        let strategy = |asked: &ManifestMerge| match &asked.merge {
            Value::Undef => Some(None),
            merge => Strategy::from_option(merge).ok().map(Some),
        };
        let strategies: Vec<Option<Strategy>> = merges.iter().filter_map(strategy).collect();
        let differs = |node: NodeId, left: &mut usize| {
            if *left < strategies.len() {
                return merges.iter().any(|asked| asked.names_key);
            }
            *left -= strategies.len();
            let [before, after] = self.both_revisions().map(|revision| revision.of_node(node));
            let value = |revision: &NodeRevision<'_>, strategy: &Option<Strategy>| {
                revision.merged(key, strategy.as_ref(), Cost::OF_KEY)
            };
            strategies.iter().any(|strategy| value(&before, strategy) != value(&after, strategy))
        };
        nodes.iter().filter(|node| differs(*node, left)).collect()
    }
}

/// Returns the setting that makes reports show what manifests look up, or accepts the keys that they look up in
/// several ways.
fn fix(found: &[(Arc<str>, Vec<ManifestMerge>, NodeSet)]) -> Remedy {
    const MAX_KEYS: usize = 8;
    let option_of_key = |(key, strategies, _): &(Arc<str>, Vec<ManifestMerge>, NodeSet)| {
        let [ManifestMerge { merge, .. }] = &strategies[..] else { return None };
        if merge.is_undef() {
            return None;
        }
        let options = Hash::from_iter([("merge", merge.clone())]);
        Some((Value::from(&*root_of(key)), Value::Hash(options.into())))
    };
    let options: Hash = found.iter().filter_map(option_of_key).take(MAX_KEYS).collect();
    if options.is_empty() {
        let keys = found.iter().take(MAX_KEYS).map(|(key, ..)| &**key);
        return accept::remedy("look at the manifests or, if it is fine, add to hierad.yaml", MERGE, keys);
    }
    let options = json::compact(&Value::Hash(options.into()));
    Remedy::with_yaml("to see in reports what they look up, add to hierad.yaml", format!("lookup_options: {options}"))
}
