//! The service: a daemon with a durable queue.
//!
//! Commits that a watch finds become jobs, jobs become reports, and reports go to sinks. Each step has a separate
//! task that takes from the queue and adds to it, so that it can begin again at any time. A slow or dead sink does
//! not delay the others.
//!
//! - [`Service`] has the parts of a daemon; [`Services`] runs one, and replaces it by another when settings are
//!   reloaded.
//! - `watching` and `enqueue` bring commits into the queue, `resolve` makes their reports, `deliver` gives these to
//!   the sinks, `scheduled` does scheduled work, and `review` reviews the requests that forges announce.
//! - `turns` decides which commit of a repository is tried next, and where: in this process (`attempt`) or in a
//!   separate one (`apart`). `resolution` has the types for that.
//! - `locks` keeps two services from doing the same work at once.

mod apart;
mod attempt;
mod deliver;
mod enqueue;
mod facts;
mod forget;
mod locks;
mod resolution;
mod resolve;
mod review;
mod running;
mod scheduled;
mod turns;
mod watching;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};
use tracing::{Instrument, Span};

use super::backoff::backoff;
use super::handle::ServiceHandle;
use super::http::Server;
use super::metrics::Subjects;
use super::mirror::MirrorFetcher;
use super::progress::Step;
use super::queue::{Job, Queue, QueueError, Retention};
use super::shutdown::{Shutdown, shutdown};
use super::watch::WatchError;
use crate::delivery::Sink;
use crate::event::RepositoryName;

use deliver::SinkWorker;
use enqueue::Enqueuer;
use forget::forget;
use locks::{Work, WorkLocks};
use resolve::Resolver;
use review::Reviewer;
use running::Running;
use watching::{RepositoryWatch, checkpoint_or_save};

pub use apart::answer;
pub use resolution::{AttemptLimits, Recovery, Resolve, Resolved, Sources, Unresolved};
pub use review::{Review, Reviews};
pub use running::{Advance, Services};
pub use scheduled::{Scheduled, ScheduledWork};
pub use watching::{Look, Open, Opened};

/// The longest pause before a step is tried again.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The time after which a step in the queue counts as stuck.
const LONGEST_STEP: Duration = Duration::from_mins(5);

/// The longest time between two looks at the queue: another process, such as `hierad queue retry`, may have changed it.
const QUEUE_LOOK_PAUSE: Duration = Duration::from_secs(5);

/// The number of times that the daemon itself may end during attempts at the same work. From the second attempt on, a
/// commit is resolved in a separate process, so the commit is hardly the cause.
const MAX_ENDS: u32 = 20;

/// A repository of a service, and how its commits are resolved.
pub struct ServedRepository {
    /// The name in the queue.
    pub name: RepositoryName,
    /// The repository, if it is open already.
    pub opened: Option<Opened>,
    /// Opens the repository again after it has been away.
    pub open: Open,
    /// True if the service ends when the repository is gone.
    pub is_needed: bool,
    /// The longest time between two looks at it.
    pub poll: Duration,
    /// Makes the reports of its commits.
    pub resolve: Arc<dyn Resolve>,
    /// Fetches it, if it is a mirror.
    pub fetcher: Option<MirrorFetcher>,
}

/// The parts of a daemon.
pub struct Service {
    /// The queue.
    pub queue: Queue,
    /// The repositories.
    pub repositories: Vec<ServedRepository>,
    /// The sinks of reports.
    pub sinks: Vec<Sink>,
    /// The scheduled work.
    pub scheduled: Vec<Scheduled>,
    /// The reviews of requests on forges.
    pub reviews: Vec<Reviews>,
    /// The time for which delivered reports are kept.
    pub keep: Duration,
    /// The HTTP server.
    pub http: Option<Server>,
}

/// The service has ended without being told to.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// A watch cannot go on.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The queue cannot be read even once.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// Nobody reads the reports any more.
    #[error("the sink '{sink}' cannot continue: {source}")]
    Closed {
        /// The sink.
        sink: String,
        /// The error of the stream.
        source: std::io::Error,
    },
    /// A task has panicked, which is a fault in hierad.
    #[error("a task of the daemon has failed: {0}")]
    Task(#[from] JoinError),
}

/// The tasks of a service that is starting.
struct Tasks<'a> {
    set: JoinSet<Result<(), ServiceError>>,
    shutdown: Shutdown,
    locks: &'a mut WorkLocks,
}

impl Tasks<'_> {
    /// Begins `task` as soon as no former service does the same work.
    fn spawn(&mut self, work: Work, task: impl Future<Output = Result<(), ServiceError>> + Send + 'static) {
        let (lock, mut shutdown) = (self.locks.lock_for(work), self.shutdown.clone());
        self.set.spawn(async move {
            let _guard = tokio::select! {
                biased;
                () = shutdown.requested() => return Ok(()),
                guard = lock.lock_owned() => guard,
            };
            task.await
        });
    }
}

impl Service {
    /// Begins each piece of work as soon as a former service has ended it. No commit that comes later is missed.
    async fn start(self, locks: &mut WorkLocks, handle: &Arc<ServiceHandle>) -> Result<Running, ServiceError> {
        for ServedRepository { name, opened, .. } in &self.repositories {
            if let Some(opened) = opened {
                checkpoint_or_save(&self.queue, name, &opened.checkpoint).await?;
            }
        }
        self.restore(handle).await?;
        let (trigger, shutdown) = shutdown();
        let mut tasks = Tasks { set: JoinSet::new(), shutdown, locks };
        self.spawn(&mut tasks, handle.clone());
        Ok(Running::new(trigger, tasks.set))
    }

    /// Tells the handle what the queue knows about the past, without anything that the settings no longer have.
    async fn restore(&self, handle: &ServiceHandle) -> Result<(), QueueError> {
        let subjects = Subjects {
            repositories: self.repositories.iter().map(|repository| repository.name.clone()).collect(),
            sinks: self.sinks.iter().map(|sink| sink.name.clone()).collect(),
            schedules: self.scheduled.iter().map(|work| work.name.clone()).collect(),
            reviews: self.reviews.iter().map(|reviews| reviews.name.clone()).collect(),
        };
        let last = self.queue.last_successes().await?;
        let mut blind = Vec::new();
        for repository in &subjects.repositories {
            blind.extend(self.queue.blind(repository).await?.into_iter().map(|found| (repository, found)));
        }
        // From here on, nothing can fail, so the former settings can go.
        handle.retain(&subjects);
        handle.metrics.restore(last, &subjects);
        for (repository, (branch, reason)) in blind {
            handle.saw_branch(repository, &branch, Some(&reason));
        }
        Ok(())
    }

    fn spawn(self, tasks: &mut Tasks<'_>, handle: Arc<ServiceHandle>) {
        let names: Vec<RepositoryName> = self.repositories.iter().map(|repository| repository.name.clone()).collect();
        let Service { queue, repositories, sinks, scheduled, reviews, keep, http } = self;
        let shutdown = tasks.shutdown.clone();
        let worker = |sink| Arc::new(SinkWorker::new(sink, queue.clone(), handle.clone()));
        let sinks: Arc<[Arc<SinkWorker>]> = sinks.into_iter().map(worker).collect();
        for sink in sinks.iter() {
            let (sink, shutdown) = (sink.clone(), shutdown.clone());
            let work = Work::Give(sink.sink.name.clone(), sink.sink.repository().cloned());
            tasks.spawn(work, async move { sink.run(shutdown).await });
        }
        let ordered = sinks.iter().filter(|sink| sink.sink.repository().is_some());
        let ordered = ordered.map(|sink| sink.sink.name.clone()).collect();
        let review_names = reviews.iter().map(|reviews| reviews.name.clone()).collect();
        let sink_names = sinks.iter().map(|sink| sink.sink.name.clone()).collect();
        tasks.set.spawn(forget(
            queue.clone(),
            Retention { keep, sinks: sink_names, repositories: names, ordered, reviews: review_names },
            shutdown.clone(),
        ));
        if !reviews.is_empty() {
            let reviewer = Reviewer::new(reviews, queue.clone(), handle.clone());
            tasks.spawn(Work::Review, reviewer.run(shutdown.clone()));
        }
        for repository in repositories {
            repository.spawn(tasks, &queue, &sinks, &handle);
        }
        for work in scheduled {
            let (queue, handle, shutdown) = (queue.clone(), handle.clone(), shutdown.clone());
            let name = Work::Give(work.name.clone(), None);
            tasks.spawn(name, async move { work.run(queue, &handle, shutdown).await });
        }
        if let Some(http) = http {
            let (queue, shutdown) = (queue.clone(), shutdown.clone());
            tasks.set.spawn(async move {
                http.run(queue, handle, shutdown).await;
                Ok(())
            });
        }
    }
}

impl ServedRepository {
    fn spawn(self, tasks: &mut Tasks<'_>, queue: &Queue, sinks: &Arc<[Arc<SinkWorker>]>, handle: &Arc<ServiceHandle>) {
        let ServedRepository { name, opened, open, is_needed, poll, resolve, fetcher } = self;
        let (queue, sinks, handle, shutdown) = (queue.clone(), sinks.clone(), handle.clone(), tasks.shutdown.clone());
        handle.add_watch(&name, poll, fetcher.is_some());
        let fetched = fetcher.map(|fetcher| {
            let fetched = Arc::new(Notify::new());
            let (name, notify, handle, shutdown) = (name.clone(), fetched.clone(), handle.clone(), shutdown.clone());
            tasks.spawn(Work::Fetch(name.clone()), async move {
                fetcher.run(&name, notify, &handle, shutdown).await;
                Ok(())
            });
            fetched
        });
        let wake = Arc::new(Notify::new());
        let enqueuer = Enqueuer::new(queue.clone(), name.clone(), wake.clone(), handle.clone());
        let resolver = Resolver { repository: name.clone(), queue, sinks, wake, handle };
        tasks.spawn(Work::Resolve(name.clone()), resolver.run(resolve, shutdown.clone()));
        let span = tracing::error_span!("watch", repository = name.as_str());
        let watch = RepositoryWatch { open, is_needed, fetched };
        tasks.spawn(Work::Watch(name), watch.run(opened, enqueuer, shutdown).instrument(span));
    }
}

/// Returns the span of the work on a job, and of the delivery of its report to a sink: log lines carry its fields.
/// Its level is that of errors, since those are always logged.
fn span(job: &Job, sink: Option<&str>) -> Span {
    let Job { name, event, .. } = job;
    let (number, repository) = (name.number.0, name.repository.as_str());
    tracing::error_span!("job", job = number, commit = %event.after, branch = %event.branch, repository, sink)
}

/// Repeats a step in the queue until it succeeds, since the disk may be full. Returns `None` if the service ends
/// first.
async fn insist<T, F>(handle: &ServiceHandle, shutdown: &mut Shutdown, step: impl Fn() -> F) -> Option<T>
where
    F: Future<Output = Result<T, QueueError>>,
{
    let (mut failures, mut stuck) = (0, None);
    loop {
        let under_way = handle.progress.begin(Step::Queue, LONGEST_STEP);
        let result = step().await;
        drop(under_way);
        match result {
            Ok(done) => return Some(done),
            Err(error) => {
                failures += 1;
                handle.metrics.queue_failed();
                stuck.get_or_insert_with(|| handle.health.stuck());
                tracing::warn!(%error, failures, "the queue cannot be used; trying again");
                if shutdown.interrupts(backoff(failures, LONGEST_PAUSE)).await {
                    return None;
                }
            }
        }
    }
}
