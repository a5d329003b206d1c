//! A file of node profiles.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use super::find::ProfilePath;
use crate::node::{Form, ProfileError};

/// A file, in the state in which it was first seen.
pub(super) struct ProfileFile {
    path: PathBuf,
    /// The canonical path.
    pub(super) real: PathBuf,
    /// The number of the first search path that led to it.
    pub(super) path_number: usize,
    /// The path for messages.
    pub(super) shown: String,
    /// The stamp when it was first read.
    stamp: OnceLock<Option<Stamp>>,
    /// True if a profile or a fault was found in it.
    pub(super) has_content: AtomicBool,
}

/// The metadata that shows changes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    inode: Option<Inode>,
}

/// The inode of a file. Programs cannot set the time of its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Inode {
    device: u64,
    number: u64,
    changed: Option<SystemTime>,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Stamp {
        Stamp { size: metadata.len(), modified: metadata.modified().ok(), inode: inode(metadata) }
    }

    /// Returns true if the file was last touched before `time`.
    pub(super) fn is_before(&self, time: SystemTime) -> bool {
        let is_before = |touched: Option<SystemTime>| touched.is_some_and(|touched| touched < time);
        is_before(self.modified) && self.inode.is_none_or(|inode| is_before(inode.changed))
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
fn inode(metadata: &Metadata) -> Option<Inode> {
    use std::os::unix::fs::MetadataExt;
    use std::time::{Duration, UNIX_EPOCH};
    let since_epoch = |seconds, nanoseconds| Some(Duration::new(seconds, u32::try_from(nanoseconds).ok()?));
    let changed = u64::try_from(metadata.ctime()).ok().and_then(|seconds| since_epoch(seconds, metadata.ctime_nsec()));
    let changed = changed.and_then(|since| UNIX_EPOCH.checked_add(since));
    Some(Inode { device: metadata.dev(), number: metadata.ino(), changed })
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> Option<Inode> {
    None
}

impl ProfileFile {
    pub(super) fn new(ProfilePath { path, real }: ProfilePath, path_number: usize) -> ProfileFile {
        let shown = path.to_string_lossy().into_owned();
        ProfileFile { path, real, path_number, shown, stamp: OnceLock::new(), has_content: AtomicBool::new(false) }
    }

    /// Returns the form, by the name as given: a link may have another name than its target.
    pub(super) fn form(&self) -> Form {
        Form::of(&self.shown)
    }

    fn error(&self, text: impl Into<String>) -> ProfileError {
        ProfileError { path: self.shown.clone(), line: Some(1), text: text.into() }
    }

    pub(super) fn unreadable(&self, error: &io::Error) -> ProfileError {
        self.error(format!("cannot read the file: {error}"))
    }

    /// Opens the file, unless it has changed since it was first opened.
    pub(super) fn open(&self) -> Result<File, ProfileError> {
        let file = File::open(&self.path).map_err(|error| self.unreadable(&error))?;
        let stamp = file.metadata().ok().as_ref().map(Stamp::of);
        if *self.stamp.get_or_init(|| stamp) != stamp {
            return Err(self.error("the file has changed since it was read first"));
        }
        Ok(file)
    }

    /// Reads the whole content.
    pub(super) fn read(&self) -> Result<Vec<u8>, ProfileError> {
        let file = self.open()?;
        let size = self.stamp().and_then(|stamp| usize::try_from(stamp.size).ok()).unwrap_or_default();
        read_whole(file, size).map_err(|error| self.unreadable(&error))
    }

    /// Returns true if another search of the same paths found the same file unchanged.
    pub(super) fn is_same(&self, other: &ProfileFile) -> bool {
        (&self.real, &self.shown, self.stamp()) == (&other.real, &other.shown, other.stamp())
    }

    /// Returns the stamp when the file was first seen.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        *self.stamp.get_or_init(|| self.path.metadata().ok().as_ref().map(Stamp::of))
    }
}

/// Reads a file to its end, with a single read if it has the expected size.
fn read_whole(mut file: File, size: usize) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    // One byte more than expected: if it stays empty, the file has ended.
    content.try_reserve_exact(size.saturating_add(1))?;
    content.resize(size + 1, 0);
    let len = file.read(&mut content).or_else(|error| match error.kind() {
        io::ErrorKind::Interrupted => Ok(0),
        _ => Err(error),
    })?;
    content.truncate(len);
    if len != size || size == 0 {
        // Reading from the file itself would ask for its size again.
        file.take(u64::MAX).read_to_end(&mut content)?;
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_whole_despite_wrong_sizes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.yaml");
        for content in ["", "a", "name: web01\n"] {
            std::fs::write(&path, content).unwrap();
            for size in 0..20 {
                assert_eq!(read_whole(File::open(&path).unwrap(), size).unwrap(), content.as_bytes(), "{size}");
            }
        }
    }
}
