//! The checked-out files as a tree: as if everything in the work tree were committed, ignored files included.

use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{FrozenFiles, failed, is_absence};
use crate::tree::{BlobId, Entry, FileTree, TreeError, child};

/// The files of a work tree, each as it is on disk when it is first read.
pub struct WorkTree {
    root: PathBuf,
    seen: FrozenFiles,
}

impl WorkTree {
    /// Makes the tree of the files below the folder `root`.
    pub fn new(root: impl Into<PathBuf>) -> WorkTree {
        WorkTree { root: root.into(), seen: FrozenFiles::default() }
    }

    /// Sets the size of the largest file that is read, in bytes.
    #[must_use]
    pub fn reading_at_most(self, bytes: u64) -> WorkTree {
        WorkTree { seen: FrozenFiles::of_at_most(bytes), ..self }
    }

    /// Returns the folder that holds the files.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn entry_at(&self, path: &str, disk: &Path) -> Result<Option<Entry>, TreeError> {
        let found = fs::symlink_metadata(disk).map(|metadata| metadata.file_type());
        match found.and_then(|kind| self.entry_of(path, disk, kind)) {
            Ok(entry) => Ok(entry),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(failed(path, &error)),
        }
    }

    fn entry_of(&self, path: &str, disk: &Path, kind: FileType) -> io::Result<Option<Entry>> {
        Ok(if kind.is_symlink() {
            Some(Entry::Link(fs::read_link(disk)?.to_string_lossy().into_owned()))
        } else if kind.is_dir() {
            let is_repository = !path.is_empty() && fs::symlink_metadata(disk.join(".git")).is_ok();
            Some(if is_repository { Entry::Submodule } else { Entry::Folder })
        } else if kind.is_file() {
            Some(Entry::File(self.seen.file(path, disk)?))
        } else {
            None // sockets, pipes and devices are nothing to git
        })
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

impl FileTree for WorkTree {
    fn entry(&self, path: &str) -> Result<Option<Entry>, TreeError> {
        self.on_disk(path).map_or(Ok(None), |disk| self.entry_at(path, &disk))
    }

    fn list(&self, path: &str) -> Result<Vec<(String, Entry)>, TreeError> {
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
        names.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(names)
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.seen.read(id)
    }
}
