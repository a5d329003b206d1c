//! A tree that records which paths were accessed.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::{BlobId, ContentId, ContentIds, Entry, FileTree, TreeError};

/// A tree that records the paths that are accessed in another tree.
pub struct RecordingTree<'a> {
    tree: &'a dyn FileTree,
    accessed: Mutex<AccessedPaths>,
}

/// The paths that were accessed in a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessedPaths {
    /// The paths whose entries were asked for.
    pub entries: BTreeSet<String>,
    /// The folders whose names were asked for.
    pub folders: BTreeSet<String>,
    /// The folders whose whole content was asked for.
    pub below: BTreeSet<String>,
}

impl AccessedPaths {
    /// Removes the paths that are in all of `all`, and returns them.
    pub fn common<'l>(all: impl Iterator<Item = &'l mut AccessedPaths>) -> AccessedPaths {
        let mut all: Vec<&mut AccessedPaths> = all.collect();
        let is_in_all = |path: &String, field: fn(&AccessedPaths) -> &BTreeSet<String>| {
            all.iter().all(|one| field(one).contains(path))
        };
        let mut common = all.first().map(|first| (**first).clone()).unwrap_or_default();
        common.entries.retain(|path| is_in_all(path, |accessed| &accessed.entries));
        common.folders.retain(|path| is_in_all(path, |accessed| &accessed.folders));
        common.below.retain(|path| is_in_all(path, |accessed| &accessed.below));
        for one in &mut all {
            one.entries.retain(|path| !common.entries.contains(path));
            one.folders.retain(|path| !common.folders.contains(path));
            one.below.retain(|path| !common.below.contains(path));
        }
        common
    }
}

impl<'a> RecordingTree<'a> {
    /// Records the accesses to `tree`.
    pub fn new(tree: &'a dyn FileTree) -> RecordingTree<'a> {
        RecordingTree { tree, accessed: Mutex::default() }
    }

    /// Returns the paths that were accessed since the last call.
    pub fn take(&self) -> AccessedPaths {
        std::mem::take(&mut *self.accessed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl FileTree for RecordingTree<'_> {
    fn root(&self) -> &str {
        self.tree.root()
    }

    fn entry(&self, path: &str) -> Result<Option<Entry>, TreeError> {
        self.accessed.lock().unwrap_or_else(PoisonError::into_inner).entries.insert(path.to_owned());
        self.tree.entry(path)
    }

    fn list(&self, path: &str) -> Result<Vec<(String, Entry)>, TreeError> {
        self.accessed.lock().unwrap_or_else(PoisonError::into_inner).folders.insert(path.to_owned());
        self.tree.list(path)
    }

    fn folder_id(&self, path: &str) -> Option<[u8; 20]> {
        self.accessed.lock().unwrap_or_else(PoisonError::into_inner).below.insert(path.to_owned());
        self.tree.folder_id(path)
    }

    fn content_id(&self, path: &str, known: &ContentIds) -> Result<ContentId, TreeError> {
        self.accessed.lock().unwrap_or_else(PoisonError::into_inner).below.insert(path.to_owned());
        self.tree.content_id(path, known)
    }

    fn content_id_beginning(&self, path: &str, name: &str, known: &ContentIds) -> Result<Option<ContentId>, TreeError> {
        self.accessed.lock().unwrap_or_else(PoisonError::into_inner).below.insert(path.to_owned());
        self.tree.content_id_beginning(path, name, known)
    }

    fn commit_at(&self, path: &str) -> Result<Option<[u8; 20]>, TreeError> {
        self.accessed.lock().unwrap_or_else(PoisonError::into_inner).entries.insert(path.to_owned());
        self.tree.commit_at(path)
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.tree.read(id)
    }

    fn is_on_disk(&self, id: BlobId) -> bool {
        self.tree.is_on_disk(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{MemoryTree, follow};

    #[test]
    fn what_all_looked_at_is_taken_out() {
        let tree = MemoryTree::from_fixture("-- data/nodes/a.yaml\na: 1\n");
        let watched = RecordingTree::new(&tree);
        let mut looked = ["data/nodes/a.yaml", "data/nodes/b.yaml"].map(|path| {
            follow(&watched, path).unwrap();
            watched.take()
        });
        let common = AccessedPaths::common(looked.iter_mut());
        let names = |looked: &AccessedPaths| looked.entries.iter().cloned().collect::<Vec<_>>();
        assert_eq!(names(&common), ["data", "data/nodes"]);
        assert_eq!(looked.each_ref().map(names), [["data/nodes/a.yaml"], ["data/nodes/b.yaml"]]);
    }
}
