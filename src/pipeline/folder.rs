//! Snapshots of a revision, on their way to a stream or a folder.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Pipeline, PipelineError, Point};
use crate::fleet::Revision;
use crate::snapshot::{self, Format, Manifest, Snapshots, Written};

/// Snapshots could not be written to a folder. What is there is whole, and can be of two revisions.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The values could not be resolved.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// The folder cannot be written.
    #[error("cannot write snapshots to {}: {source}", .folder.display())]
    Write {
        /// The folder.
        folder: PathBuf,
        /// The file, and why.
        source: io::Error,
    },
}

impl Pipeline {
    /// The snapshots of all nodes at a revision, with these of its keys.
    pub fn snapshots(&self, revision: &Revision, keys: &BTreeSet<Arc<str>>, format: Format) -> Snapshots<'_> {
        let (effective, nodes) = (self.effective(revision, keys), self.fleet.all());
        Snapshots::new(effective, &self.fleet, &nodes, format, &self.disclosure, &self.workers)
    }

    /// Writes snapshots of `point` with so many keys to a folder, which then holds just these.
    pub fn write_folder(
        &self,
        point: Point,
        snapshots: &Snapshots<'_>,
        keys: usize,
        folder: &Path,
    ) -> Result<Written, FolderError> {
        let commit = match point {
            Point::Commit(id) => Some(id.to_string()),
            Point::WorkTree | Point::Nothing => None,
        };
        let puppet = self.revisions.options.puppet.number();
        let manifest = Manifest::new(commit, self.fleet.len(), keys, puppet);
        let written = snapshot::write_folder(snapshots, manifest, folder, &self.workers);
        written.map_err(|source| FolderError::Write { folder: folder.to_owned(), source })
    }

    /// Writes the snapshots of all nodes with all keys at `point` to a folder, which then holds just these.
    pub fn render(&self, point: Point, folder: &Path) -> Result<Written, FolderError> {
        let revision = self.kept(point)?;
        let snapshots = self.snapshots(&revision, &revision.keys, Format::Json);
        self.write_folder(point, &snapshots, revision.keys.len(), folder)
    }
}
