//! A tree that tells what was looked at.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::{BlobId, Entry, FileTree, TreeError};

/// A tree that takes note of what is asked for.
pub struct Watched<'a> {
    tree: &'a dyn FileTree,
    looked: Mutex<Looked>,
}

/// What was looked at in a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Looked {
    /// The paths whose entries were asked for.
    pub entries: BTreeSet<String>,
    /// The folders whose names were asked for.
    pub folders: BTreeSet<String>,
}

impl<'a> Watched<'a> {
    /// Watches `tree`.
    pub fn new(tree: &'a dyn FileTree) -> Watched<'a> {
        Watched { tree, looked: Mutex::default() }
    }

    /// What was looked at since this was asked last.
    pub fn take(&self) -> Looked {
        std::mem::take(&mut *self.looked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl FileTree for Watched<'_> {
    fn root(&self) -> &str {
        self.tree.root()
    }

    fn entry(&self, path: &str) -> Result<Option<Entry>, TreeError> {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner).entries.insert(path.to_owned());
        self.tree.entry(path)
    }

    fn list(&self, path: &str) -> Result<Vec<(String, Entry)>, TreeError> {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner).folders.insert(path.to_owned());
        self.tree.list(path)
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.tree.read(id)
    }
}
