//! Makes the reports of the commits in the queue, the oldest first.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tracing::Instrument;

use super::attempt::Attempts;
use super::deliver::SinkWorker;
use super::facts::{FactsLook, FactsWatch};
use super::resolution::{Addressed, Outcome, Recovery, Resolve, Unresolved};
use super::watching::saw_branch;
use super::{LONGEST_PAUSE, LOOK, MAX_ENDS, ServiceError, insist, span};
use crate::daemon::backoff::backoff;
use crate::daemon::handle::ServiceHandle;
use crate::daemon::progress::Step;
use crate::daemon::queue::{Job, Queue};
use crate::daemon::shutdown::Shutdown;
use crate::event::RepositoryName;

/// The pause between two looks at the answers of sources of nodes.
const FACTS_LOOK: Duration = Duration::from_secs(1);

/// Resolves the jobs of one repository.
pub(super) struct Resolver {
    pub(super) repository: RepositoryName,
    pub(super) queue: Queue,
    pub(super) sinks: Arc<[Arc<SinkWorker>]>,
    /// Notified when there are new jobs.
    pub(super) wake: Arc<Notify>,
    pub(super) handle: Arc<ServiceHandle>,
}

impl Resolver {
    /// Resolves jobs until the service ends.
    pub(super) async fn run(self, resolve: Arc<dyn Resolve>, mut shutdown: Shutdown) -> Result<(), ServiceError> {
        // A former service may have resolved some in the end.
        self.notify(self.sinks.iter());
        let (queue, handle) = (self.queue.clone(), self.handle.clone());
        let mut facts =
            FactsWatch { repository: self.repository.clone(), queue, handle, resolve: resolve.clone(), seen: None };
        let mut attempts = Attempts::new(resolve, self.sinks.clone());
        while !shutdown.is_requested() {
            match insist(&self.handle, &mut shutdown, || self.queue.next_job(&self.repository)).await {
                None => break,
                Some(None) => match facts.look(&mut shutdown).await {
                    FactsLook::Jobs => {}
                    FactsLook::Nothing => shutdown.sleep_until_woken(&self.wake, FACTS_LOOK).await,
                    FactsLook::NoSources => shutdown.sleep_until_woken(&self.wake, LOOK).await,
                },
                Some(Some((_, wait))) if !wait.is_zero() => {
                    shutdown.sleep_until_woken(&self.wake, wait.min(LOOK)).await;
                }
                Some(Some((job, _))) => {
                    let span = span(&job, None);
                    self.job(job, &mut attempts, &mut shutdown).instrument(span).await;
                }
            }
        }
        Ok(())
    }

    /// Resolves a job, and notes the result. The attempt is noted before it is made, since it may be the end of the
    /// daemon.
    async fn job(&self, mut job: Job, attempts: &mut Attempts, shutdown: &mut Shutdown) {
        if insist(&self.handle, shutdown, || self.queue.begin(job.name.number)).await.is_none() {
            return;
        }
        job.attempts += 1;
        let limit = attempts.deadline().saturating_mul(2);
        let under_way = self.handle.progress.begin(Step::Resolve(self.repository.clone()), limit);
        let start = Instant::now();
        let result = if job.attempts > i64::from(MAX_ENDS) {
            let text = format!("the daemon has ended {MAX_ENDS} times while this was resolved");
            Err(Unresolved { error: text.into(), recovery: Recovery::SetAside })
        } else {
            attempts.attempt(&job).await
        };
        drop(under_way);
        self.handle.metrics.resolved(&self.repository, start.elapsed(), result.is_ok());
        match result {
            Ok(outcome) => self.done(&job, outcome, shutdown).await,
            Err(Unresolved { recovery: Recovery::Wait, error }) => {
                tracing::debug!(%error, "the commit waits for its repository");
                insist(&self.handle, shutdown, || self.queue.give_back(job.name.number)).await;
                shutdown.interrupts(LOOK).await;
            }
            Err(error) => self.failed(&job, &error, shutdown).await,
        }
    }

    async fn done(&self, job: &Job, Outcome { report, answers }: Outcome, shutdown: &mut Shutdown) {
        let (number, answers) = (job.name.number, answers.as_deref());
        let Some(Addressed { report, sinks, blind }) = report else {
            tracing::debug!("other facts change nothing");
            insist(&self.handle, shutdown, || self.queue.nothing_to_tell(number, answers)).await;
            return;
        };
        let branch = (&job.event.branch, blind.as_deref());
        saw_branch(&self.handle, &self.queue, &self.repository, branch, shutdown).await;
        // A process of its own may have read other settings.
        let is_meant = |worker: &&Arc<SinkWorker>| {
            let of = worker.sink.repository();
            sinks.contains(&worker.sink.name) && of.is_none_or(|of| *of == self.repository)
        };
        let sinks: Vec<&Arc<SinkWorker>> = self.sinks.iter().filter(is_meant).collect();
        let names: Vec<&str> = sinks.iter().map(|worker| &*worker.sink.name).collect();
        if insist(&self.handle, shutdown, || self.queue.resolved(number, &report, &names, answers)).await.is_some() {
            tracing::info!(bytes = report.json.size(), sinks = names.len(), "resolved");
            // Snapshots fail for reasons of their own, which a new commit says nothing of.
            let receivers = sinks.iter().filter(|worker| worker.sink.repository().is_none());
            let receivers: Vec<&str> = receivers.map(|worker| &*worker.sink.name).collect();
            insist(&self.handle, shutdown, || self.queue.hurry(number, &receivers)).await;
            self.notify(sinks.into_iter());
        }
    }

    /// Wakes the clients of the stream, and these sinks.
    fn notify<'a>(&self, sinks: impl Iterator<Item = &'a Arc<SinkWorker>>) {
        self.handle.resolved.ring();
        sinks.for_each(|worker| worker.wake.notify_one());
    }

    async fn failed(&self, job: &Job, Unresolved { error, recovery }: &Unresolved, shutdown: &mut Shutdown) {
        let attempts = job.attempts;
        let delay = backoff(u32::try_from(attempts).unwrap_or(0), LONGEST_PAUSE);
        let again = Some(delay).filter(|_| attempts < recovery.attempts());
        if again.is_some() {
            tracing::warn!(attempts, ?delay, %error, "cannot resolve the commit; trying again");
        } else {
            tracing::error!(attempts, %error, "cannot resolve the commit; it is set aside");
        }
        let text = error.to_string();
        insist(&self.handle, shutdown, || self.queue.not_resolved(job.name.number, &text, again)).await;
    }
}
