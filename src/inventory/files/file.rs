//! A file of node profiles.

use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::quality::FixedState;

use super::find::ProfilePath;
use crate::disk::Stamp;
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
    /// The state when it was first seen.
    seen: OnceLock<Option<SeenState>>,
    /// The hash of the content, or `None` if it could not be read; unset if nobody has looked.
    content: OnceLock<Option<Hash>>,
    /// True if it was found changed since it was first seen.
    pub(super) has_changed: AtomicBool,
    /// True if a profile or a fault was found in it.
    pub(super) has_content: AtomicBool,
}

/// A hash of a file's content, which shows whether the file has changed. It is computed for each commit that a daemon
/// resolves, so it must be fast. It need not be secure: nobody gains anything by a collision.
type Hash = u64;

/// The state of a file when it was first seen.
#[derive(Debug, Clone, Copy)]
struct SeenState {
    stamp: Stamp,
    /// True if no change since then can have left the stamp as it was.
    is_settled: bool,
}

impl SeenState {
    fn of(stamp: Stamp) -> SeenState {
        SeenState { stamp, is_settled: stamp.is_settled() }
    }
}

impl ProfileFile {
    pub(super) fn new(ProfilePath { path, real }: ProfilePath, path_number: usize) -> ProfileFile {
        let shown = path.to_string_lossy().into_owned();
        let [has_changed, has_content] = [const { AtomicBool::new(false) }; 2];
        let (seen, content) = (OnceLock::new(), OnceLock::new());
        ProfileFile { path, real, path_number, shown, seen, content, has_changed, has_content }
    }

    /// Returns the form by the name as given: a link's name may differ from its target's.
    pub(super) fn form(&self) -> Form {
        Form::of(&self.shown)
    }

    fn error(&self, text: impl Into<String>) -> ProfileError {
        ProfileError { path: self.shown.clone(), line: Some(1), text: text.into() }
    }

    pub(super) fn unreadable(&self, error: &io::Error) -> ProfileError {
        self.error(format!("cannot read the file: {error}"))
    }

    /// Opens the file, unless it has changed since it was first seen.
    pub(super) fn open(&self) -> Result<File, ProfileError> {
        let opened = File::open(&self.path).and_then(|file| Ok((Stamp::of(&file.metadata()?), file)));
        let stamp = opened.as_ref().map_or_else(|_| Stamp::at(&self.path), |(stamp, _)| Some(*stamp));
        let seen = self.seen.get_or_init(|| stamp.map(SeenState::of));
        if seen.map(|seen| seen.stamp) != stamp {
            return Err(self.note_change());
        }
        Ok(opened.map_err(|error| self.unreadable(&error))?.1)
    }

    /// Records that the file has changed since it was first seen.
    fn note_change(&self) -> ProfileError {
        self.has_changed.store(true, Ordering::Relaxed);
        self.error("the file has changed since it was first read")
    }

    /// Reads the whole content, and records its hash if `records_hash`.
    pub(super) fn read(&self, records_hash: bool) -> Result<Vec<u8>, ProfileError> {
        let file = self.open()?;
        let size = self.stamp().and_then(|stamp| usize::try_from(stamp.size()).ok()).unwrap_or_default();
        let content = read_whole(file, size).map_err(|error| self.unreadable(&error))?;
        if records_hash || self.content.get().is_some() {
            let hash = hash_of(&*content).ok();
            if *self.content.get_or_init(|| hash) != hash {
                return Err(self.note_change());
            }
        }
        Ok(content)
    }

    /// Returns true if another search of the same paths found the same file unchanged.
    pub(super) fn is_same(&self, other: &ProfileFile) -> bool {
        let is_same_content = match (self.content.get(), self.seen()) {
            (Some(content), _) => *content == other.content(),
            // It is read once more if it may have changed unnoticed.
            (None, Some(seen)) => seen.is_settled || !seen.stamp.is_settled(),
            (None, None) => true,
        };
        is_same_content && (&self.real, &self.shown, self.stamp()) == (&other.real, &other.shown, other.stamp())
    }

    /// Returns the state when the file was first seen, or `None` if it may have changed unnoticed or cannot be read.
    pub(super) fn state(&self) -> Option<(Stamp, Option<Hash>)> {
        let stamp = self.stamp()?;
        match self.content.get() {
            Some(content) => Some((stamp, Some((*content)?))),
            None => stamp.is_settled().then_some((stamp, None)),
        }
    }

    fn seen(&self) -> Option<SeenState> {
        *self.seen.get_or_init(|| Stamp::at(&self.path).map(SeenState::of))
    }

    /// Returns the stamp when the file was first seen.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        self.seen().map(|seen| seen.stamp)
    }

    /// Records the hash of the content, so that changes to it are detected.
    pub(super) fn see_content(&self) {
        self.content.get_or_init(|| self.content());
    }

    /// Gives this file the state that `other` had when it was first seen.
    #[cfg(test)]
    pub(super) fn set_state_of(&self, other: &ProfileFile) {
        self.seen.set(other.seen()).unwrap();
    }

    /// Returns the hash of the current content, or `None` if it cannot be read.
    fn content(&self) -> Option<Hash> {
        hash_of(File::open(&self.path).ok()?).ok()
    }
}

/// The number of bytes that are hashed at a time, few enough to stay in the processor's cache.
const BLOCK_SIZE: u64 = 256 << 10;

/// Returns the hash of everything that `content` yields.
fn hash_of(mut content: impl Read) -> io::Result<Hash> {
    let mut hasher = FixedState::with_seed(0).build_hasher();
    let mut block = Vec::new();
    loop {
        block.clear();
        content.by_ref().take(BLOCK_SIZE).read_to_end(&mut block)?;
        hasher.write(&block);
        if (block.len() as u64) < BLOCK_SIZE {
            return Ok(hasher.finish());
        }
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
    fn the_hash_of_a_file_is_that_of_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let block = usize::try_from(BLOCK_SIZE).unwrap();
        let mut hashes = std::collections::BTreeSet::new();
        for size in [0, 1, block - 1, block, block + 1, 3 * block] {
            let path = folder.path().join(size.to_string());
            let mut content = vec![b'a'; size];
            for last in [b'a', b'b'].into_iter().take(size + 1) {
                content.last_mut().into_iter().for_each(|byte| *byte = last);
                std::fs::write(&path, &content).unwrap();
                let hash = hash_of(File::open(&path).unwrap()).unwrap();
                assert_eq!(hash, hash_of(&*content).unwrap(), "{size}");
                assert!(hashes.insert(hash), "{size}");
            }
        }
    }

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
