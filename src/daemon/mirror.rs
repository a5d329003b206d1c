//! Keeps the mirror of a remote repository up to date. The watch of the mirror notices by itself that branches have
//! moved.

use std::io::Write as _;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::backoff::backoff;
use super::handle::ServiceHandle;
use super::repeated::RepeatedFailures;
use super::shutdown::Shutdown;
use crate::event::RepositoryName;
use crate::git::{GIT_MEMORY, Messages, Mirror, MirrorError, bound, limit_memory};
use crate::process::Group;

/// The longest pause after failed fetches.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// The time that git has to clean up when it is asked to stop.
const CLEANUP_TIME: Duration = Duration::from_secs(2);

/// The maximum size of an answer from git, in bytes.
const MAX_ANSWER: u64 = 1 << 20;

/// A mirror, and the schedule of its fetches.
#[derive(Debug, Clone)]
pub struct MirrorFetcher {
    /// The mirror.
    pub mirror: Mirror,
    /// The pause between two fetches.
    pub every: Duration,
    /// The longest time that a fetch may take.
    pub limit: Duration,
}

/// The reason why a fetch failed.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error("{0}")]
    Git(String),
    #[error("took longer than {} s, its 'fetch_timeout'", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("the daemon ends")]
    Shutdown,
    #[error("cannot run `git`: {0}")]
    NotRun(std::io::Error),
    #[error(transparent)]
    Mirror(#[from] MirrorError),
}

impl MirrorFetcher {
    /// Fetches repeatedly until the service ends, and notifies `fetched` of each success.
    pub(super) async fn run(
        self,
        repository: &RepositoryName,
        fetched: Arc<Notify>,
        service: &ServiceHandle,
        mut shutdown: Shutdown,
    ) {
        let (mut logged, mut failures) = (RepeatedFailures::default(), 0);
        let mut requests = service.look.listen();
        service.add_mirror(repository, self.every + self.limit);
        tracing::info!(repository = repository.as_str(), every = ?self.every, "fetching");
        while !shutdown.is_requested() {
            let start = Instant::now();
            let result = self.fetch(repository, &mut shutdown).await;
            if matches!(result, Err(FetchError::Shutdown)) {
                break;
            }
            service.fetched(repository, result.is_ok());
            let rest = match result {
                Ok(()) => {
                    tracing::debug!(repository = repository.as_str(), took = ?start.elapsed(), "fetched");
                    failures = 0;
                    fetched.notify_one();
                    if let Some(times) = logged.recovered() {
                        tracing::info!(repository = repository.as_str(), times, "fetching works again");
                    }
                    self.every
                }
                Err(error) => {
                    failures += 1;
                    if let Some(times) = logged.failed(repository.as_str()) {
                        let mirror = self.mirror.folder.display();
                        tracing::warn!(repository = repository.as_str(), times, %mirror, %error, "cannot fetch; trying again");
                    }
                    backoff(failures, LONGEST_PAUSE)
                }
            };
            tokio::select! {
                _ = shutdown.interrupts(rest) => {}
                Ok(()) = requests.changed() => {}
            }
        }
    }

    /// Fetches now. A missing or damaged mirror is created again, since it is the daemon's own.
    async fn fetch(&self, repository: &RepositoryName, shutdown: &mut Shutdown) -> Result<(), FetchError> {
        if !self.mirror.is_there() {
            return self.fetch_anew(shutdown).await;
        }
        // The answer names branch and commit at the same moment, whatever is pushed before or after it.
        let mut asking = shutdown.clone();
        let (fetched, answer) =
            tokio::join!(self.git(self.mirror.fetch(), shutdown), self.git(self.mirror.ask_head(), &mut asking));
        let Err(error) = fetched else { return Ok(self.mirror.set_head(&answer?)?) };
        if let FetchError::Git(_) = &error
            && let Err(FetchError::Git(damage)) = self.git(self.mirror.check(), shutdown).await
        {
            self.fetch_anew(shutdown).await?;
            let former = self.mirror.former();
            tracing::warn!(repository = repository.as_str(), damage, former = %former.display(), "the mirror was damaged; it was fetched anew");
            return Ok(());
        }
        Err(error)
    }

    /// Makes a new mirror next to the old one, and replaces the old one when the new one is complete.
    async fn fetch_anew(&self, shutdown: &mut Shutdown) -> Result<(), FetchError> {
        let fresh = self.mirror.beside()?;
        self.git(fresh.fetch(), shutdown).await?;
        self.follow_head(&fresh, shutdown).await?;
        if let Some(former) = self.mirror.last()
            && let Err(error) = self.git(fresh.adopt(&former), shutdown).await
        {
            tracing::debug!(%error, "what hierad has written to the former mirror stays there");
        }
        Ok(self.mirror.replace(&fresh)?)
    }

    /// Sets the default branch of a mirror to that of its remote.
    async fn follow_head(&self, mirror: &Mirror, shutdown: &mut Shutdown) -> Result<(), FetchError> {
        let answer = self.git(mirror.ask_head(), shutdown).await?;
        Ok(mirror.set_head(&answer)?)
    }

    /// Runs git, and returns its output. If it is late or the service ends, it is killed along with everything that
    /// it has started. It does not outlive the daemon, even if the daemon is killed.
    async fn git(&self, command: Command, shutdown: &mut Shutdown) -> Result<String, FetchError> {
        let bound = bound(&command);
        let leads_session = bound.is_some();
        let mut command = tokio::process::Command::from(bound.unwrap_or(command));
        let mut group = if leads_session { Group::marked(command.as_std_mut()) } else { Group::led(&mut command) };
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(FetchError::NotRun)?;
        let _input = child.stdin.take(); // the command ends when this is dropped
        if let Some(id) = child.id() {
            limit_memory(id, GIT_MEMORY);
        }
        group.is_led_by(&child);
        let (answer, messages) = (child.stdout.take(), child.stderr.take());
        let mut output = pin!(async { tokio::join!(child.wait(), answer_of(answer), last_messages(messages)) });
        let error = tokio::select! {
            output = &mut output => {
                group.release();
                let (status, answer, messages) = output;
                let is_done = status.map_err(FetchError::NotRun)?.success();
                return if is_done { Ok(answer) } else { Err(FetchError::Git(messages.text().trim().to_owned())) };
            }
            () = sleep(self.limit) => FetchError::TimedOut(self.limit),
            () = shutdown.requested() => FetchError::Shutdown,
        };
        // If git were killed at once, it would leave its locks behind.
        group.terminate();
        _ = timeout(CLEANUP_TIME, output).await;
        Err(error)
    }
}

/// Reads an answer from git. If it is too long, it is cut, which ends git.
async fn answer_of(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let mut answer = Vec::new();
    if let Some(pipe) = pipe {
        _ = pipe.take(MAX_ANSWER).read_to_end(&mut answer).await;
    }
    String::from_utf8_lossy(&answer).trim().to_owned()
}

/// Reads the last messages of git.
async fn last_messages(pipe: Option<impl AsyncRead + Unpin>) -> Messages {
    let (mut messages, mut buffer) = (Messages::default(), vec![0; 8192]);
    if let Some(mut pipe) = pipe {
        while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
            _ = messages.write(&buffer[..read]);
        }
    }
    messages
}
