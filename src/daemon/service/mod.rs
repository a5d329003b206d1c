//! The daemon with a durable queue: commits that a watch finds become jobs, jobs become reports, reports go to sinks. Each of these
//! steps has a task of its own that takes from the queue and puts into it, so that it can begin again at any time; a sink that is
//! slow or dead holds up no other.

mod deliver;
mod presence;
mod resolve;
mod running;
mod scheduled;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use tokio::sync::{Notify, watch as flag};
use tokio::task::{JoinError, JoinSet};
use tracing::{Instrument, Span};

use super::http::Server;
use super::meters::Stuck;
use super::queue::{Job, Queue, QueueError};
use super::signals::Signals;
use super::{CommitEvent, Following, Handler, HandlerError, Known, WatchError};
use crate::delivery::Sink;

use deliver::Outlet;
use presence::{Presence, noted};
use resolve::Resolver;
use running::Running;
use turns::{Turns, Work};

pub use presence::{Open, Opened};
pub use resolve::{Next, Resolve, Resolved, Unresolved};
pub use running::Services;
pub use scheduled::{Scheduled, ScheduledWork};

/// The longest pause before a step is tried again.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// How often the queue is looked at where nothing is heard: another process may have changed it, `hierad queue retry`.
const LOOK: Duration = Duration::from_secs(5);

/// A repository, and how its commits are resolved.
pub struct Watched {
    /// What it is called in the queue.
    pub name: String,
    /// The repository, if it is open already.
    pub opened: Option<Opened>,
    /// Who opens it, as often as it is away.
    pub open: Open,
    /// Whether the service ends when it is gone.
    pub is_needed: bool,
    /// How often to look at it, at the least.
    pub poll: Duration,
    /// Who makes reports of its commits.
    pub resolve: Resolve,
    /// How it follows another repository, if it is a mirror.
    pub following: Option<Following>,
}

/// A daemon.
pub struct Service {
    /// The queue.
    pub queue: Queue,
    /// The repositories.
    pub repositories: Vec<Watched>,
    /// Where reports go.
    pub sinks: Vec<Sink>,
    /// What is due at times.
    pub scheduled: Vec<Scheduled>,
    /// How long reports are kept that all sinks have.
    pub keep: Duration,
    /// Who answers those who ask.
    pub http: Option<Server>,
}

/// The service has ended, and not because it was told to.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// A watch cannot go on.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The queue cannot be read even once.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// Nobody reads the reports any more.
    #[error("the sink '{sink}' cannot go on: {source}")]
    Closed {
        /// The sink.
        sink: String,
        /// Why.
        source: std::io::Error,
    },
    /// A task has panicked, which is a fault in hierad.
    #[error("a task of the daemon has failed: {0}")]
    Task(#[from] JoinError),
}

/// The tasks of a service that begins.
struct Tasks<'a> {
    set: JoinSet<Result<(), ServiceError>>,
    stopped: Stopped,
    turns: &'a mut Turns,
}

impl Tasks<'_> {
    /// Begins with `task` as soon as no former service is at the same work.
    fn spawn(&mut self, work: Work, task: impl Future<Output = Result<(), ServiceError>> + Send + 'static) {
        let (turn, mut stopped) = (self.turns.of(work), self.stopped.clone());
        self.set.spawn(async move {
            let _turn = tokio::select! {
                biased;
                () = ended(&mut stopped) => return Ok(()),
                turn = turn.lock_owned() => turn,
            };
            task.await
        });
    }
}

impl Service {
    /// Begins to work, with each piece of work as soon as a former service has ended it. No commit that comes later can be missed.
    async fn start(self, turns: &mut Turns) -> Result<Running, ServiceError> {
        for Watched { name, opened, .. } in &self.repositories {
            if let Some(opened) = opened {
                noted(&self.queue, name, &opened.known).await?;
            }
        }
        let (stop, stopped) = flag::channel(false);
        let mut tasks = Tasks { set: JoinSet::new(), stopped, turns };
        self.spawn(&mut tasks);
        Ok(Running::new(stop, tasks.set))
    }

    fn spawn(self, tasks: &mut Tasks<'_>) {
        let Service { queue, repositories, sinks, scheduled, keep, http } = self;
        let (signals, stopped) = (Arc::new(Signals::new()), tasks.stopped.clone());
        let outlet = |sink| Arc::new(Outlet::new(sink, queue.clone(), signals.clone()));
        let sinks: Arc<[Arc<Outlet>]> = sinks.into_iter().map(outlet).collect();
        for sink in sinks.iter() {
            let (sink, stopped) = (sink.clone(), stopped.clone());
            tasks.spawn(Work::Give(sink.sink.name.clone()), async move { sink.run(stopped).await });
        }
        for repository in repositories {
            repository.spawn(tasks, &queue, &sinks, &signals);
        }
        for work in scheduled {
            let (queue, signals, stopped) = (queue.clone(), signals.clone(), stopped.clone());
            let name = Work::Give(work.name.clone());
            tasks.spawn(name, async move { work.run(queue, &signals, stopped).await });
        }
        if let Some(http) = http {
            let (queue, signals, stopped) = (queue.clone(), signals.clone(), stopped.clone());
            tasks.set.spawn(async move {
                http.run(queue, signals, stopped).await;
                Ok(())
            });
        }
        tasks.set.spawn(forget(queue, keep, stopped));
    }
}

impl Watched {
    fn spawn(self, tasks: &mut Tasks<'_>, queue: &Queue, sinks: &Arc<[Arc<Outlet>]>, signals: &Arc<Signals>) {
        let Watched { name, opened, open, is_needed, poll, resolve, following } = self;
        let (queue, sinks, signals, stopped) = (queue.clone(), sinks.clone(), signals.clone(), tasks.stopped.clone());
        signals.meters.watch(&name, poll);
        let arrived = following.map(|following| {
            let arrived = Arc::new(Notify::new());
            let (name, told, signals, stopped) = (name.clone(), arrived.clone(), signals.clone(), stopped.clone());
            tasks.spawn(Work::Fetch(name.clone()), async move {
                following.run(&name, told, &signals, stopped).await;
                Ok(())
            });
            arrived
        });
        let wake = Arc::new(Notify::new());
        let adder = Adder::new(queue.clone(), name.clone(), wake.clone(), signals.clone());
        let resolver = Resolver { repository: name.clone(), queue, sinks, wake, signals };
        tasks.spawn(Work::Resolve(name.clone()), resolver.run(resolve, stopped.clone()));
        let span = tracing::error_span!("watch", repository = name);
        let presence = Presence { open, is_needed, arrived };
        tasks.spawn(Work::Watch(name), presence.run(opened, adder, stopped).instrument(span));
    }
}

/// Whether the service is to end.
pub(super) type Stopped = flag::Receiver<bool>;

/// Puts the commits that a watch finds into the queue.
struct Adder {
    queue: Queue,
    repository: String,
    wake: Arc<Notify>,
    signals: Arc<Signals>,
    /// What the queue knows of the branches.
    known: Option<Known>,
    /// There is something that the queue has not taken.
    stuck: Option<Stuck>,
}

impl Adder {
    fn new(queue: Queue, repository: String, wake: Arc<Notify>, signals: Arc<Signals>) -> Adder {
        Adder { queue, repository, wake, signals, known: None, stuck: None }
    }

    fn refused(&mut self, error: QueueError) -> HandlerError {
        self.signals.meters.queue_failed();
        self.stuck.get_or_insert_with(|| self.signals.meters.stuck());
        HandlerError::Refused(error.into())
    }
}

impl Handler for Adder {
    /// One transaction for all of them: that is what takes time.
    const TOGETHER: usize = 500;

    async fn handle(&mut self, commits: &[CommitEvent]) -> Result<(), HandlerError> {
        let added = self.queue.add(&self.repository, commits).await;
        added.map_err(|error| self.refused(error))?;
        self.signals.meters.found(&self.repository, commits.len());
        self.wake.notify_one();
        Ok(())
    }

    async fn known(&mut self, known: &Known) -> Result<(), HandlerError> {
        if self.known.as_ref() != Some(known) {
            let noted = self.queue.remember(&self.repository, known).await;
            noted.map_err(|error| self.refused(error))?;
            self.known = Some(known.clone());
            let is_there = |branch: &str| known.branches.keys().any(|name| name.as_str() == branch);
            self.signals.meters.only_branches(&self.repository, is_there);
        }
        Ok(())
    }

    fn looked(&mut self, is_good: bool) {
        if is_good {
            self.stuck = None;
        }
        self.signals.meters.looked(&self.repository, is_good);
    }
}

/// Forgets old jobs and their reports, once an hour.
async fn forget(queue: Queue, keep: Duration, mut stopped: Stopped) -> Result<(), ServiceError> {
    const PERIOD: Duration = Duration::from_hours(1);
    loop {
        match queue.forget(keep).await {
            Ok(0) => {}
            Ok(jobs) => tracing::info!(jobs, "old reports are forgotten"),
            Err(error) => tracing::warn!(%error, "cannot forget old reports"),
        }
        if pause(PERIOD, &mut stopped).await {
            return Ok(());
        }
    }
}

/// How long to wait after so many failures in a row.
pub(super) fn backoff(failures: u32, longest: Duration) -> Duration {
    // Dice add up to the same again.
    let delays = ExponentialBuilder::new().with_min_delay(Duration::from_millis(500)).with_max_delay(longest / 2);
    let mut delays = delays.with_jitter().without_max_times().build();
    delays.nth(failures.saturating_sub(1).min(32) as usize).unwrap_or(longest)
}

/// The span of what is done for a job, and to which sink its report goes: whatever is logged meanwhile says so. It is one of
/// errors, since they are logged always.
fn span(job: &Job, sink: Option<&str>) -> Span {
    let Job { number, repository, event, .. } = job;
    tracing::error_span!("job", job = number, commit = %event.after, branch = %event.branch, repository, sink)
}

/// Takes a step in the queue, again and again until it succeeds: the disk may be full. Nothing if the service is to end before.
async fn insist<T, F>(signals: &Signals, stopped: &mut Stopped, step: impl Fn() -> F) -> Option<T>
where
    F: Future<Output = Result<T, QueueError>>,
{
    let (mut failures, mut stuck) = (0, None);
    loop {
        match step().await {
            Ok(done) => return Some(done),
            Err(error) => {
                failures += 1;
                signals.meters.queue_failed();
                stuck.get_or_insert_with(|| signals.meters.stuck());
                tracing::warn!(%error, failures, "the queue cannot be used; trying again");
                if pause(backoff(failures, LONGEST_PAUSE), stopped).await {
                    return None;
                }
            }
        }
    }
}

/// Waits; whether the service is to end.
pub(super) async fn pause(time: Duration, stopped: &mut Stopped) -> bool {
    tokio::select! {
        biased;
        () = ended(stopped) => true,
        () = tokio::time::sleep(time) => false,
    }
}

/// Waits until there is something to do, at most so long, or the service is to end.
pub(super) async fn woken(wake: &Notify, most: Duration, stopped: &mut Stopped) {
    tokio::select! {
        () = wake.notified() => {}
        _ = pause(most, stopped) => {}
    }
}

/// Resolves when the service is to end.
pub(super) async fn ended(stopped: &mut Stopped) {
    _ = stopped.wait_for(|stopped| *stopped).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::CommitKind;
    use crate::git::{BranchName, CommitId};

    #[tokio::test]
    async fn it_is_ill_until_the_queue_takes_what_was_found() {
        let base = tempfile::tempdir().unwrap();
        let (folder, away) = (base.path().join("state"), base.path().join("away"));
        let (queue, _lock) = Queue::create(&folder).await.unwrap();
        let signals = Arc::new(Signals::new());
        // By a connection that is still to be opened.
        let mut adder = Adder::new(queue.beside(), "data".to_owned(), Arc::default(), signals.clone());
        let after = CommitId::from_hex(&"1".repeat(40)).unwrap();
        let events = [CommitEvent { branch: BranchName::new("main"), before: None, after, kind: CommitKind::New }];
        std::fs::rename(&folder, &away).unwrap();
        assert!(matches!(adder.handle(&events).await, Err(HandlerError::Refused(_))));
        adder.looked(false);
        assert_eq!(signals.meters.trouble(), ["the queue cannot be used"]);
        std::fs::rename(&away, &folder).unwrap();
        adder.handle(&events).await.unwrap();
        adder.looked(true);
        assert_eq!(signals.meters.trouble(), [""; 0]);
    }

    #[test]
    fn pauses_become_longer_within_bounds() {
        let longest = Duration::from_mins(1);
        for _ in 0..100 {
            let first = backoff(1, longest);
            assert!(first >= Duration::from_millis(500) && first <= Duration::from_secs(1), "{first:?}");
            for failures in [10, 40, u32::MAX] {
                let pause = backoff(failures, longest);
                assert!(pause >= longest / 2 && pause <= longest, "{pause:?}");
            }
        }
    }
}
