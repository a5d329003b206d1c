//! Makes the reports of the commits in the queue, the oldest first.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tracing::{Instrument, Span};

use super::deliver::SinkWorker;
use super::watching::saw_branch;
use super::{LONGEST_PAUSE, LOOK, ServiceError, insist, span};
use crate::daemon::backoff::backoff;
use crate::daemon::handle::ServiceHandle;
use crate::daemon::progress::Step;
use crate::daemon::queue::{Job, Queue, RenderedReport};
use crate::daemon::shutdown::Shutdown;
use crate::delivery::plain_text;
use crate::event::RepositoryName;
use crate::report::Report;

/// Makes the report of a job. It may block, and it may fail: then it is called again.
pub type Resolve = Box<dyn FnMut(&Job) -> Result<Resolved, Unresolved> + Send>;

/// A commit could not be resolved.
#[derive(Debug)]
pub struct Unresolved {
    /// The error.
    pub error: Box<dyn std::error::Error + Send + Sync>,
    /// The way to go on.
    pub recovery: Recovery,
}

/// The way to go on with a commit that could not be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Try it again some times.
    Retry,
    /// Set it aside, since it would fail again.
    SetAside,
    /// Wait for the repository to be back.
    Wait,
}

/// The report of a job.
pub struct Resolved {
    /// The report.
    pub report: Report,
    /// The report as one line of JSON, with its end.
    pub json: Vec<u8>,
}

/// The number of attempts after which a commit is set aside.
const MAX_ATTEMPTS: i64 = 8;

/// Resolves the jobs of one repository.
pub(super) struct Resolver {
    pub(super) repository: RepositoryName,
    pub(super) queue: Queue,
    pub(super) sinks: Arc<[Arc<SinkWorker>]>,
    /// Notified when there are new jobs.
    pub(super) wake: Arc<Notify>,
    pub(super) handle: Arc<ServiceHandle>,
}

/// A report with the sinks that want it.
struct Addressed {
    report: RenderedReport,
    sinks: Vec<Arc<SinkWorker>>,
    /// The reason if nothing of the commit can be read.
    blind: Option<String>,
}

impl Resolver {
    /// Resolves jobs until the service ends.
    pub(super) async fn run(self, mut resolve: Resolve, mut shutdown: Shutdown) -> Result<(), ServiceError> {
        // A former service may have resolved some in the end.
        self.notify(self.sinks.iter());
        while !shutdown.is_requested() {
            match insist(&self.handle, &mut shutdown, || self.queue.next_job(&self.repository)).await {
                None => break,
                Some(None) => shutdown.sleep_until_woken(&self.wake, LOOK).await,
                Some(Some((_, wait))) if !wait.is_zero() => {
                    shutdown.sleep_until_woken(&self.wake, wait.min(LOOK)).await;
                }
                Some(Some((job, _))) => {
                    let span = span(&job, None);
                    resolve = self.job(job, resolve, &mut shutdown).instrument(span).await?;
                }
            }
        }
        Ok(())
    }

    /// Resolves a job, and notes the result. Returns the function that it was resolved with.
    async fn job(&self, job: Job, mut resolve: Resolve, shutdown: &mut Shutdown) -> Result<Resolve, ServiceError> {
        let under_way = self.handle.progress.begin(Step::Resolve(self.repository.clone()));
        let (given, sinks, start, span) = (job.clone(), self.sinks.clone(), Instant::now(), Span::current());
        let (resolve, result) = spawn_blocking(move || {
            let result = span.in_scope(|| resolve(&given)).map(|resolved| address(&given, resolved, &sinks));
            (resolve, result)
        })
        .await?;
        drop(under_way);
        self.handle.metrics.resolved(&self.repository, start.elapsed(), result.is_ok());
        match result {
            Ok(Addressed { report, sinks, blind }) => {
                let branch = (&job.event.branch, blind.as_deref());
                saw_branch(&self.handle, &self.queue, &self.repository, branch, shutdown).await;
                self.done(&job, &report, sinks, shutdown).await;
            }
            Err(Unresolved { recovery: Recovery::Wait, error }) => {
                tracing::debug!(%error, "the commit waits for its repository");
                shutdown.interrupts(LOOK).await;
            }
            Err(error) => self.failed(&job, &error, shutdown).await,
        }
        Ok(resolve)
    }

    async fn done(&self, job: &Job, report: &RenderedReport, sinks: Vec<Arc<SinkWorker>>, shutdown: &mut Shutdown) {
        let names: Vec<&str> = sinks.iter().map(|worker| &*worker.sink.name).collect();
        let number = job.name.number;
        if insist(&self.handle, shutdown, || self.queue.resolved(number, report, &names)).await.is_some() {
            tracing::info!(bytes = report.json.len(), sinks = names.len(), "resolved");
            self.notify(sinks.iter());
        }
    }

    /// Wakes the clients of the stream, and these sinks.
    fn notify<'a>(&self, sinks: impl Iterator<Item = &'a Arc<SinkWorker>>) {
        self.handle.resolved.ring();
        sinks.for_each(|worker| worker.wake.notify_one());
    }

    async fn failed(&self, job: &Job, Unresolved { error, recovery }: &Unresolved, shutdown: &mut Shutdown) {
        let attempts = job.attempts + 1;
        let delay = backoff(u32::try_from(attempts).unwrap_or(0), LONGEST_PAUSE);
        let again = Some(delay).filter(|_| *recovery != Recovery::SetAside && attempts < MAX_ATTEMPTS);
        if again.is_some() {
            tracing::warn!(attempts, ?delay, %error, "cannot resolve the commit; trying again");
        } else {
            tracing::error!(attempts, %error, "cannot resolve the commit; it is set aside");
        }
        let text = error.to_string();
        insist(&self.handle, shutdown, || self.queue.not_resolved(job.name.number, &text, again)).await;
    }
}

/// Finds the sinks that want a report, and renders it for them.
fn address(job: &Job, Resolved { report, json }: Resolved, sinks: &[Arc<SinkWorker>]) -> Addressed {
    let (repository, branch) = (&job.name.repository, &job.event.branch);
    let wanting = sinks.iter().filter(|worker| worker.sink.wants(repository, branch, &report));
    let wanting: Vec<_> = wanting.cloned().collect();
    let text = wanting.iter().any(|worker| worker.sink.wants_text()).then(|| plain_text(&report));
    let blind = report.blind_spots.first().filter(|_| report.is_unreadable.after);
    let blind = blind.map(|spot| spot.headline.clone());
    Addressed { report: RenderedReport { json, text }, sinks: wanting, blind }
}
