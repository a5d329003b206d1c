//! The references between keys in two revisions.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::fleet::levels::key_references::KeyReferences;
use crate::fleet::revision::Revision;
use crate::fleet::{Fleet, NodesByKey};
use crate::node::NodeSet;

/// All references between keys that the data of two revisions makes.
pub(super) struct References {
    /// Those of each resolved level, equal ones once.
    of_levels: Vec<Arc<KeyReferences>>,
    /// The keys that may refer to any key.
    to_anything: BTreeSet<Arc<str>>,
}

impl References {
    /// Collects the references. Returns `None` if some of them cannot be seen in the data.
    pub(super) fn new(revisions: [&Revision; 2], fleet: &Fleet) -> Option<References> {
        let mut of_levels: Vec<Arc<KeyReferences>> = Vec::new();
        for references in revisions.iter().flat_map(|revision| &revision.levels).map(|levels| levels.references()) {
            if references.is_opaque() {
                return None;
            }
            if !of_levels.iter().any(|known| Arc::ptr_eq(known, references)) {
                of_levels.push(references.clone());
            }
        }
        let readers = of_levels.iter().flat_map(|references| references.readers());
        let readers = readers.filter(|(variable, _)| fleet.interpolates(variable)).flat_map(|(_, keys)| keys);
        let to_anything = of_levels.iter().flat_map(|references| references.to_anything());
        let to_anything = to_anything.chain(readers).cloned().collect();
        Some(References { of_levels, to_anything })
    }

    /// Returns the root keys that some key refers to.
    pub(super) fn targets(&self) -> impl Iterator<Item = &Arc<str>> {
        self.of_levels.iter().flat_map(|references| references.targets())
    }

    /// Returns true if `key` refers to another key.
    pub(super) fn is_referrer(&self, key: &str) -> bool {
        self.to_anything.contains(key) || self.of_levels.iter().any(|references| references.is_referrer(key))
    }

    /// Returns the keys that read variables, some of them twice.
    pub(super) fn readers(&self) -> impl Iterator<Item = &Arc<str>> {
        self.of_levels.iter().flat_map(|references| references.readers()).flat_map(|(_, keys)| keys)
    }

    /// Adds all keys that refer to one of `keys`, directly or not, on the nodes of that key.
    pub(super) fn close(&self, keys: &mut NodesByKey) {
        let Some(nodes) = keys.values().cloned().reduce(|mut all, nodes| {
            all.union_with(&nodes);
            all
        }) else {
            return;
        };
        self.to_anything.iter().for_each(|key| _ = add(keys, key, &nodes));
        let mut pending: Vec<Arc<str>> = keys.keys().cloned().collect();
        while let Some(key) = pending.pop() {
            let nodes = keys[&key].clone();
            for referrer in self.of_levels.iter().flat_map(|references| references.referrers_of(&key)) {
                if add(keys, referrer, &nodes) {
                    pending.push(referrer.clone());
                }
            }
        }
    }
}

/// Adds nodes to those of a key. Returns true if some of them are new.
fn add(keys: &mut NodesByKey, key: &Arc<str>, nodes: &NodeSet) -> bool {
    let known = keys.entry(key.clone()).or_default();
    let is_new = !nodes.difference(known).is_empty();
    known.union_with(nodes);
    is_new
}
