//! Keeps a mirror up to date. That its branches have moved the watch of it sees by itself.

use std::pin::pin;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::sample::Sampler;
use super::service::{Stopped, backoff, ended, pause};
use super::signals::Signals;
use crate::git::{Mirror, MirrorError};
use crate::process::Group;

/// The longest pause after fetches that failed.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// How long git has to tidy up when it is told to end.
const LAST_MOMENTS: Duration = Duration::from_secs(2);

/// A mirror, and when it is fetched.
#[derive(Debug, Clone)]
pub struct Following {
    /// The mirror.
    pub mirror: Mirror,
    /// How often.
    pub every: Duration,
    /// How long a fetch may take.
    pub limit: Duration,
}

/// Why there was no fetch.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("{0}")]
    Git(String),
    #[error("took longer than {} s, its 'fetch_timeout'", .0.as_secs_f64())]
    Late(Duration),
    #[error("the daemon ends")]
    Stopped,
    #[error("cannot run `git`: {0}")]
    NotRun(std::io::Error),
    #[error(transparent)]
    Mirror(#[from] MirrorError),
}

impl Following {
    /// Fetches again and again, until the service is to end; `arrived` is told of each time that it succeeds.
    pub(super) async fn run(self, repository: &str, arrived: Arc<Notify>, signals: &Signals, mut stopped: Stopped) {
        let (mut sampler, mut failures) = (Sampler::default(), 0);
        let mut poked = signals.poke.listen();
        signals.meters.mirror(repository, self.every + self.limit);
        tracing::info!(repository, every = ?self.every, "fetching");
        while !*stopped.borrow() {
            let start = Instant::now();
            let result = self.fetch(repository, &mut stopped).await;
            if matches!(result, Err(Fault::Stopped)) {
                break;
            }
            signals.meters.fetched(repository, result.is_ok());
            let rest = match result {
                Ok(()) => {
                    tracing::debug!(repository, took = ?start.elapsed(), "fetched");
                    failures = 0;
                    arrived.notify_one();
                    if let Some(times) = sampler.works() {
                        tracing::info!(repository, times, "fetching works again");
                    }
                    self.every
                }
                Err(error) => {
                    failures += 1;
                    if let Some(times) = sampler.failed(repository) {
                        let mirror = self.mirror.folder.display();
                        tracing::warn!(repository, times, %mirror, %error, "cannot fetch; trying again");
                    }
                    backoff(failures, LONGEST_PAUSE)
                }
            };
            tokio::select! {
                _ = pause(rest, &mut stopped) => {}
                Ok(()) = poked.changed() => {}
            }
        }
    }

    /// Fetches now. A mirror that is not there, or cannot be fetched because it is damaged, is made anew: it is the daemon's own.
    async fn fetch(&self, repository: &str, stopped: &mut Stopped) -> Result<(), Fault> {
        if !self.mirror.is_there() {
            return self.fetch_anew(stopped).await;
        }
        let Err(error) = self.git(self.mirror.fetch(), stopped).await else { return Ok(()) };
        if let Fault::Git(_) = &error
            && let Err(Fault::Git(damage)) = self.git(self.mirror.check(), stopped).await
        {
            self.fetch_anew(stopped).await?;
            let former = self.mirror.former();
            tracing::warn!(repository, damage, former = %former.display(), "the mirror was damaged; it was fetched anew");
            return Ok(());
        }
        Err(error)
    }

    /// Makes a mirror beside the one that there may be, and puts it in its place when it is whole.
    async fn fetch_anew(&self, stopped: &mut Stopped) -> Result<(), Fault> {
        let fresh = self.mirror.beside()?;
        self.git(fresh.fetch(), stopped).await?;
        if self.mirror.is_there()
            && let Err(error) = self.git(fresh.adopt(&self.mirror), stopped).await
        {
            tracing::debug!(%error, "what hierad has written to the former mirror stays there");
        }
        Ok(self.mirror.replace(&fresh)?)
    }

    /// Runs git, which is killed with all that it has started if it is late or the service is to end.
    async fn git(&self, command: Command, stopped: &mut Stopped) -> Result<(), Fault> {
        let mut command = tokio::process::Command::from(command);
        command.stderr(Stdio::piped()).kill_on_drop(true);
        Group::led(&mut command);
        let child = command.spawn().map_err(Fault::NotRun)?;
        let mut group = Group::of(&child);
        let mut output = pin!(child.wait_with_output());
        let fault = tokio::select! {
            output = &mut output => {
                group.release();
                let Output { status, stderr, .. } = output.map_err(Fault::NotRun)?;
                let words = || String::from_utf8_lossy(&stderr).trim().to_owned();
                return if status.success() { Ok(()) } else { Err(Fault::Git(words())) };
            }
            () = sleep(self.limit) => Fault::Late(self.limit),
            () = ended(stopped) => Fault::Stopped,
        };
        // Killed at once it would leave its locks behind.
        group.terminate();
        _ = timeout(LAST_MOMENTS, output).await;
        Err(fault)
    }
}
