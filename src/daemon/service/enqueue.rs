//! Puts the commits that a watch finds into the queue.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::daemon::handle::ServiceHandle;
use crate::daemon::health::Stuck;
use crate::daemon::progress::{Step, UnderWay};
use crate::daemon::queue::{Queue, QueueError};
use crate::daemon::watch::{BranchCheckpoint, Handler, HandlerError};
use crate::event::{CommitEvent, RepositoryName};

/// The time after which a look counts as stuck.
const LONGEST_LOOK: Duration = Duration::from_hours(2);

/// Makes a job of each commit of a repository.
pub(super) struct Enqueuer {
    pub(super) queue: Queue,
    pub(super) repository: RepositoryName,
    /// Notified when there are new jobs.
    pub(super) wake: Arc<Notify>,
    pub(super) handle: Arc<ServiceHandle>,
    /// Held while the queue has refused something.
    stuck: Option<Stuck>,
    /// Held during a look.
    look: Option<UnderWay>,
}

impl Enqueuer {
    pub(super) fn new(
        queue: Queue,
        repository: RepositoryName,
        wake: Arc<Notify>,
        handle: Arc<ServiceHandle>,
    ) -> Enqueuer {
        Enqueuer { queue, repository, wake, handle, stuck: None, look: None }
    }

    fn note_refusal(&mut self, error: QueueError) -> HandlerError {
        self.handle.metrics.queue_failed();
        self.stuck.get_or_insert_with(|| self.handle.health.stuck());
        HandlerError::Refused(error.into())
    }
}

impl Handler for Enqueuer {
    /// Commits that are enqueued together share a transaction, which takes most of the time.
    const TOGETHER: usize = 500;

    async fn handle(&mut self, commits: &[CommitEvent]) -> Result<(), HandlerError> {
        let added = self.queue.add(&self.repository, commits).await;
        added.map_err(|error| self.note_refusal(error))?;
        self.handle.metrics.found(&self.repository, commits.len());
        self.wake.notify_one();
        Ok(())
    }

    async fn checkpoint(&mut self, checkpoint: &BranchCheckpoint) -> Result<(), HandlerError> {
        let saved = self.queue.save_checkpoint(&self.repository, checkpoint).await;
        saved.map_err(|error| self.note_refusal(error))?;
        self.handle.retain_branches(&self.repository, |branch| checkpoint.branches.contains_key(branch));
        Ok(())
    }

    fn looks(&mut self) {
        self.look = Some(self.handle.progress.begin(Step::Look(self.repository.clone()), LONGEST_LOOK));
    }

    fn looked(&mut self, is_good: bool) {
        self.look = None;
        if is_good {
            self.stuck = None;
        }
        self.handle.looked(&self.repository, is_good);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventKind;
    use crate::git::{BranchName, CommitId};

    #[tokio::test]
    async fn it_is_ill_until_the_queue_takes_what_was_found() {
        let base = tempfile::tempdir().unwrap();
        let (folder, away) = (base.path().join("state"), base.path().join("away"));
        let (queue, _lock) = Queue::create(&folder).await.unwrap();
        let handle = Arc::new(ServiceHandle::new());
        // Uses a connection that is still to be opened.
        let mut enqueuer = Enqueuer::new(queue.beside(), "data".into(), Arc::default(), handle.clone());
        let after = CommitId::from_hex(&"1".repeat(40)).unwrap();
        let events = [CommitEvent::new(BranchName::new("main"), None, after, EventKind::New)];
        std::fs::rename(&folder, &away).unwrap();
        assert!(matches!(enqueuer.handle(&events).await, Err(HandlerError::Refused(_))));
        enqueuer.looked(false);
        assert_eq!(handle.health.trouble(), ["the queue cannot be used"]);
        std::fs::rename(&away, &folder).unwrap();
        enqueuer.handle(&events).await.unwrap();
        enqueuer.looked(true);
        assert_eq!(handle.health.trouble(), [""; 0]);
    }
}
