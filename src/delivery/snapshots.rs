//! Hands commits to the writer of snapshots, as if that were a sink.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tracing::Span;

use super::{DeliveryError, Parcel};
use crate::event::RepositoryName;

/// Writes the snapshots of a report's commit, unless they exist. May block.
pub type WriteSnapshots = Box<dyn FnMut(&Parcel) -> Result<(), Unwritten> + Send>;

/// The reason why snapshots were not written, and what follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwritten {
    /// A later attempt may succeed.
    Retry(String),
    /// No later attempt can succeed.
    Impossible(String),
    /// Nobody needs them any more.
    Obsolete(String),
}

/// A sink that calls the writer of one repository's snapshots. The writer does not use the report itself.
pub struct SnapshotSink {
    repository: RepositoryName,
    write: Arc<Mutex<WriteSnapshots>>,
}

impl SnapshotSink {
    /// Makes the sink for the writer of a repository.
    pub fn new(repository: RepositoryName, write: WriteSnapshots) -> SnapshotSink {
        SnapshotSink { repository, write: Arc::new(Mutex::new(write)) }
    }

    pub(super) fn repository(&self) -> &RepositoryName {
        &self.repository
    }

    pub(super) async fn deliver(&self, parcel: &Parcel) -> Result<(), DeliveryError> {
        let (write, parcel, span) = (self.write.clone(), parcel.clone(), Span::current());
        let write = move || span.in_scope(|| (write.lock().unwrap_or_else(PoisonError::into_inner))(&parcel));
        let written = spawn_blocking(write).await.unwrap_or_else(|error| Err(Unwritten::Retry(error.to_string())));
        written.map_err(|unwritten| match unwritten {
            Unwritten::Retry(text) => DeliveryError::Refused { text, retry_after: Duration::ZERO },
            Unwritten::Impossible(text) => DeliveryError::Impossible(text),
            Unwritten::Obsolete(text) => DeliveryError::Obsolete(text),
        })
    }
}
