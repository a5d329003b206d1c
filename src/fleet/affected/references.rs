//! Which keys refer to which, as far as the data shows it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::Fleet;
use crate::fleet::resolve::NodesByKey;
use crate::fleet::revision::Revision;
use crate::fleet::revision::lanes::{Keyed, moved};
use crate::fleet::revision::placed::Placed;
use crate::hiera::backend::Mentions;
use crate::node::NodeSet;

/// Keys, and in how many files each is so.
type Counted = BTreeMap<Arc<str>, usize>;

/// Keys by what they mention.
type ByName = HashMap<Arc<str>, Arc<Counted>, RandomState>;

/// Which keys refer to which in the data of a part of a hierarchy.
#[derive(Clone, Default)]
pub(in crate::fleet) struct PartReferences {
    /// The keys that refer to a key.
    referrers: ByName,
    /// The keys that read a variable, by its name.
    readers: ByName,
    /// The keys that may refer to any.
    to_anything: Counted,
    /// Whether nobody can see it.
    is_opaque: bool,
}

impl PartReferences {
    pub(in crate::fleet) fn new(placed: &Placed) -> PartReferences {
        let mut references = PartReferences { is_opaque: placed.is_opaque(), ..PartReferences::default() };
        let (_, files) = moved(std::iter::empty(), placed.keyed());
        mentions(&files).for_each(|(key, mentions)| references.count(key, mentions, |count| count + 1));
        references
    }

    /// Those of `after`, these being the ones of `before`.
    pub(in crate::fleet) fn updated(self: &Arc<Self>, before: &Placed, after: &Placed) -> Arc<PartReferences> {
        let mut updated = self.clone();
        let (gone, come) = moved(before.keyed(), after.keyed());
        if !mentions(&gone).eq(mentions(&come)) {
            let updated = Arc::make_mut(&mut updated);
            mentions(&come).for_each(|(key, mentions)| updated.count(key, mentions, |count| count + 1));
            mentions(&gone).for_each(|(key, mentions)| updated.count(key, mentions, |count| count.saturating_sub(1)));
        }
        let is_opaque = after.is_opaque();
        if updated.is_opaque != is_opaque {
            Arc::make_mut(&mut updated).is_opaque = is_opaque;
        }
        updated
    }

    fn count(&mut self, key: &Arc<str>, mentions: &Mentions, change: fn(usize) -> usize) {
        for (names, known) in [(&mentions.keys, &mut self.referrers), (&mentions.variables, &mut self.readers)] {
            for name in names {
                let keys = known.entry(name.clone()).or_default();
                if change_count(Arc::make_mut(keys), key, change).is_none() {
                    known.remove(name);
                }
            }
        }
        if mentions.anything {
            change_count(&mut self.to_anything, key, change);
        }
    }
}

/// What the files mention.
fn mentions<'k>(files: &[&'k Keyed]) -> impl Iterator<Item = &'k (Arc<str>, Mentions)> {
    files.iter().filter_map(|keyed| keyed.file()).flat_map(|file| file.mentions())
}

/// Changes how often `key` is counted; nothing if no key is left.
fn change_count(keys: &mut Counted, key: &Arc<str>, change: fn(usize) -> usize) -> Option<()> {
    match change(keys.get(key).copied().unwrap_or_default()) {
        0 => _ = keys.remove(key),
        count => _ = keys.insert(key.clone(), count),
    }
    (!keys.is_empty()).then_some(())
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
        let readers = readers.flat_map(|(_, keys)| keys.keys());
        let to_anything = parts.iter().flat_map(|part| part.to_anything.keys()).chain(readers).cloned().collect();
        Some(References { parts, to_anything })
    }

    /// The root keys that something refers to.
    pub(in crate::fleet) fn targets(&self) -> impl Iterator<Item = &Arc<str>> {
        self.parts.iter().flat_map(|part| part.referrers.keys())
    }

    /// Whether `key` refers to any.
    pub(in crate::fleet) fn is_referrer(&self, key: &str) -> bool {
        let mut referrers = self.parts.iter().flat_map(|part| part.referrers.values());
        self.to_anything.contains(key) || referrers.any(|keys| keys.contains_key(key))
    }

    /// The keys that read variables, some of them again.
    pub(in crate::fleet) fn readers(&self) -> impl Iterator<Item = &Arc<str>> {
        self.parts.iter().flat_map(|part| part.readers.values()).flat_map(|keys| keys.keys())
    }

    /// Adds all keys that refer to one of `keys`, over others, too, on the nodes that it counts for.
    pub(in crate::fleet) fn close(&self, keys: &mut NodesByKey) {
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
            for referrer in self.parts.iter().filter_map(|part| part.referrers.get(&key)).flat_map(|keys| keys.keys()) {
                if add(keys, referrer, &nodes) {
                    pending.push(referrer.clone());
                }
            }
        }
    }
}

/// Adds nodes to those of a key. Whether any of them is new.
fn add(keys: &mut NodesByKey, key: &Arc<str>, nodes: &NodeSet) -> bool {
    let known = keys.entry(key.clone()).or_default();
    let is_new = !nodes.difference(known).is_empty();
    known.union_with(nodes);
    is_new
}
