//! A cache of git's tree objects (folders), by their ids.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::RandomState;

use super::raw::TreeEntry;

/// The entries of a folder.
pub(in crate::git) type Folder = Arc<[TreeEntry]>;

/// The maximum number of names in all folders of one generation.
const MAX_NAMES: usize = 1 << 13;

/// A generation has room for this many of the largest folders.
const LARGEST_FOLDERS: usize = 4;

/// Folders in two generations. When the young one is full, the old one is dropped; a folder in use moves back to the
/// young one. So folders in use stay, and memory does not grow with the commits that are read.
#[derive(Default)]
pub(super) struct FolderCache(RwLock<Generations>);

#[derive(Default)]
struct Generations {
    young: HashMap<[u8; 20], Folder, RandomState>,
    old: HashMap<[u8; 20], Folder, RandomState>,
    /// The number of names in the young generation.
    names: usize,
    /// The number of names in the largest folder so far.
    largest: usize,
}

impl FolderCache {
    /// Returns a folder, or `None` if it is not cached.
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

    /// Adds a folder to the young generation.
    pub(super) fn keep(&self, id: [u8; 20], folder: &Folder) {
        let mut generations = self.0.write().unwrap_or_else(PoisonError::into_inner);
        generations.largest = generations.largest.max(folder.len());
        if generations.names + folder.len() > MAX_NAMES.max(LARGEST_FOLDERS * generations.largest) {
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
    use super::*;
    use crate::git::objects::raw::EntryKind;

    #[test]
    fn folders_in_use_stay_and_others_are_dropped() {
        let folders = FolderCache::default();
        let item = || TreeEntry { name: "a".to_owned(), kind: EntryKind::Submodule, id: [0; 20] };
        let folder: Folder = std::iter::repeat_with(item).take(MAX_NAMES / 4).collect();
        let id = |number: u8| [number; 20];
        for number in 0..100 {
            folders.keep(id(number), &folder);
            assert!(folders.get(&id(0)).is_some());
        }
        let cached: Vec<u8> = (0..100).filter(|number| folders.get(&id(*number)).is_some()).collect();
        assert!(cached.len() <= 2 * LARGEST_FOLDERS, "{cached:?}");
        assert!(cached.contains(&0) && cached.contains(&99), "{cached:?}");
    }
}
