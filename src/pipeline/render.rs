//! Renders the snapshots of a revision, for a stream or a folder.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Pipeline, PipelineError, RevisionId};
use crate::blind_spots;
use crate::disk::FileMode;
use crate::fleet::{Effective, Revision};
use crate::report::BlindSpot;
use crate::snapshot::{self, Format, Manifest, Snapshots, Written};

/// A failure to write snapshots to a folder. Each file there is complete, but they may be of two revisions.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The values could not be resolved.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// A limit of time or memory was reached meanwhile, so values may be missing; a retry may succeed.
    #[error("nothing was written, since a limit of time or memory was reached meanwhile; try again")]
    Stopped,
    /// The revision cannot be read at all, so the existing snapshots are kept.
    #[error("nothing could be read: {}", .0.message)]
    Unreadable(Box<BlindSpot>),
    /// The folder cannot be written.
    #[error("cannot write snapshots to {}: {source}", .folder.display())]
    Write {
        /// The folder.
        folder: PathBuf,
        /// The reason, with the file.
        source: io::Error,
    },
}

impl Pipeline {
    /// Returns the reason why a revision cannot be read at all, or `None` if parts of it can be.
    pub fn unreadable(&self, revision: &Revision) -> Option<BlindSpot> {
        blind_spots::unreadable::unreadable_revision(revision, &self.workers)
    }

    /// Renders the snapshots of all nodes at a revision, with the given keys.
    pub fn snapshots(
        &self,
        id: RevisionId,
        revision: &Revision,
        keys: &BTreeSet<Arc<str>>,
        format: Format,
    ) -> Rendered<'_> {
        let (effective, nodes) = (self.effective(revision, keys), self.fleet.all());
        let blind_spots = self.blind_spots_of(id, revision, &effective);
        let snapshots = Snapshots::new(effective, &self.fleet, &nodes, format, &self.disclosure, &self.workers);
        Rendered { snapshots, blind_spots, keys: keys.len() }
    }

    /// Returns the blind spots of a revision with these values.
    pub fn blind_spots_of(&self, id: RevisionId, revision: &Revision, effective: &Effective) -> Vec<BlindSpot> {
        let judged = (&self.judge.accepted(self.base(id)), self.judge.refused());
        blind_spots::of_revision(revision, effective, judged, &self.disclosure)
    }

    /// Returns what is to be known about the values of this many keys at a revision.
    pub fn manifest(&self, id: RevisionId, keys: usize, blind_spots: &[BlindSpot]) -> Manifest {
        let commit = match id {
            RevisionId::Commit(id) => Some(id.to_string()),
            RevisionId::Merged(_) | RevisionId::WorkTree | RevisionId::Empty => None,
        };
        let puppet = self.revisions.options.puppet.number();
        Manifest::new(commit, self.fleet.len(), keys, puppet).with_blind_spots(blind_spots)
    }

    /// Writes rendered snapshots to a folder, in files of this mode, and removes all others there.
    pub fn write_folder(
        &self,
        id: RevisionId,
        rendered: &Rendered<'_>,
        folder: &Path,
        mode: FileMode,
    ) -> Result<Written, RenderError> {
        self.fleet_has_stayed()?;
        let manifest = self.manifest(id, rendered.keys, &rendered.blind_spots);
        let written = snapshot::write_folder(&rendered.snapshots, manifest, folder, mode, &self.workers);
        written.map_err(|source| RenderError::Write { folder: folder.to_owned(), source })
    }

    /// Renders all nodes with all keys, writes the snapshots to a folder, and removes all others there. Fails and
    /// writes nothing if the revision cannot be read at all.
    pub fn render(&self, id: RevisionId, folder: &Path, mode: FileMode) -> Result<Written, RenderError> {
        let stops = self.workers.stop.count();
        let revision = self.cached_revision(id)?;
        if let Some(blind) = self.unreadable(&revision) {
            return Err(RenderError::Unreadable(Box::new(blind)));
        }
        let rendered = self.snapshots(id, &revision, &revision.keys, Format::Json);
        if self.workers.stop.count() != stops {
            return Err(RenderError::Stopped);
        }
        self.write_folder(id, &rendered, folder, mode)
    }
}

/// The rendered snapshots of a revision.
pub struct Rendered<'p> {
    /// The snapshots.
    pub snapshots: Snapshots<'p>,
    /// The blind spots of the data.
    pub blind_spots: Vec<BlindSpot>,
    /// The number of keys.
    keys: usize,
}
