//! The references between keys in the data of one level, as far as the data shows them.
//!
//! Each reference is counted by the files that make it, so an update needs only the files that are added and
//! removed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::levels::key_source::{KeySource, removed_and_added};
use crate::hiera::backend::Mentions;

/// Keys, each with the number of files in which it makes a reference.
type Counted = BTreeMap<Arc<str>, usize>;

/// Keys by the name that they refer to.
type ByName = HashMap<Arc<str>, Arc<Counted>, RandomState>;

/// The references between keys in the data of one level.
#[derive(Clone, Default)]
pub(in crate::fleet) struct KeyReferences {
    /// The keys that refer to a key, by that key.
    referrers: ByName,
    /// The keys that read a variable, by its name.
    readers: ByName,
    /// The keys that may refer to any key.
    to_anything: Counted,
    is_opaque: bool,
}

impl KeyReferences {
    /// Collects the references in `sources`, which may contain duplicates. `is_opaque` tells if there are references
    /// that cannot be seen.
    pub(super) fn new<'k>(sources: impl Iterator<Item = &'k KeySource>, is_opaque: bool) -> KeyReferences {
        let mut references = KeyReferences { is_opaque, ..KeyReferences::default() };
        let (_, sources) = removed_and_added(std::iter::empty(), sources);
        mentions(&sources).for_each(|(key, mentions)| references.count(key, mentions, |count| count + 1));
        references
    }

    /// Returns the references in the sources `after`, given that these are the references in the sources `before`.
    pub(super) fn updated<'k>(
        self: &Arc<Self>,
        before: impl Iterator<Item = &'k KeySource>,
        after: impl Iterator<Item = &'k KeySource>,
        is_opaque: bool,
    ) -> Arc<KeyReferences> {
        let mut updated = self.clone();
        let (removed, added) = removed_and_added(before, after);
        if !mentions(&removed).eq(mentions(&added)) {
            let updated = Arc::make_mut(&mut updated);
            mentions(&added).for_each(|(key, mentions)| updated.count(key, mentions, |count| count + 1));
            mentions(&removed)
                .for_each(|(key, mentions)| updated.count(key, mentions, |count| count.saturating_sub(1)));
        }
        if updated.is_opaque != is_opaque {
            Arc::make_mut(&mut updated).is_opaque = is_opaque;
        }
        updated
    }

    /// Returns true if there are references that cannot be seen.
    pub(in crate::fleet) fn is_opaque(&self) -> bool {
        self.is_opaque
    }

    /// Returns the keys that some key refers to.
    pub(in crate::fleet) fn targets(&self) -> impl Iterator<Item = &Arc<str>> {
        self.referrers.keys()
    }

    /// Returns the keys that refer to `key`.
    pub(in crate::fleet) fn referrers_of(&self, key: &str) -> impl Iterator<Item = &Arc<str>> {
        self.referrers.get(key).into_iter().flat_map(|keys| keys.keys())
    }

    /// Returns true if `key` refers to some key that its data names.
    pub(in crate::fleet) fn is_referrer(&self, key: &str) -> bool {
        self.referrers.values().any(|keys| keys.contains_key(key))
    }

    /// Returns the variables that are read, each with the keys that read it.
    pub(in crate::fleet) fn readers(&self) -> impl Iterator<Item = (&Arc<str>, impl Iterator<Item = &Arc<str>>)> {
        self.readers.iter().map(|(variable, keys)| (variable, keys.keys()))
    }

    /// Returns the keys that may refer to any key.
    pub(in crate::fleet) fn to_anything(&self) -> impl Iterator<Item = &Arc<str>> {
        self.to_anything.keys()
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

/// Returns the references that each key makes in some sources.
fn mentions<'k>(sources: &[&'k KeySource]) -> impl Iterator<Item = &'k (Arc<str>, Mentions)> {
    sources.iter().filter_map(|source| source.file()).flat_map(|file| file.mentions())
}

/// Changes the count of `key`. Returns `None` if no key is left.
fn change_count(keys: &mut Counted, key: &Arc<str>, change: fn(usize) -> usize) -> Option<()> {
    match change(keys.get(key).copied().unwrap_or_default()) {
        0 => _ = keys.remove(key),
        count => _ = keys.insert(key.clone(), count),
    }
    (!keys.is_empty()).then_some(())
}
