//! SnapshotSink of each commit.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::spawn_blocking;
use tracing::Span;

use super::Parcel;

/// Writes the snapshots of the commit that a report is of, if they are not there. May block.
pub type WriteSnapshots = Box<dyn FnMut(&Parcel) -> Result<(), String> + Send>;

/// Who writes snapshots: it knows the repositories, and makes nothing of the report itself.
pub struct SnapshotSink(Arc<Mutex<WriteSnapshots>>);

impl SnapshotSink {
    /// Has them written by `write`.
    pub fn new(write: WriteSnapshots) -> SnapshotSink {
        SnapshotSink(Arc::new(Mutex::new(write)))
    }

    pub(super) async fn deliver(&self, parcel: &Parcel) -> Result<(), String> {
        let (write, parcel, span) = (self.0.clone(), parcel.clone(), Span::current());
        let write = move || span.in_scope(|| (write.lock().unwrap_or_else(PoisonError::into_inner))(&parcel));
        spawn_blocking(write).await.unwrap_or_else(|error| Err(error.to_string()))
    }
}
