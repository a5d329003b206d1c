//! Watches a repository for as long as it is there, and again when it is back.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use super::{Adder, ServiceError, Stopped, backoff, ended, insist, woken};
use crate::daemon::queue::{Queue, QueueError};
use crate::daemon::sample::Sampler;
use crate::daemon::{Known, WatchError, WatchOptions, run};
use crate::git::{BranchName, Repository};

/// Opens a repository. May block, and fail: then it is asked again.
pub type Open = Arc<dyn Fn() -> Result<Opened, Box<dyn std::error::Error + Send + Sync>> + Send + Sync>;

/// The longest pause before it is tried again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A repository that is there.
pub struct Opened {
    /// The repository.
    pub repository: Repository,
    /// What is known of it, if the queue does not know more.
    pub known: Known,
    /// How to watch it.
    pub options: WatchOptions,
    /// A branch of which nothing can be read as it is, and why.
    pub blind: Option<(BranchName, String)>,
}

/// What the queue knows of a repository: if that is nothing, it is told this.
pub(super) async fn noted(queue: &Queue, name: &str, known: &Known) -> Result<Known, QueueError> {
    if let Some(noted) = queue.known(name).await? {
        return Ok(noted);
    }
    queue.remember(name, known).await?;
    Ok(known.clone())
}

/// The watch of a repository that may be away for a while.
pub(super) struct Presence {
    pub(super) open: Open,
    /// Whether the service ends when it is gone.
    pub(super) is_needed: bool,
    /// Told of each fetch, if it is a mirror.
    pub(super) arrived: Option<Arc<Notify>>,
}

impl Presence {
    /// Watches it until the service is to end, at first as it was opened, if it was.
    pub(super) async fn run(
        self,
        mut opened: Option<Opened>,
        mut adder: Adder,
        mut stopped: Stopped,
    ) -> Result<(), ServiceError> {
        // A former service may have found more in the end.
        adder.wake.notify_one();
        loop {
            let found = match opened.take() {
                Some(opened) => Some(opened),
                None => self.opened(&adder, &mut stopped).await?,
            };
            let Some(Opened { repository, known, options, blind }) = found else { return Ok(()) };
            if let Some((branch, why)) = blind {
                adder.signals.saw(&adder.repository, &branch, Some(&why));
            }
            let known = insist(&adder.signals, &mut stopped, || noted(&adder.queue, &adder.repository, &known)).await;
            let Some(known) = known else { return Ok(()) };
            let poked = adder.signals.poke.listen();
            match run(repository, known, options, &mut adder, (poked, stopped.clone())).await {
                Err(error @ WatchError::Gone(_)) if !self.is_needed => {
                    tracing::warn!(%error, "waiting for it to be back");
                }
                ended => return Ok(ended?),
            }
        }
    }

    /// Opens it as soon as that can be; nothing if the service is to end before.
    async fn opened(&self, adder: &Adder, stopped: &mut Stopped) -> Result<Option<Opened>, ServiceError> {
        let (mut sampler, mut failures) = (Sampler::default(), 0);
        let arrived = self.arrived.clone().unwrap_or_default();
        let Adder { repository: name, queue, signals, .. } = adder;
        // All that a mirror brings for the first time is known, not new.
        if self.arrived.is_some() && insist(signals, stopped, || queue.known(name)).await.flatten().is_none() {
            tokio::select! {
                () = arrived.notified() => {}
                () = ended(stopped) => {}
            }
        }
        while !*stopped.borrow() {
            let open = self.open.clone();
            match spawn_blocking(move || open()).await? {
                Ok(opened) => return Ok(Some(opened)),
                Err(error) => {
                    failures += 1;
                    signals.meters.looked(name, false);
                    if let Some(times) = sampler.failed(name) {
                        tracing::warn!(times, %error, "cannot watch the repository; trying again");
                    }
                    woken(&arrived, backoff(failures, LONGEST_PAUSE), stopped).await;
                }
            }
        }
        Ok(None)
    }
}
