//! Which keys refer to which, as far as the data shows it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::Fleet;
use crate::fleet::answers::Work;
use crate::fleet::revision::Revision;
use crate::fleet::revision::lanes::{Keyed, moved};
use crate::fleet::revision::placed::Placed;
use crate::hiera::backend::{Backend, Declared, Mentions};
use crate::node::NodeSet;

/// Whether nobody can see what the answers of some level refer to.
fn is_opaque(placed: &Placed) -> bool {
    let mut levels = placed.classes.iter().flat_map(|class| class.part.levels.iter().flatten());
    levels.any(|level| matches!(level.backend, Backend::Declared(Declared::Values(_) | Declared::Command(_))))
}

/// Which keys refer to which in the data of a part of a hierarchy.
#[derive(Default)]
pub(in crate::fleet) struct PartReferences {
    /// The keys that refer to a key.
    referrers: HashMap<Arc<str>, BTreeSet<Arc<str>>, RandomState>,
    /// The keys that read a variable, by its name.
    readers: HashMap<Arc<str>, BTreeSet<Arc<str>>, RandomState>,
    /// The keys that may refer to any.
    to_anything: BTreeSet<Arc<str>>,
    /// Whether nobody can see it.
    is_opaque: bool,
}

impl PartReferences {
    pub(in crate::fleet) fn new(placed: &Placed) -> PartReferences {
        let mut references = PartReferences { is_opaque: is_opaque(placed), ..PartReferences::default() };
        let mut seen: HashSet<usize, RandomState> = HashSet::default();
        for (_, file) in placed.classes.iter().flat_map(|class| class.files()) {
            if seen.insert(Arc::as_ptr(file).addr()) {
                file.mentions().iter().for_each(|(key, mentions)| references.add(key, mentions));
            }
        }
        references
    }

    /// Whether they are those of `after`, too, these being the ones of `before`.
    pub(in crate::fleet) fn are_those_of(&self, before: &Placed, after: &Placed) -> bool {
        let mentions = |keyed: Vec<&Keyed>| -> BTreeSet<(Arc<str>, Mentions)> {
            let files = keyed.into_iter().filter_map(Keyed::file);
            files.flat_map(|file| file.mentions().iter().cloned()).collect()
        };
        let (gone, come) = moved(before.keyed(), after.keyed());
        self.is_opaque == is_opaque(after) && mentions(gone) == mentions(come)
    }

    fn add(&mut self, key: &Arc<str>, mentions: &Mentions) {
        for (to, known) in [(&mentions.keys, &mut self.referrers), (&mentions.variables, &mut self.readers)] {
            for to in to {
                known.entry(to.clone()).or_default().insert(key.clone());
            }
        }
        if mentions.anything {
            self.to_anything.insert(key.clone());
        }
    }
}

/// Which keys refer to which in two revisions.
pub(in crate::fleet) struct References {
    parts: Vec<Arc<PartReferences>>,
    /// The keys that may refer to any.
    to_anything: BTreeSet<Arc<str>>,
}

impl References {
    /// All that the data of the revisions shows; nothing if it cannot show it.
    pub(in crate::fleet) fn new(revisions: [&Revision; 2], fleet: &Fleet) -> Option<References> {
        let mut parts: Vec<Arc<PartReferences>> = Vec::new();
        for part in revisions.iter().flat_map(|revision| &revision.placed).map(|placed| placed.references()) {
            if part.is_opaque {
                return None;
            }
            if !parts.iter().any(|known| Arc::ptr_eq(known, part)) {
                parts.push(part.clone());
            }
        }
        let readers = parts.iter().flat_map(|part| &part.readers).filter(|(name, _)| fleet.interpolates(name));
        let readers = readers.flat_map(|(_, keys)| keys);
        let to_anything = parts.iter().flat_map(|part| &part.to_anything).chain(readers).cloned().collect();
        Some(References { parts, to_anything })
    }

    /// The root keys that something refers to.
    pub(in crate::fleet) fn targets(&self) -> impl Iterator<Item = &Arc<str>> {
        self.parts.iter().flat_map(|part| part.referrers.keys())
    }

    /// Adds all keys that refer to one of `keys`, over others, too, on the nodes that it counts for.
    pub(in crate::fleet) fn close(&self, keys: &mut Work) {
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
            for referrer in self.parts.iter().filter_map(|part| part.referrers.get(&key)).flatten() {
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
