//! Hands commits to the writer of snapshots, as if that were a sink.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::spawn_blocking;
use tracing::Span;

use super::Parcel;

/// Writes the snapshots of a report's commit, unless they exist. May block.
pub type WriteSnapshots = Box<dyn FnMut(&Parcel) -> Result<(), String> + Send>;

/// A sink that has snapshots written. The writer knows the repositories and does not use the report itself.
pub struct SnapshotSink(Arc<Mutex<WriteSnapshots>>);

impl SnapshotSink {
    /// Makes the sink for a writer.
    pub fn new(write: WriteSnapshots) -> SnapshotSink {
        SnapshotSink(Arc::new(Mutex::new(write)))
    }

    pub(super) async fn deliver(&self, parcel: &Parcel) -> Result<(), String> {
        let (write, parcel, span) = (self.0.clone(), parcel.clone(), Span::current());
        let write = move || span.in_scope(|| (write.lock().unwrap_or_else(PoisonError::into_inner))(&parcel));
        spawn_blocking(write).await.unwrap_or_else(|error| Err(error.to_string()))
    }
}
