//! FolderCache that were read, kept for whoever asks for them next.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::RandomState;

use super::raw::TreeEntry;

/// A folder's names.
pub(super) type Folder = Arc<[TreeEntry]>;

/// How many names the folders of a generation may hold together.
const NAMES: usize = 1 << 13;

/// So many of the largest folders have a place in a generation.
const LARGEST: usize = 4;

/// FolderCache by their ids, in two generations: when the younger one is full, the older one is forgotten. So what is of use stays, and
/// memory does not grow with the commits that are looked at.
#[derive(Default)]
pub(super) struct FolderCache(RwLock<Generations>);

#[derive(Default)]
struct Generations {
    young: HashMap<[u8; 20], Folder, RandomState>,
    old: HashMap<[u8; 20], Folder, RandomState>,
    /// How many names the younger ones hold.
    names: usize,
    /// How many the largest of all had.
    largest: usize,
}

impl FolderCache {
    /// A folder, if it is known.
    pub(super) fn get(&self, id: &[u8; 20]) -> Option<Folder> {
        let generations = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = generations.young.get(id) {
            return Some(folder.clone());
        }
        let folder = generations.old.get(id)?.clone();
        drop(generations);
        self.keep(*id, &folder);
        Some(folder)
    }

    /// Keeps a folder, as one of the younger ones.
    pub(super) fn keep(&self, id: [u8; 20], folder: &Folder) {
        let mut generations = self.0.write().unwrap_or_else(PoisonError::into_inner);
        generations.largest = generations.largest.max(folder.len());
        if generations.names + folder.len() > NAMES.max(LARGEST * generations.largest) {
            generations.old = mem::take(&mut generations.young);
            generations.names = 0;
        }
        if generations.young.insert(id, folder.clone()).is_none() {
            generations.names += folder.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::raw::EntryKind;
    use super::*;

    #[test]
    fn what_is_of_use_stays_and_the_rest_is_forgotten() {
        let folders = FolderCache::default();
        let item = || TreeEntry { name: "a".to_owned(), kind: EntryKind::Submodule, id: [0; 20] };
        let folder: Folder = std::iter::repeat_with(item).take(NAMES / 4).collect();
        let id = |number: u8| [number; 20];
        for number in 0..100 {
            folders.keep(id(number), &folder);
            assert!(folders.get(&id(0)).is_some());
        }
        let kept: Vec<u8> = (0..100).filter(|number| folders.get(&id(*number)).is_some()).collect();
        assert!(kept.len() <= 2 * LARGEST, "{kept:?}");
        assert!(kept.contains(&0) && kept.contains(&99), "{kept:?}");
    }
}
