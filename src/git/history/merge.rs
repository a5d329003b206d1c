//! Merges two commits in memory, as if one branch were merged into another.
//!
//! This is git's three-way merge without the detection of renames: a file that one side has renamed and the other has
//! edited is a conflict here. Only folders that both sides have changed are opened, so the cost depends on what both
//! have changed, not on the size of the trees.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use git2::{MergeFileInput, ObjectType, Oid};

use super::HistoryError;
use crate::git::id::CommitId;
use crate::git::objects::ObjectError;
use crate::git::tree::CommitTree;
use crate::tree::{BlobId, Entry, Extent, FileTree, TreeError, child};

/// The maximum size of a file whose lines are merged, in bytes.
const MOST_MERGED: usize = 4 << 20;

/// The reason for a conflict at a path that is a file on one side, and a folder, link or submodule on another.
const DIFFERENT_KINDS: &str = ": it is not the same kind of file on both";

/// Two commits to merge, and the commit at which their histories diverge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Merge {
    /// The common ancestor.
    pub base: CommitId,
    /// The commit that takes the changes.
    pub ours: CommitId,
    /// The commit whose changes since the base are taken.
    pub theirs: CommitId,
}

/// The reason why two commits are not merged.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MergeError {
    /// A commit cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// A folder or a file cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The history cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// They have more than one merge base.
    #[error("they have several merge bases, since each has merged a part of the other")]
    SeveralBases,
    /// Both have changed the same file or folder.
    #[error("both sides have changed {path}{reason}")]
    Conflict {
        /// The path of the file or folder.
        path: String,
        /// The special reason for the conflict; empty if lines conflict.
        reason: &'static str,
    },
}

/// The files of two merged commits.
#[derive(Clone)]
pub struct MergedTree {
    ours: CommitTree,
    theirs: CommitTree,
    /// The entries that differ from ours, by path; `None` where there is nothing. A folder is entirely theirs.
    taken: BTreeMap<String, Option<Entry>>,
    /// The merged files, which neither side has.
    merged: HashMap<BlobId, Vec<u8>>,
}

impl MergedTree {
    pub(in crate::git) fn new([base, ours, theirs]: [CommitTree; 3]) -> Result<MergedTree, MergeError> {
        let mut tree = MergedTree { ours, theirs, taken: BTreeMap::new(), merged: HashMap::new() };
        let (mut extent, mut pending) = (Extent::default(), vec![String::new()]);
        while let Some(folder) = pending.pop() {
            extent.see(&folder)?;
            let sides = [&base, &tree.ours, &tree.theirs];
            let lists = sides.map(|side| side.list(&folder).map(|list| list.into_iter().collect::<BTreeMap<_, _>>()));
            let [base_has, ours_has, theirs_has] = lists;
            let lists = [base_has?, ours_has?, theirs_has?];
            let names: BTreeSet<&String> = lists.iter().flat_map(BTreeMap::keys).collect();
            for name in names {
                let path = child(&folder, name);
                let entries = [0, 1, 2].map(|side: usize| lists[side].get(name));
                if tree.take_theirs(&base, &path, entries)? {
                    pending.push(path);
                }
            }
        }
        Ok(tree)
    }

    /// Takes the entry of theirs at a path, if it has changed. Returns true for a folder that has to be opened.
    fn take_theirs(&mut self, base: &CommitTree, path: &str, entries: [Option<&Entry>; 3]) -> Result<bool, MergeError> {
        let [was, ours, theirs] = [0, 1, 2].map(|side: usize| {
            let tree = [base, &self.ours, &self.theirs][side];
            (entries[side], entries[side].filter(|entry| **entry == Entry::Folder).map(|_| tree.folder_id(path)))
        });
        if ours == theirs || was == theirs {
            return Ok(false);
        }
        if was == ours {
            self.taken.insert(path.to_owned(), theirs.0.cloned());
            return Ok(false);
        }
        let conflict = |reason| Err(MergeError::Conflict { path: path.to_owned(), reason });
        let is_file = |entry: Option<&Entry>| entry.is_some_and(|entry| *entry != Entry::Folder);
        match (was.0, ours.0, theirs.0) {
            (_, ours, theirs) if !is_file(ours) && !is_file(theirs) => Ok(true),
            (was, Some(Entry::File(here)), Some(Entry::File(there))) if was.is_none() || is_file(was) => {
                let was = if let Some(Entry::File(was)) = was { Some(*was) } else { None };
                let id = self.merge_lines(path, was, [*here, *there])?;
                self.taken.insert(path.to_owned(), Some(Entry::File(id)));
                Ok(false)
            }
            (was, _, None) if is_file(was) => {
                conflict(": it is edited on one, and is gone or has another name on the other")
            }
            (was, None, _) if is_file(was) => {
                conflict(": it is gone or has another name on one, and is edited on the other")
            }
            _ => conflict(DIFFERENT_KINDS),
        }
    }

    /// Merges the lines of a file.
    fn merge_lines(&mut self, path: &str, base: Option<BlobId>, sides: [BlobId; 2]) -> Result<BlobId, MergeError> {
        let conflict = |reason| MergeError::Conflict { path: path.to_owned(), reason };
        let base = base.map(|id| self.ours.read(id)).transpose()?.unwrap_or_default();
        let [ours, theirs] = [self.ours.read(sides[0])?, self.ours.read(sides[1])?];
        if [&base, &ours, &theirs].iter().any(|content| content.len() > MOST_MERGED) {
            return Err(conflict(", which is too large to be merged"));
        }
        let [base, ours, theirs] = [&base, &ours, &theirs].map(|content| {
            let mut input = MergeFileInput::new();
            input.content(content);
            input
        });
        let merged = git2::merge_file(&base, &ours, &theirs, None).map_err(|_| conflict(", which cannot be merged"))?;
        if !merged.is_automergeable() {
            return Err(conflict(""));
        }
        let content = merged.content().to_vec();
        let id = Oid::hash_object(ObjectType::Blob, &content).map_err(|_| conflict(", which has no id"))?;
        let id: [u8; 20] = id.as_bytes().try_into().map_err(|_| conflict(", which has no id"))?;
        self.merged.insert(BlobId(id), content);
        Ok(BlobId(id))
    }

    /// Returns the entry taken at a path: its own or, if a folder above it is taken, that of theirs.
    fn taken_entry(&self, path: &str) -> Option<Result<Option<Entry>, TreeError>> {
        if let Some(entry) = self.taken.get(path) {
            return Some(Ok(entry.clone()));
        }
        let mut above = path;
        while let Some((folder, _)) = above.rsplit_once('/') {
            match self.taken.get(folder) {
                Some(Some(Entry::Folder)) => return Some(self.theirs.entry(path)),
                Some(_) => return Some(Ok(None)),
                None => above = folder,
            }
        }
        None
    }

    /// Returns the entries taken below a folder that is only partly taken.
    fn below(&self, path: &str) -> impl Iterator<Item = (&str, &Option<Entry>)> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let from = self.taken.range(prefix.clone()..);
        from.map_while(move |(path, entry)| Some((path.strip_prefix(&prefix)?, entry)))
    }
}

impl FileTree for MergedTree {
    fn entry(&self, path: &str) -> Result<Option<Entry>, TreeError> {
        if let Some(taken) = self.taken_entry(path) {
            return taken;
        }
        if self.below(path).next().is_none() {
            return self.ours.entry(path);
        }
        // As in git, there are no empty folders.
        Ok(Some(Entry::Folder).filter(|_| path.is_empty() || !self.list(path).is_ok_and(|list| list.is_empty())))
    }

    fn list(&self, path: &str) -> Result<Vec<(String, Entry)>, TreeError> {
        match self.taken_entry(path).transpose()? {
            Some(Some(Entry::Folder)) => return self.theirs.list(path),
            Some(_) => return Ok(Vec::new()),
            None => {}
        }
        let mut list: BTreeMap<String, Entry> = self.ours.list(path)?.into_iter().collect();
        for (below, entry) in self.below(path) {
            match (below.split_once('/'), entry) {
                (None, Some(entry)) => _ = list.insert(below.to_owned(), entry.clone()),
                (None, None) => _ = list.remove(below),
                (Some((folder, _)), Some(_)) => _ = list.entry(folder.to_owned()).or_insert(Entry::Folder),
                (Some(_), None) => {}
            }
        }
        let partly: BTreeSet<&str> = self.below(path).filter_map(|(below, _)| Some(below.split_once('/')?.0)).collect();
        for folder in partly {
            if self.entry(&child(path, folder))?.is_none() {
                list.remove(folder);
            }
        }
        Ok(list.into_iter().collect())
    }

    fn folder_id(&self, path: &str) -> Option<[u8; 20]> {
        match self.taken_entry(path) {
            Some(Ok(Some(Entry::Folder))) => self.theirs.folder_id(path),
            Some(_) => None,
            None if self.below(path).next().is_some() => None,
            None => self.ours.folder_id(path),
        }
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.merged.get(&id).map_or_else(|| self.ours.read(id), |content| Ok(content.clone()))
    }
}
