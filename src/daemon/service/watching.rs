//! Watches a repository for as long as it is there, and again when it is back.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::{Enqueuer, ServiceError, insist};
use crate::daemon::backoff::backoff;
use crate::daemon::handle::ServiceHandle;
use crate::daemon::queue::{Queue, QueueError};
use crate::daemon::repeated::RepeatedFailures;
use crate::daemon::shutdown::Shutdown;
use crate::daemon::watch::{BranchCheckpoint, WatchError, WatchOptions, run};
use crate::event::RepositoryName;
use crate::git::{BranchName, CommitId, Repository};

/// Opens a repository. It may block, and it may fail: then it is called again.
pub type Open = Arc<dyn Fn() -> Result<Opened, Box<dyn std::error::Error + Send + Sync>> + Send + Sync>;

/// The longest pause before a repository is opened again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The time limit of the first look at the data.
const LOOK_PATIENCE: Duration = Duration::from_mins(1);

/// A repository that has been opened.
pub struct Opened {
    /// The repository.
    pub repository: Repository,
    /// The checkpoint to begin with, if the queue has none.
    pub checkpoint: BranchCheckpoint,
    /// The options of the watch.
    pub options: WatchOptions,
    /// Looks at branches.
    pub looks: Vec<Look>,
}

/// A look at the tip of a branch.
pub struct Look {
    /// The branch.
    pub branch: BranchName,
    /// Its tip.
    pub tip: CommitId,
    /// Returns the reason if the branch cannot be read at all, or `None` if something can be. The outer value is
    /// `None` if that is unknown. It may block.
    pub blind: Box<dyn FnOnce() -> Option<Option<String>> + Send>,
}

/// Notes whether the data of a branch can be read; `blind` is the reason if not. This is kept for later processes,
/// too.
pub(super) async fn saw_branch(
    handle: &ServiceHandle,
    queue: &Queue,
    repository: &RepositoryName,
    (branch, blind): (&BranchName, Option<&str>),
    shutdown: &mut Shutdown,
) {
    if handle.saw_branch(repository, branch, blind) || blind.is_some() {
        insist(handle, shutdown, || queue.set_blind(repository, branch, blind)).await;
    }
}

/// Returns the queue's checkpoint of a repository. If there is none, saves and returns `first`.
pub(super) async fn checkpoint_or_save(
    queue: &Queue,
    repository: &RepositoryName,
    first: &BranchCheckpoint,
) -> Result<BranchCheckpoint, QueueError> {
    if let Some(checkpoint) = queue.checkpoint(repository).await? {
        return Ok(checkpoint);
    }
    queue.save_checkpoint(repository, first).await?;
    let (repository, branches) = (repository.as_str(), first.branches.len());
    tracing::warn!(
        repository,
        branches,
        "the state knows nothing of the repository, which is new or whose state is gone: commits before now are not \
         reported"
    );
    Ok(first.clone())
}

/// Looks at a branch, unless its tip is a commit that this process may not survive.
async fn first_look(
    Enqueuer { queue, repository, handle, .. }: &Enqueuer,
    Look { branch, tip, blind }: Look,
    shutdown: &mut Shutdown,
) {
    if queue.is_delicate(repository, tip).await.unwrap_or(true) {
        return;
    }
    match timeout(LOOK_PATIENCE, spawn_blocking(blind)).await {
        Ok(Ok(Some(why))) => saw_branch(handle, queue, repository, (&branch, why.as_deref()), shutdown).await,
        Ok(Ok(None)) => {}
        Ok(Err(_)) | Err(_) => tracing::warn!(%branch, %tip, "the first look at the data has failed"),
    }
}

/// The watch of a repository that may be away for a while.
pub(super) struct RepositoryWatch {
    pub(super) open: Open,
    /// True if the service ends when the repository is gone.
    pub(super) is_needed: bool,
    /// Notified of each fetch, if the repository is a mirror.
    pub(super) fetched: Option<Arc<Notify>>,
}

impl RepositoryWatch {
    /// Watches the repository until the service ends, beginning with `opened` if it is open already.
    pub(super) async fn run(
        self,
        mut opened: Option<Opened>,
        mut enqueuer: Enqueuer,
        mut shutdown: Shutdown,
    ) -> Result<(), ServiceError> {
        // A former service may have found more commits while it ended.
        enqueuer.wake.notify_one();
        loop {
            let found = match opened.take() {
                Some(opened) => Some(opened),
                None => self.wait_and_open(&enqueuer, &mut shutdown).await?,
            };
            let Some(Opened { repository, checkpoint, options, looks }) = found else { return Ok(()) };
            let Enqueuer { queue, repository: name, handle, .. } = &enqueuer;
            let checkpoint = insist(handle, &mut shutdown, || checkpoint_or_save(queue, name, &checkpoint)).await;
            let Some(checkpoint) = checkpoint else { return Ok(()) };
            // Any other tip is about to become a job.
            for look in looks.into_iter().filter(|look| checkpoint.branches.get(&look.branch) == Some(&look.tip)) {
                first_look(&enqueuer, look, &mut shutdown).await;
            }
            let requests = handle.look.listen();
            match run(repository, checkpoint, options, &mut enqueuer, (requests, shutdown.clone())).await {
                Err(error @ WatchError::Gone(_)) if !self.is_needed => {
                    tracing::warn!(%error, "waiting for it to be back");
                }
                ended => return Ok(ended?),
            }
        }
    }

    /// Opens the repository as soon as it is there. Returns `None` if the service ends first.
    async fn wait_and_open(
        &self,
        enqueuer: &Enqueuer,
        shutdown: &mut Shutdown,
    ) -> Result<Option<Opened>, ServiceError> {
        let (mut logged, mut failures) = (RepeatedFailures::default(), 0);
        let fetched = self.fetched.clone().unwrap_or_default();
        let Enqueuer { repository: name, queue, handle, .. } = enqueuer;
        // The commits that the first fetch of a mirror brings count as seen, so it is opened after that.
        if self.fetched.is_some() && insist(handle, shutdown, || queue.checkpoint(name)).await.flatten().is_none() {
            tokio::select! {
                () = fetched.notified() => {}
                () = shutdown.requested() => {}
            }
        }
        while !shutdown.is_requested() {
            let open = self.open.clone();
            match spawn_blocking(move || open()).await? {
                Ok(opened) => return Ok(Some(opened)),
                Err(error) => {
                    failures += 1;
                    handle.looked(name, false);
                    if let Some(times) = logged.failed(name.as_str()) {
                        tracing::warn!(times, %error, "cannot watch the repository; trying again");
                    }
                    shutdown.sleep_until_woken(&fetched, backoff(failures, LONGEST_PAUSE)).await;
                }
            }
        }
        Ok(None)
    }
}
