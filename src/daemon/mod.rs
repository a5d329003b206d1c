//! The loop of `hierad watch`: notices each new commit on the watched branches and hands it to a handler, one after the
//! other, each once. What the handler does with a commit (reports, queues, sinks) is not known here.
//!
//! Sources of events (`event.rs`, `files.rs`) only say "look": file notification, a clock, a failed look that is due again.
//! A look (`look.rs`) compares the tips of the branches with those that are done and plans what to hand out (`plan.rs`). So
//! it does not matter how many events come or get lost, or how often a branch moved between two looks.
//!
//! "Once" is meant for each branch: a commit that comes to a second branch that was there before is an event of that, too.
//! A branch that appears brings only the commits that no other local branch has, watched or not.
//!
//! Two kinds of failure: a critical one ends the loop ([`WatchError`]); any other is logged, more and more rarely while it
//! repeats, and the loop goes on.

mod event;
mod files;
mod look;
mod plan;
mod sample;

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::{mpsc, watch as flag};
use tokio::task::{JoinError, JoinSet, spawn_blocking};

use crate::git::{BranchName, BranchPatterns, Branches, CommitId, RefsError, Repository};
use event::Event;
use look::{Looked, Watched};
use sample::Sampler;

/// What to watch, and how.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// Which branches.
    pub branches: BranchPatterns,
    /// How often to look even if nothing is heard. File systems on a network often give no notification.
    pub poll: Duration,
    /// Whether to ask the system for notification of changed files.
    pub notify: bool,
    /// Which commits are known already.
    pub start: Start,
}

impl Default for WatchOptions {
    fn default() -> WatchOptions {
        let poll = Duration::from_secs(2);
        WatchOptions { branches: BranchPatterns::all(), poll, notify: true, start: Start::Now }
    }
}

/// Which commits count as known when the watch begins.
#[derive(Debug, Clone)]
pub enum Start {
    /// All that are there.
    Now,
    /// This commit and those behind it, on the branches that have it; all that are there on the others.
    Since(CommitId),
    /// Those behind these tips, such as a former watch left them; other branches are new.
    From(Branches),
}

/// A commit to handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitEvent {
    /// The branch it has come to.
    pub branch: BranchName,
    /// What to compare it with; nothing if it is the first of its history.
    pub before: Option<CommitId>,
    /// The commit.
    pub after: CommitId,
    /// How it has come to the branch.
    pub kind: CommitKind,
}

/// How a commit has come to a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitKind {
    /// On top of the branch; `before` is its first parent. A merge stands for all that it brought in.
    New,
    /// With a branch that was not there before; `before` is its first parent.
    Created,
    /// By a merge that has the branch's former tip as another parent than its first; `before` is the former tip.
    Joined,
    /// Instead of the former tip, which is not part of its history (an amended commit, a rebase, a reset); `before` is the
    /// former tip, whose objects may be gone before long. A shallow fetch looks the same.
    Rewritten,
}

/// The handler could not handle a commit.
#[derive(Debug, thiserror::Error)]
pub enum HandlerError {
    /// The watch has to end.
    #[error(transparent)]
    Critical(Box<dyn std::error::Error + Send + Sync>),
    /// The commit is given up, the watch goes on.
    #[error(transparent)]
    Runtime(Box<dyn std::error::Error + Send + Sync>),
}

/// The watch has ended, and not because it was told to.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The branches could not be read even once.
    #[error("cannot begin to watch: {0}")]
    Start(#[source] RefsError),
    /// The repository is not there any more.
    #[error("the repository {} is gone", .0.display())]
    Gone(PathBuf),
    /// The handler cannot go on.
    #[error("cannot handle commit {commit} of branch {branch}: {source}")]
    Handler {
        /// The commit.
        commit: CommitId,
        /// Its branch.
        branch: BranchName,
        /// The handler's own error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A task has panicked, which is a fault in hierad.
    #[error("a task of the watch has failed: {0}")]
    Task(#[from] JoinError),
}

/// How many looks in a row must find the repository gone before that is believed.
const GONE_AFTER: u32 = 5;

/// How many events may wait; more say nothing new.
const WAITING_EVENTS: usize = 16;

/// Watches `repository` until `shutdown` resolves, and hands each new commit to `handle`, which may block. A commit that is
/// being handled then is still finished; commits not begun are left for a later watch ([`Start::From`]).
pub async fn watch<H>(
    repository: Repository,
    options: WatchOptions,
    handle: H,
    shutdown: impl Future<Output = ()>,
) -> Result<(), WatchError>
where
    H: FnMut(CommitEvent) -> Result<(), HandlerError> + Send + 'static,
{
    let (stop, stopped) = flag::channel(false);
    let running = run(repository, options, handle, stopped);
    tokio::pin!(running);
    tokio::select! {
        result = &mut running => return result,
        () = shutdown => {}
    }
    stop.send_replace(true);
    running.await
}

async fn run<H>(
    repository: Repository,
    options: WatchOptions,
    handle: H,
    stopped: flag::Receiver<bool>,
) -> Result<(), WatchError>
where
    H: FnMut(CommitEvent) -> Result<(), HandlerError> + Send + 'static,
{
    let (sender, events) = mpsc::channel(WAITING_EVENTS);
    let place = repository.common_dir().to_owned();
    let begin = move || Watched::begin(repository, options.branches, options.start);
    let watched = spawn_blocking(begin).await?.map_err(WatchError::Start)?;
    tracing::info!(repository = %place.display(), branches = watched.count(), "watching");
    let mut workers = JoinSet::new();
    let _ = sender.try_send(Event::Start);
    workers.spawn(event::poll(options.poll, sender.clone()));
    if options.notify {
        workers.spawn(files::notify(place.clone(), options.poll, sender.clone()));
    }
    drop(sender);
    let watch = Loop { events, stopped, place, poll: options.poll, sampler: Sampler::default(), failures: 0 };
    watch.run(watched, handle).await
}

/// The state of the loop besides the branches themselves.
struct Loop {
    events: mpsc::Receiver<Event>,
    stopped: flag::Receiver<bool>,
    place: PathBuf,
    poll: Duration,
    sampler: Sampler,
    /// How many looks in a row have failed.
    failures: u32,
}

impl Loop {
    async fn run<H>(mut self, mut watched: Watched, mut handle: H) -> Result<(), WatchError>
    where
        H: FnMut(CommitEvent) -> Result<(), HandlerError> + Send + 'static,
    {
        loop {
            let retry = event::retry_delay(self.failures, self.poll);
            let event = event::next(&mut self.events, &mut self.stopped, retry).await;
            tracing::trace!(?event, "woken");
            match event {
                Event::Stop => return Ok(()),
                Event::Files => event::settle(&mut self.events).await,
                Event::Start | Event::Tick | Event::Retry => {}
            }
            while self.events.try_recv().is_ok() {} // one look answers all
            let looked;
            (watched, looked) = spawn_blocking(move || {
                let looked = watched.look();
                (watched, looked)
            })
            .await?;
            self.log(&looked)?;
            for commit in looked.commits {
                if *self.stopped.borrow() {
                    return Ok(());
                }
                watched.done(&commit);
                handle = hand_out(commit, handle).await?;
            }
        }
    }

    /// Logs what went wrong in a look; fails if the repository is gone for good.
    fn log(&mut self, looked: &Looked) -> Result<(), WatchError> {
        for failure in &looked.failures {
            if let Some(times) = self.sampler.failed(&failure.about) {
                let error = &failure.error;
                tracing::warn!(about = %failure.about, times, %error, "cannot look for commits; trying again");
            }
        }
        if looked.failures.is_empty() {
            if let Some(times) = self.sampler.works() {
                tracing::info!(times, "looking for commits works again");
            }
            self.failures = 0;
            return Ok(());
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures >= GONE_AFTER && !self.place.exists() {
            return Err(WatchError::Gone(self.place.clone()));
        }
        Ok(())
    }
}

/// Hands one commit to the handler on a thread that may block, and takes the handler back.
async fn hand_out<H>(event: CommitEvent, mut handle: H) -> Result<H, WatchError>
where
    H: FnMut(CommitEvent) -> Result<(), HandlerError> + Send + 'static,
{
    let (commit, branch) = (event.after, event.branch.clone());
    let (handle, result) = spawn_blocking(move || {
        let result = handle(event);
        (handle, result)
    })
    .await?;
    match result {
        Ok(()) => Ok(handle),
        Err(HandlerError::Critical(source)) => Err(WatchError::Handler { commit, branch, source }),
        Err(HandlerError::Runtime(error)) => {
            tracing::error!(%commit, %branch, %error, "cannot handle the commit; going on with the next");
            Ok(handle)
        }
    }
}
