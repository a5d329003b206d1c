//! Watches the branches of one repository, and hands each new commit to a [`Handler`], in order and once.
//!
//! Reasons to wake (`wake`, `notification`) only say "look": a changed file, the clock, a request, a failed look that
//! is due again. A look (`tracker`) compares the tips of the branches with the checkpoint and finds the commits that
//! have come (`arrivals`). So it does not matter how many notifications come or get lost, or how often a branch moved
//! between two looks.
//!
//! "Once" means once per branch: a commit that comes to a second existing branch is an event of that branch, too. A
//! branch that appears brings only the commits that no other local branch has, watched or not.
//!
//! `BranchTracker` is the one owner of the last seen commits, a [`BranchCheckpoint`]; a
//! handler may store it. Nothing here knows of queues or reports.

mod arrivals;
mod checkpoint;
mod handler;
mod notification;
mod tracker;
mod wake;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, watch as flag};
use tokio::task::{JoinError, JoinSet, spawn_blocking};
use tracing::{Instrument, Span};

use super::backoff::backoff;
use super::repeated::RepeatedFailures;
use super::shutdown::{Shutdown, shutdown};
use crate::event::CommitEvent;
use crate::git::{BranchName, BranchPatterns, CommitId, Repository};
use tracker::{BranchTracker, Look};
use wake::Wake;

pub use checkpoint::BranchCheckpoint;
pub use handler::{Handler, HandlerError, each};
pub use notification::request_look;

/// The options of a watch.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// The branches to watch.
    pub branches: BranchPatterns,
    /// The longest time between two looks. File systems on a network often give no notification.
    pub poll: Duration,
    /// True to have the system notify of changed files.
    pub notify: bool,
    /// The maximum number of commits that come to a branch at once and are handed out one by one. If there are more,
    /// such as after a long time without a watch, the oldest are handed out as one.
    pub catch_up: NonZeroUsize,
    /// True to hand out pushes of several commits as one event, too, after their commits.
    pub pushes: bool,
}

/// The default of [`WatchOptions::catch_up`]: more than a repository gets in years.
pub const CATCH_UP: NonZeroUsize = NonZeroUsize::new(50_000).unwrap();

impl Default for WatchOptions {
    fn default() -> WatchOptions {
        let poll = Duration::from_secs(2);
        WatchOptions { branches: BranchPatterns::all(), poll, notify: true, catch_up: CATCH_UP, pushes: false }
    }
}

/// The watch has ended without being told to.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The repository no longer exists.
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

/// The number of looks in a row that must find the repository gone before the watch believes it.
const GONE_AFTER: u32 = 5;

/// The longest time until refused commits are handed out again.
const LONGEST_REST: Duration = Duration::from_mins(1);

/// Watches `repository` until `shutdown` resolves, and hands each commit beyond `checkpoint` to `handler`. A commit
/// that is being handled then is still finished; commits not begun are left for a later watch.
pub async fn watch(
    repository: Repository,
    checkpoint: BranchCheckpoint,
    options: WatchOptions,
    mut handler: impl Handler,
    until: impl Future<Output = ()>,
) -> Result<(), WatchError> {
    let (trigger, shutdown) = shutdown();
    let (_, requests) = flag::channel(());
    let running = run(repository, checkpoint, options, &mut handler, (requests, shutdown));
    tokio::pin!(running);
    tokio::select! {
        result = &mut running => return result,
        () = until => {}
    }
    trigger.shut_down();
    running.await
}

/// Watches `repository` until the shutdown, and also looks whenever one of the `requests` comes.
pub(super) async fn run(
    repository: Repository,
    checkpoint: BranchCheckpoint,
    options: WatchOptions,
    handler: &mut impl Handler,
    (requests, shutdown): (flag::Receiver<()>, Shutdown),
) -> Result<(), WatchError> {
    let (sender, wakes) = mpsc::channel(wake::CAPACITY);
    let folder = repository.common_dir().to_owned();
    let tracker = BranchTracker::new(repository, options.branches, (options.catch_up, options.pushes), checkpoint);
    tracing::info!(folder = %folder.display(), branches = tracker.count(), "watching");
    let mut workers = JoinSet::new();
    let _ = sender.try_send(Wake::Start);
    workers.spawn(wake::poll(options.poll, sender.clone()));
    workers.spawn(wake::forward(requests, sender.clone()));
    if options.notify {
        workers.spawn(notification::notify(folder.clone(), options.poll, sender.clone()).in_current_span());
    }
    drop(sender);
    let failures = RepeatedFailures::default();
    let watch = Loop { shutdown, folder, poll: options.poll, logged: failures, failures: 0 };
    watch.run(tracker, wakes, handler).await
}

/// The state of the loop, apart from the branches and the reasons to wake.
struct Loop {
    shutdown: Shutdown,
    folder: PathBuf,
    poll: Duration,
    logged: RepeatedFailures,
    /// The number of looks in a row that failed or whose commits were refused.
    failures: u32,
}

impl Loop {
    async fn run(
        mut self,
        mut tracker: BranchTracker,
        mut wakes: mpsc::Receiver<Wake>,
        handler: &mut impl Handler,
    ) -> Result<(), WatchError> {
        let mut is_cut = false;
        loop {
            let retry = if is_cut { Some(Duration::ZERO) } else { wake::retry_delay(self.failures, self.poll) };
            let wake = wake::next(&mut wakes, &mut self.shutdown, retry).await;
            tracing::trace!(?wake, "woken");
            if wake == Wake::Shutdown {
                return Ok(());
            }
            wake::drain(&mut wakes);
            handler.looks();
            let span = Span::current();
            let look;
            (tracker, look) = spawn_blocking(move || {
                let look = span.in_scope(|| tracker.look(thread::sleep));
                (tracker, look)
            })
            .await?;
            is_cut = look.is_cut;
            let is_seen = self.log(&look);
            let is_taken = self.hand_out(&look.commits, &mut tracker, handler).await?;
            handler.looked(is_seen && is_taken);
            if is_seen && is_taken {
                self.failures = 0;
                if let Some(times) = self.logged.recovered() {
                    tracing::info!(times, "looking for commits works again");
                }
                continue;
            }
            self.failures = self.failures.saturating_add(1);
            // Without the pause, there would be a look for each change of a file.
            if !is_taken && self.shutdown.interrupts(backoff(self.failures, LONGEST_REST)).await {
                return Ok(());
            }
            if self.failures >= GONE_AFTER && !tracker.is_there() {
                return Err(WatchError::Gone(self.folder));
            }
        }
    }

    /// Hands out the commits of a look and then the checkpoint. Returns false if something was refused, which the
    /// next look finds again.
    async fn hand_out<H: Handler>(
        &mut self,
        commits: &[CommitEvent],
        tracker: &mut BranchTracker,
        handler: &mut H,
    ) -> Result<bool, WatchError> {
        let mut rest = commits;
        while !rest.is_empty() {
            let (commits, later) = rest.split_at(arrivals::count_together(rest, H::TOGETHER));
            rest = later;
            if self.shutdown.is_requested() {
                return Ok(true);
            }
            let result = handler.handle(commits).await;
            if !self.is_taken(result, &commits[0])? {
                return Ok(false);
            }
            for commit in commits {
                tracker.advance(commit);
            }
        }
        let Some(checkpoint) = tracker.unsaved() else { return Ok(true) };
        let result = handler.checkpoint(checkpoint).await;
        match &result {
            Ok(()) => tracker.saved(),
            Err(error) => {
                if let Some(times) = self.logged.failed("branches") {
                    tracing::warn!(times, %error, "cannot note the branches; trying again");
                }
            }
        }
        Ok(result.is_ok())
    }

    /// Logs the failure of a handler, if any. Returns true unless the commits, `event` first, have to be handed out
    /// again.
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
                if let Some(times) = self.logged.failed("commits") {
                    tracing::warn!(%commit, %branch, times, %error, "cannot take commits; trying again");
                }
            }
        }
        Ok(false)
    }

    /// Logs the failures of a look. Returns true if there are none.
    fn log(&mut self, look: &Look) -> bool {
        for failure in &look.failures {
            if let Some(times) = self.logged.failed(&failure.about) {
                let error = &failure.error;
                tracing::warn!(about = %failure.about, times, %error, "cannot look for commits; trying again");
            }
        }
        look.failures.is_empty()
    }
}
