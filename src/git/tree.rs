//! The files of a commit. Folders are read when they are first opened, contents on each request.

use std::sync::Arc;

use super::id::CommitId;
use super::objects::folder_cache::Folder;
use super::objects::raw::{EntryKind, TreeEntry};
use super::objects::{ObjectError, Objects};
use crate::tree::{BlobId, Entry, FileTree, Graft, TreeError, child};

/// The tree of files of a commit. It is cheap to clone and can be read from many threads at once.
///
/// Names that are not UTF-8 are shown with replacement characters.
#[derive(Clone)]
pub struct CommitTree {
    objects: Arc<Objects>,
    commit: CommitId,
    root: Folder,
    root_id: [u8; 20],
}

impl CommitTree {
    pub(super) fn open(objects: &Arc<Objects>, commit: CommitId) -> Result<CommitTree, ObjectError> {
        let root_id = objects.commit(commit)?.tree;
        let root = objects.folder(root_id)?;
        Ok(CommitTree { objects: Arc::clone(objects), commit, root, root_id })
    }

    /// Returns the id of the commit.
    pub fn commit(&self) -> CommitId {
        self.commit
    }

    /// Converts the tree for use as a part of another tree.
    pub fn graft(self) -> Graft {
        Graft::Read { commit: self.commit.0, tree: Arc::new(self) }
    }

    /// Returns the folder at `path`, or `None` if there is none.
    fn folder(&self, path: &str) -> Result<Option<Folder>, TreeError> {
        if path.is_empty() {
            return Ok(Some(Arc::clone(&self.root)));
        }
        self.id_of_folder(path)?.map(|id| self.open_folder(id, path)).transpose()
    }

    /// Applies `convert` to the entry at `path`, which is not the root. Returns `None` if there is no entry.
    fn with_item<T>(&self, path: &str, convert: impl FnOnce(&TreeEntry) -> T) -> Result<Option<T>, TreeError> {
        let mut folder = Arc::clone(&self.root);
        let mut start = 0;
        while let Some(len) = path[start..].find('/') {
            let end = start + len;
            let Some(TreeEntry { kind: EntryKind::Folder, id, .. }) = find(&folder, &path[start..end]) else {
                return Ok(None);
            };
            folder = self.open_folder(*id, &path[..end])?;
            start = end + 1;
        }
        Ok(find(&folder, &path[start..]).map(convert))
    }

    /// Returns the id of the folder at `path`, which is not the root, or `None` if there is none.
    fn id_of_folder(&self, path: &str) -> Result<Option<[u8; 20]>, TreeError> {
        Ok(self.with_item(path, |item| (item.kind == EntryKind::Folder).then_some(item.id))?.flatten())
    }

    fn open_folder(&self, id: [u8; 20], path: &str) -> Result<Folder, TreeError> {
        self.objects.folder(id).map_err(|error| failed(path, &error))
    }

    /// Converts `item`; `path` is named in the error if a link's target cannot be read.
    fn entry_of(&self, item: &TreeEntry, path: impl FnOnce() -> String) -> Result<Entry, TreeError> {
        Ok(match item.kind {
            EntryKind::File => Entry::File(BlobId(item.id)),
            EntryKind::Folder => Entry::Folder,
            EntryKind::Submodule => Entry::Submodule(Some(item.id)),
            EntryKind::Link => match self.objects.link(item.id) {
                Ok(target) => Entry::Link(String::from_utf8_lossy(&target).into_owned()),
                // No system could create such a link: it is treated as one that leads out of the tree.
                Err(ObjectError::TooLarge { size, .. }) => Entry::Link(format!("/(a target of {size} bytes)")),
                Err(error) => return Err(failed(&path(), &error)),
            },
        })
    }
}

impl FileTree for CommitTree {
    fn entry(&self, path: &str) -> Result<Option<Entry>, TreeError> {
        if path.is_empty() {
            return Ok(Some(Entry::Folder));
        }
        self.with_item(path, |item| self.entry_of(item, || path.to_owned()))?.transpose()
    }

    fn folder_id(&self, path: &str) -> Option<[u8; 20]> {
        if path.is_empty() {
            return Some(self.root_id);
        }
        self.id_of_folder(path).ok()?
    }

    fn list(&self, path: &str) -> Result<Vec<(String, Entry)>, TreeError> {
        let Some(folder) = self.folder(path)? else { return Ok(Vec::new()) };
        let entry = |item: &TreeEntry| self.entry_of(item, || child(path, &item.name));
        folder.iter().map(|item| Ok((item.name.clone(), entry(item)?))).collect()
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.objects.blob(id.0).map_err(|error| failed(&id.to_string(), &error))
    }
}

fn find<'a>(folder: &'a [TreeEntry], name: &str) -> Option<&'a TreeEntry> {
    let at = folder.binary_search_by(|item| item.name.as_str().cmp(name)).ok()?;
    folder.get(at)
}

fn failed(path: &str, error: &ObjectError) -> TreeError {
    let is_too_large = matches!(error, ObjectError::TooLarge { .. } | ObjectError::LongWay { .. });
    TreeError { path: path.to_owned(), reason: error.to_string(), is_too_large }
}
