//! The checked-out files as a tree: as if everything in the work tree were committed, including ignored files. Files
//! that a sparse checkout leaves out are read from the index, and so are files that git converts and considers
//! unchanged.

mod staged;
pub(super) mod tracked;

use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::objects::Objects;
use crate::disk::{FrozenFiles, failed, is_absence};
use crate::tree::{BlobId, Entry, FileTree, TreeError, child};

use staged::Staged;

/// The files of a work tree, each as it is on disk when it is first read.
pub struct WorkTree {
    root: PathBuf,
    frozen_files: FrozenFiles,
    /// The git directory of the work tree and the repository's objects, if it has any.
    repository: Option<(PathBuf, Arc<Objects>)>,
    /// The entries of the index that the files on disk do not show, once they are needed.
    staged: OnceLock<Result<Staged, String>>,
}

impl WorkTree {
    /// Makes the tree of the files below the folder `root`.
    pub fn new(root: impl Into<PathBuf>) -> WorkTree {
        let (frozen_files, staged) = (FrozenFiles::default(), OnceLock::new());
        WorkTree { root: root.into(), frozen_files, repository: None, staged }
    }

    /// Uses the index of a git directory for files that are not on disk.
    pub(super) fn with_index(self, git_dir: &Path, objects: &Arc<Objects>) -> WorkTree {
        WorkTree { repository: Some((git_dir.to_owned(), Arc::clone(objects))), ..self }
    }

    /// Sets the size of the largest file that is read, in bytes.
    #[must_use]
    pub fn reading_at_most(self, bytes: u64) -> WorkTree {
        WorkTree { frozen_files: FrozenFiles::of_at_most(bytes), ..self }
    }

    /// Returns the folder that holds the files.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn staged(&self) -> Result<&Staged, TreeError> {
        let read = || {
            self.repository.as_ref().map_or(Ok(Staged::default()), |(folder, objects)| Staged::read(folder, objects))
        };
        self.staged.get_or_init(read).as_ref().map_err(|reason| TreeError::new("git's index", reason.as_str()))
    }

    /// Returns the commit that a submodule is at, or `None` for a repository that is not a submodule.
    fn commit_of(&self, path: &str, disk: &Path) -> Result<Option<[u8; 20]>, TreeError> {
        let Some(Entry::Submodule(staged)) = self.staged()?.submodules.entry(path)? else { return Ok(None) };
        let head = git2::Repository::open(disk).and_then(|repository| repository.refname_to_id("HEAD"));
        Ok(head.ok().and_then(|id| id.as_bytes().try_into().ok()).or(staged))
    }

    /// Returns the id of a file whose content on disk has the id `content_id`: the index's id, if git has converted the
    /// file.
    fn id_of(&self, path: &str, disk: &Path, content_id: BlobId) -> BlobId {
        if self.repository.is_none() {
            return content_id;
        }
        let metadata = fs::symlink_metadata(disk).ok();
        metadata.and_then(|metadata| self.staged().ok()?.unchanged(path, &metadata)).unwrap_or(content_id)
    }

    fn entry_at(&self, path: &str, disk: &Path) -> Result<Option<Entry>, TreeError> {
        let found = fs::symlink_metadata(disk).map(|metadata| metadata.file_type());
        match found.and_then(|kind| self.entry_of(path, disk, kind)) {
            Ok(Some(Entry::Submodule(_))) => Ok(Some(Entry::Submodule(self.commit_of(path, disk)?))),
            Ok(Some(Entry::File(id))) => Ok(Some(Entry::File(self.id_of(path, disk, id)))),
            Ok(entry) => Ok(entry),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(failed(path, &error)),
        }
    }

    fn entry_of(&self, path: &str, disk: &Path, kind: FileType) -> io::Result<Option<Entry>> {
        Ok(if kind.is_symlink() {
            Some(Entry::Link(fs::read_link(disk)?.to_string_lossy().into_owned()))
        } else if kind.is_dir() {
            let has_git = || fs::symlink_metadata(disk.join(".git")).is_ok();
            let is_repository = !path.is_empty() && (has_git() || self.is_left_empty(path, disk)?);
            Some(if is_repository { Entry::Submodule(None) } else { Entry::Folder })
        } else if kind.is_file() {
            Some(Entry::File(self.frozen_files.file(path, disk)?))
        } else {
            None // sockets, pipes and devices are nothing to git
        })
    }

    /// Returns true for the empty folder of a submodule that is not checked out.
    fn is_left_empty(&self, path: &str, disk: &Path) -> io::Result<bool> {
        let staged = self.staged().and_then(|staged| staged.submodules.entry(path));
        let is_submodule = staged.is_ok_and(|entry| matches!(entry, Some(Entry::Submodule(_))));
        Ok(is_submodule && fs::read_dir(disk)?.next().is_none())
    }

    /// Returns the path on disk of `path`, or `None` if a folder above it is not a plain folder of this tree.
    fn on_disk(&self, path: &str) -> Option<PathBuf> {
        let mut disk = self.root.clone();
        let mut names = path.split('/').filter(|_| !path.is_empty()).peekable();
        while let Some(name) = names.next() {
            if matches!(name, "" | "." | ".." | ".git") {
                return None;
            }
            disk.push(name);
            let is_folder = |disk: &Path| fs::symlink_metadata(disk).is_ok_and(|metadata| metadata.is_dir());
            if names.peek().is_some() && (!is_folder(&disk) || fs::symlink_metadata(disk.join(".git")).is_ok()) {
                return None;
            }
        }
        Some(disk)
    }
}

impl WorkTree {
    fn list_on_disk(&self, path: &str) -> Result<Vec<(String, Entry)>, TreeError> {
        let Some(disk) = self.on_disk(path) else { return Ok(Vec::new()) };
        if self.entry_at(path, &disk)? != Some(Entry::Folder) {
            return Ok(Vec::new());
        }
        let mut names = Vec::new();
        for file in fs::read_dir(&disk).map_err(|error| failed(path, &error))? {
            let file = file.map_err(|error| failed(path, &error))?;
            let name = file.file_name().to_string_lossy().into_owned();
            if name == ".git" {
                continue;
            }
            let entry = self.entry_at(&child(path, &name), &file.path())?;
            names.extend(entry.map(|entry| (name, entry)));
        }
        Ok(names)
    }
}

impl FileTree for WorkTree {
    fn entry(&self, path: &str) -> Result<Option<Entry>, TreeError> {
        let found = self.on_disk(path).map_or(Ok(None), |disk| self.entry_at(path, &disk))?;
        if found.is_some() { Ok(found) } else { self.staged()?.left_out.entry(path) }
    }

    fn list(&self, path: &str) -> Result<Vec<(String, Entry)>, TreeError> {
        let mut names = self.list_on_disk(path)?;
        let left_out = self.staged()?.left_out.list(path)?;
        names.extend(left_out);
        // The sort is stable: names on disk come first.
        names.sort_by(|a, b| a.0.cmp(&b.0));
        names.dedup_by(|a, b| a.0 == b.0);
        Ok(names)
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        let left_out = || self.repository.as_ref().and_then(|(_, objects)| objects.blob(id.0).ok());
        self.frozen_files.read(id).or_else(|error| left_out().ok_or(error))
    }

    fn is_on_disk(&self, id: BlobId) -> bool {
        self.frozen_files.has(id)
    }
}
