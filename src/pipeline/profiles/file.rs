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
        let shown = path.display().to_string().into();
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
        let mut content = Vec::new();
        // A byte more, so that the end shows without growing.
        let room = content.try_reserve_exact(size.saturating_add(1)).map_err(io::Error::from);
        // A file that is read by itself is asked for its size again.
        let read = room.and_then(|()| file.take(u64::MAX).read_to_end(&mut content));
        read.map_err(|error| self.unreadable(&error))?;
        Ok(content)
    }

    /// What the file was when it was first looked at.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        *self.stamp.get_or_init(|| self.path.metadata().ok().as_ref().map(stamp))
    }
}
