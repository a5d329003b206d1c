//! A file of node profiles.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use super::find::Found;
use crate::node::ProfileError;

/// A file, as it is when it is first looked at.
pub(super) struct ProfileFile {
    path: PathBuf,
    /// The path that it has whoever asks.
    pub(super) real: PathBuf,
    /// The path that people are told.
    pub(super) shown: Arc<str>,
    /// What it was when it was first read.
    stamp: OnceLock<Option<Stamp>>,
}

/// What tells a file from what it was before.
type Stamp = (u64, Option<SystemTime>);

fn stamp(metadata: &Metadata) -> Stamp {
    (metadata.len(), metadata.modified().ok())
}

impl ProfileFile {
    pub(super) fn new(Found { path, real }: Found) -> ProfileFile {
        let shown = path.to_string_lossy().into();
        ProfileFile { path, real, shown, stamp: OnceLock::new() }
    }

    fn error(&self, text: impl Into<String>) -> ProfileError {
        ProfileError { path: self.shown.to_string(), line: 1, text: text.into() }
    }

    pub(super) fn unreadable(&self, error: &io::Error) -> ProfileError {
        self.error(format!("cannot read the file: {error}"))
    }

    /// Opens the file, unless it has changed since it was first opened.
    pub(super) fn open(&self) -> Result<File, ProfileError> {
        let file = File::open(&self.path).map_err(|error| self.unreadable(&error))?;
        let stamp = file.metadata().ok().as_ref().map(stamp);
        if *self.stamp.get_or_init(|| stamp) != stamp {
            return Err(self.error("the file has changed since it was read first"));
        }
        Ok(file)
    }

    /// The whole content.
    pub(super) fn read(&self) -> Result<Vec<u8>, ProfileError> {
        let file = self.open()?;
        let size = self.stamp().and_then(|(size, _)| usize::try_from(size).ok()).unwrap_or_default();
        read_whole(file, size).map_err(|error| self.unreadable(&error))
    }

    /// What the file was when it was first looked at.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        *self.stamp.get_or_init(|| self.path.metadata().ok().as_ref().map(stamp))
    }
}

/// Reads a file to its end. One that has the size that is expected is read at once.
fn read_whole(mut file: File, size: usize) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    // A byte more: where that is not given, the file has ended.
    content.try_reserve_exact(size.saturating_add(1))?;
    content.resize(size + 1, 0);
    let len = file.read(&mut content).or_else(|error| match error.kind() {
        io::ErrorKind::Interrupted => Ok(0),
        _ => Err(error),
    })?;
    content.truncate(len);
    if len != size || size == 0 {
        // A file that is read by itself is asked for its size again.
        file.take(u64::MAX).read_to_end(&mut content)?;
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_to_its_end_whatever_size_is_expected() {
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
