//! Which keys refer to which, as far as the data shows it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::Fleet;
use super::resolve::Work;
use super::revision::Revision;
use crate::hiera::backend::{Backend, Declared, Mentions};
use crate::hiera::hierarchy::Level;
use crate::node::NodeSet;

/// Whether nobody can see what the answers of a level refer to.
fn is_opaque(level: &Level) -> bool {
    matches!(level.backend, Backend::Declared(Declared::Values(_) | Declared::Command(_)))
}

/// Which keys refer to which.
pub(super) struct References {
    /// The keys that refer to a key.
    referrers: HashMap<Arc<str>, BTreeSet<Arc<str>>, RandomState>,
    /// The keys that may refer to any.
    to_anything: BTreeSet<Arc<str>>,
}

impl References {
    /// All that the data of the revisions shows; nothing if it cannot show it.
    pub(super) fn new(revisions: [&Revision; 2], fleet: &Fleet) -> Option<References> {
        let mut references = References { referrers: HashMap::default(), to_anything: BTreeSet::new() };
        let mut seen: HashSet<usize, RandomState> = HashSet::default();
        let mut variables: HashMap<Arc<str>, bool, RandomState> = HashMap::default();
        for placed in revisions.iter().flat_map(|revision| &revision.placed) {
            for class in 0..placed.classes.len() {
                if placed.classes[class].levels.iter().flatten().any(|level| is_opaque(level)) {
                    return None;
                }
                for (_, file) in placed.files(class) {
                    if seen.insert(Arc::as_ptr(file).addr()) {
                        for (key, mentions) in file.mentions() {
                            references.add(key, mentions, fleet, &mut variables);
                        }
                    }
                }
            }
        }
        Some(references)
    }

    fn add(
        &mut self,
        key: &Arc<str>,
        mentions: &Mentions,
        fleet: &Fleet,
        variables: &mut HashMap<Arc<str>, bool, RandomState>,
    ) {
        for to in &mentions.keys {
            self.referrers.entry(to.clone()).or_default().insert(key.clone());
        }
        let mut interpolates =
            |name: &Arc<str>| *variables.entry(name.clone()).or_insert_with(|| fleet.interpolates(name));
        if mentions.anything || mentions.variables.iter().any(&mut interpolates) {
            self.to_anything.insert(key.clone());
        }
    }

    /// The root keys that something refers to.
    pub(super) fn targets(&self) -> impl Iterator<Item = &Arc<str>> {
        self.referrers.keys()
    }

    /// Adds all keys that refer to one of `keys`, over others, too, on the nodes that it counts for.
    pub(super) fn close(&self, keys: &mut Work) {
        let Some(nodes) = keys.values().cloned().reduce(|mut all, nodes| {
            all.extend(&nodes);
            all
        }) else {
            return;
        };
        self.to_anything.iter().for_each(|key| _ = add(keys, key, &nodes));
        let mut pending: Vec<Arc<str>> = keys.keys().cloned().collect();
        while let Some(key) = pending.pop() {
            let nodes = keys[&key].clone();
            for referrer in self.referrers.get(&key).into_iter().flatten() {
                if add(keys, referrer, &nodes) {
                    pending.push(referrer.clone());
                }
            }
        }
    }
}

/// Adds nodes to those of a key. Whether any of them is new.
fn add(keys: &mut Work, key: &Arc<str>, nodes: &NodeSet) -> bool {
    let known = keys.entry(key.clone()).or_default();
    let is_new = !nodes.without(known).is_empty();
    known.extend(nodes);
    is_new
}
