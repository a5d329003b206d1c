//! Makes reports of the commits in the queue, the oldest first.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tracing::{Instrument, Span};

use super::deliver::Outlet;
use super::{LONGEST_PAUSE, LOOK, ServiceError, Stopped, backoff, insist, pause, span, woken};
use crate::daemon::queue::{Job, Queue, Written};
use crate::daemon::signals::Signals;
use crate::delivery::plain_text;
use crate::report::Report;

/// Makes the report of a job. May block, and fail: then it is asked again.
pub type Resolve = Box<dyn FnMut(&Job) -> Result<Resolved, Unresolved> + Send>;

/// A commit could not be resolved.
#[derive(Debug)]
pub struct Unresolved {
    /// Why.
    pub error: Box<dyn std::error::Error + Send + Sync>,
    /// What to do about it.
    pub next: Next,
}

/// What to do about a commit that could not be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// To try it again, some times.
    Retry,
    /// To set it aside: it would be the same another time.
    SetAside,
    /// To wait for the repository to be back.
    Wait,
}

/// What came of a job.
pub struct Resolved {
    /// The report.
    pub report: Report,
    /// The same as one line of JSON, with its end.
    pub json: Vec<u8>,
}

/// How often a commit is tried before it is set aside.
const MAX_ATTEMPTS: i64 = 8;

/// Resolves the jobs of one repository.
pub(super) struct Resolver {
    pub(super) repository: String,
    pub(super) queue: Queue,
    pub(super) sinks: Arc<[Arc<Outlet>]>,
    /// Whether there are new ones.
    pub(super) wake: Arc<Notify>,
    pub(super) signals: Arc<Signals>,
}

impl Resolver {
    /// Resolves jobs until the service is to end.
    pub(super) async fn run(self, mut resolve: Resolve, mut stopped: Stopped) -> Result<(), ServiceError> {
        // A former service may have resolved some in the end.
        self.tell(self.sinks.iter());
        while !*stopped.borrow() {
            match insist(&self.signals, &mut stopped, || self.queue.next_job(&self.repository)).await {
                None => break,
                Some(None) => woken(&self.wake, LOOK, &mut stopped).await,
                Some(Some((_, wait))) if !wait.is_zero() => woken(&self.wake, wait.min(LOOK), &mut stopped).await,
                Some(Some((job, _))) => {
                    let span = span(&job, None);
                    resolve = self.job(job, resolve, &mut stopped).instrument(span).await?;
                }
            }
        }
        Ok(())
    }

    async fn job(&self, job: Job, mut resolve: Resolve, stopped: &mut Stopped) -> Result<Resolve, ServiceError> {
        let (given, sinks, start, span) = (job.clone(), self.sinks.clone(), Instant::now(), Span::current());
        let (resolve, result) = spawn_blocking(move || {
            let result = span.in_scope(|| resolve(&given)).map(|Resolved { report, json }| {
                let (repository, branch) = (&given.repository, &given.event.branch);
                let wanting = sinks.iter().filter(|outlet| outlet.sink.filter.wants(repository, branch, &report));
                let wanting: Vec<_> = wanting.cloned().collect();
                let text = wanting.iter().any(|outlet| outlet.sink.wants_text()).then(|| plain_text(&report));
                let blind = report.blind_spots.first().filter(|_| report.is_unreadable.after);
                (Written { json, text }, wanting, blind.map(|spot| spot.headline.clone()))
            });
            (resolve, result)
        })
        .await?;
        self.signals.meters.resolved(&self.repository, start.elapsed(), result.is_ok());
        match result {
            Ok((report, sinks, blind)) => {
                self.signals.saw(&self.repository, &job.event.branch, blind.as_deref());
                self.done(&job, &report, sinks, stopped).await;
            }
            Err(Unresolved { next: Next::Wait, error }) => {
                tracing::debug!(%error, "the commit waits for its repository");
                pause(LOOK, stopped).await;
            }
            Err(error) => self.failed(&job, &error, stopped).await,
        }
        Ok(resolve)
    }

    async fn done(&self, job: &Job, report: &Written, sinks: Vec<Arc<Outlet>>, stopped: &mut Stopped) {
        let names: Vec<&str> = sinks.iter().map(|outlet| &*outlet.sink.name).collect();
        if insist(&self.signals, stopped, || self.queue.resolved(job.number, report, &names)).await.is_some() {
            tracing::info!(bytes = report.json.len(), sinks = names.len(), "resolved");
            self.tell(sinks.iter());
        }
    }

    /// There is something for whoever listens, and for these sinks.
    fn tell<'a>(&self, sinks: impl Iterator<Item = &'a Arc<Outlet>>) {
        self.signals.resolved.ring();
        sinks.for_each(|outlet| outlet.wake.notify_one());
    }

    async fn failed(&self, job: &Job, Unresolved { error, next }: &Unresolved, stopped: &mut Stopped) {
        let attempts = job.attempts + 1;
        let delay = backoff(u32::try_from(attempts).unwrap_or(0), LONGEST_PAUSE);
        let again = Some(delay).filter(|_| *next != Next::SetAside && attempts < MAX_ATTEMPTS);
        if again.is_some() {
            tracing::warn!(attempts, ?delay, %error, "cannot resolve the commit; trying again");
        } else {
            tracing::error!(attempts, %error, "cannot resolve the commit; it is set aside");
        }
        let text = error.to_string();
        insist(&self.signals, stopped, || self.queue.not_resolved(job.number, &text, again)).await;
    }
}
