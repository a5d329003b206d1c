//! The daemon, `hierad watch`: notices each new commit on the watched branches and hands it to a handler, one after the other,
//! each once. The handler either does all there is to do itself ([`each`]), or puts the commits into a durable queue, and
//! the [`service`] resolves them and delivers their reports.
//!
//! Sources of events (`event.rs`, `files.rs`) only say "look": file notification, a clock, a failed look that is due again.
//! A look (`look.rs`) compares the tips of the branches with those that are done and plans what to hand out (`plan.rs`). So
//! it does not matter how many events come or get lost, or how often a branch moved between two looks.
//!
//! "Once" is meant for each branch: a commit that comes to a second branch that was there before is an event of that, too.
//! A branch that appears brings only the commits that no other local branch has, watched or not.
//!
//! [`http`] answers those who ask the service.
//!
//! Two kinds of failure: a critical one ends the loop ([`WatchError`]); any other is logged, more and more rarely while it
//! repeats, and the loop goes on.

mod event;
mod files;
mod handler;
pub mod http;
mod known;
mod look;
mod meters;
mod mirror;
mod plan;
pub mod queue;
mod sample;
pub mod service;
mod signals;

pub use files::tell;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::{mpsc, watch as flag};
use tokio::task::{JoinError, JoinSet, spawn_blocking};
use tracing::{Instrument, Span};

use crate::git::{BranchName, BranchPatterns, CommitId, Repository};
use crate::report::{Arrival, JobName};
use event::Event;
use look::{Looked, Watched};
use sample::Sampler;
use service::{backoff, pause};

pub use handler::{Handler, HandlerError, each};
pub use known::Known;
pub use mirror::Following;

/// What to watch, and how.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// Which branches.
    pub branches: BranchPatterns,
    /// How often to look even if nothing is heard. File systems on a network often give no notification.
    pub poll: Duration,
    /// Whether to ask the system for notification of changed files.
    pub notify: bool,
    /// How many commits that come to a branch at once are handed out one by one, at most: of more, such as after a long time
    /// without a watch, the oldest are handed out as one.
    pub catch_up: NonZeroUsize,
}

/// More than a repository gets in years.
pub const CATCH_UP: NonZeroUsize = NonZeroUsize::new(50_000).unwrap();

impl Default for WatchOptions {
    fn default() -> WatchOptions {
        let poll = Duration::from_secs(2);
        WatchOptions { branches: BranchPatterns::all(), poll, notify: true, catch_up: CATCH_UP }
    }
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

impl CommitEvent {
    /// What a report says of it, `job` being its name in a queue.
    pub fn arrival(&self, job: Option<JobName>) -> Arrival {
        Arrival { branch: self.branch.to_string(), kind: self.kind.as_str(), job }
    }
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
    /// As the last of the oldest ones of very many that came at once, which are handed out together; `before` is what was there
    /// before all of them.
    Combined,
}

/// The watch has ended, and not because it was told to.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The repository is not there any more.
    #[error("the repository {} is gone", .0.display())]
    Gone(PathBuf),
    /// The handler cannot go on.
    #[error("cannot handle commit {commit} of branch {branch}: {source}")]
    Handler {
        /// The commit, the first of several.
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

impl CommitKind {
    /// All kinds.
    const ALL: [CommitKind; 5] =
        [CommitKind::New, CommitKind::Created, CommitKind::Joined, CommitKind::Rewritten, CommitKind::Combined];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            CommitKind::New => "new",
            CommitKind::Created => "created",
            CommitKind::Joined => "joined",
            CommitKind::Rewritten => "rewritten",
            CommitKind::Combined => "combined",
        }
    }

    /// Whether it stands for all that is behind the commit and was not there before.
    fn is_for_all(self) -> bool {
        matches!(self, CommitKind::Joined | CommitKind::Rewritten)
    }

    /// The kind that the word stands for.
    pub fn of(word: &str) -> Option<CommitKind> {
        CommitKind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// How many looks in a row must find the repository gone before that is believed.
const GONE_AFTER: u32 = 5;

/// The longest time until commits that were refused are handed out again.
const LONGEST_REST: Duration = Duration::from_mins(1);

/// Watches `repository` until `shutdown` resolves, and hands each commit that is not `known` to `handler`. A commit that is being handled then
/// is still finished; commits not begun are left for a later watch.
pub async fn watch(
    repository: Repository,
    known: Known,
    options: WatchOptions,
    mut handler: impl Handler,
    shutdown: impl Future<Output = ()>,
) -> Result<(), WatchError> {
    let (stop, stopped) = flag::channel(false);
    let (_, poked) = flag::channel(());
    let running = run(repository, known, options, &mut handler, (poked, stopped));
    tokio::pin!(running);
    tokio::select! {
        result = &mut running => return result,
        () = shutdown => {}
    }
    stop.send_replace(true);
    running.await
}

async fn run(
    repository: Repository,
    known: Known,
    options: WatchOptions,
    handler: &mut impl Handler,
    (poked, stopped): (flag::Receiver<()>, flag::Receiver<bool>),
) -> Result<(), WatchError> {
    let (sender, events) = mpsc::channel(event::WAITING_EVENTS);
    let place = repository.common_dir().to_owned();
    let watched = Watched::new(repository, options.branches, options.catch_up, known);
    tracing::info!(folder = %place.display(), branches = watched.count(), "watching");
    let mut workers = JoinSet::new();
    let _ = sender.try_send(Event::Start);
    workers.spawn(event::poll(options.poll, sender.clone()));
    workers.spawn(event::pokes(poked, sender.clone()));
    if options.notify {
        workers.spawn(files::notify(place.clone(), options.poll, sender.clone()).in_current_span());
    }
    drop(sender);
    let watch = Loop { stopped, place, poll: options.poll, sampler: Sampler::default(), failures: 0 };
    watch.run(watched, events, handler).await
}

/// The state of the loop besides the branches themselves and the events.
struct Loop {
    stopped: flag::Receiver<bool>,
    place: PathBuf,
    poll: Duration,
    sampler: Sampler,
    /// How many looks in a row have failed, or their commits were refused.
    failures: u32,
}

impl Loop {
    async fn run(
        mut self,
        mut watched: Watched,
        mut events: mpsc::Receiver<Event>,
        handler: &mut impl Handler,
    ) -> Result<(), WatchError> {
        loop {
            let retry = event::retry_delay(self.failures, self.poll);
            let event = event::next(&mut events, &mut self.stopped, retry).await;
            tracing::trace!(?event, "woken");
            if event == Event::Stop {
                return Ok(());
            }
            let looked;
            let span = Span::current();
            (watched, events, looked) = spawn_blocking(move || {
                if event == Event::Files {
                    event::settle(&mut events);
                }
                event::swallow(&mut events); // one look answers all
                let looked = span.in_scope(|| watched.look(|| event::settle_long(&mut events)));
                (watched, events, looked)
            })
            .await?;
            let is_seen = self.log(&looked);
            let is_taken = self.hand_out(&looked.commits, &mut watched, handler).await?;
            handler.looked(is_seen && is_taken);
            if is_seen && is_taken {
                self.failures = 0;
                if let Some(times) = self.sampler.works() {
                    tracing::info!(times, "looking for commits works again");
                }
                continue;
            }
            self.failures = self.failures.saturating_add(1);
            // What hears of files goes on: there would be a look for each of their changes.
            if !is_taken && pause(backoff(self.failures, LONGEST_REST), &mut self.stopped).await {
                return Ok(());
            }
            if self.failures >= GONE_AFTER && !watched.is_there() {
                return Err(WatchError::Gone(self.place));
            }
        }
    }

    /// Hands out the commits of a look. Whether all were taken: the others are found again by the next one.
    async fn hand_out<H: Handler>(
        &mut self,
        commits: &[CommitEvent],
        watched: &mut Watched,
        handler: &mut H,
    ) -> Result<bool, WatchError> {
        for commits in commits.chunks(H::TOGETHER) {
            if *self.stopped.borrow() {
                return Ok(true);
            }
            let result = handler.handle(commits).await;
            if !self.is_taken(result, &commits[0])? {
                return Ok(false);
            }
            for commit in commits {
                watched.done(commit);
            }
        }
        let result = handler.known(watched.known()).await;
        if let Err(error) = &result
            && let Some(times) = self.sampler.failed("branches")
        {
            tracing::warn!(times, %error, "cannot note the branches; trying again");
        }
        Ok(result.is_ok())
    }

    /// Whether commits, `event` first, need not be handed out again.
    fn is_taken(&mut self, result: Result<(), HandlerError>, event: &CommitEvent) -> Result<bool, WatchError> {
        let (commit, branch) = (event.after, &event.branch);
        match result {
            Ok(()) => return Ok(true),
            Err(HandlerError::Critical(source)) => {
                return Err(WatchError::Handler { commit, branch: branch.clone(), source });
            }
            Err(HandlerError::Task(error)) => return Err(error.into()),
            Err(HandlerError::Runtime(error)) => {
                tracing::error!(%commit, %branch, %error, "cannot handle the commit; going on with the next");
                return Ok(true);
            }
            Err(HandlerError::Refused(error)) => {
                if let Some(times) = self.sampler.failed("commits") {
                    tracing::warn!(%commit, %branch, times, %error, "cannot take commits; trying again");
                }
            }
        }
        Ok(false)
    }

    /// Logs what went wrong in a look; whether nothing did.
    fn log(&mut self, looked: &Looked) -> bool {
        for failure in &looked.failures {
            if let Some(times) = self.sampler.failed(&failure.about) {
                let error = &failure.error;
                tracing::warn!(about = %failure.about, times, %error, "cannot look for commits; trying again");
            }
        }
        looked.failures.is_empty()
    }
}
