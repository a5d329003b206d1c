//! The references between keys in two revisions.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::fleet::NodesByKey;
use crate::fleet::affected::Comparison;
use crate::fleet::affected::function_references::FunctionReferences;
use crate::fleet::levels::key_references::KeyReferences;
use crate::node::NodeSet;

/// All references between keys that the data of two revisions makes.
pub(super) struct References {
    /// References of each resolved level, without duplicates.
    of_levels: Vec<Arc<KeyReferences>>,
    /// The keys that may refer to any key.
    to_anything: BTreeSet<Arc<str>>,
    of_functions: FunctionReferences,
}

impl References {
    /// Collects the references. Returns `None` if some of them cannot be seen in the data.
    pub(super) fn new(comparison: &Comparison<'_>) -> Option<References> {
        let (of_levels, of_functions) = (comparison.of_levels()?, comparison.function_references()?);
        let readers = of_levels.iter().flat_map(|references| references.readers());
        let readers = readers.filter(|(variable, _)| comparison.fleet.interpolates(variable));
        let readers = readers.flat_map(|(_, keys)| keys).chain(&of_functions.to_anything);
        let to_anything = of_levels.iter().flat_map(|references| references.to_anything());
        let to_anything = to_anything.chain(readers).cloned().collect();
        Some(References { of_levels, to_anything, of_functions })
    }

    /// Returns true if no key may refer to any other key.
    pub(super) fn are_all_seen(&self) -> bool {
        self.to_anything.is_empty() && self.of_functions.to_anything.is_empty()
    }

    /// Returns the root keys that some key refers to.
    pub(super) fn targets(&self) -> impl Iterator<Item = &Arc<str>> {
        self.of_levels.iter().flat_map(|references| references.targets()).chain(self.of_functions.referrers.keys())
    }

    /// Returns true if `key` refers to another key.
    pub(super) fn is_referrer(&self, key: &str) -> bool {
        self.to_anything.contains(key)
            || self.of_functions.has_referrer(key)
            || self.of_levels.iter().any(|references| references.is_referrer(key))
    }

    /// Returns the keys that read variables; some occur twice.
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
            let of_functions = self.of_functions.referrers.get(&key).into_iter().flatten();
            for referrer in
                self.of_levels.iter().flat_map(|references| references.referrers_of(&key)).chain(of_functions)
            {
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
