//! Makes the reports of the commits in the queue. `turns` decides which one is next, and where.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tracing::Instrument;

use super::apart;
use super::attempt::Attempts;
use super::deliver::SinkWorker;
use super::facts::{FactsLook, FactsWatch};
use super::resolution::{Addressed, Outcome, Recovery, Resolve, Unresolved};
use super::turns::{Place, Turn, Turns};
use super::watching::saw_branch;
use super::{LONGEST_PAUSE, MAX_ENDS, QUEUE_LOOK_PAUSE, ServiceError, insist, span};
use crate::daemon::backoff::backoff;
use crate::daemon::handle::ServiceHandle;
use crate::daemon::progress::{Step, UnderWay};
use crate::daemon::queue::{Job, Queue, Waiting};
use crate::daemon::shutdown::Shutdown;
use crate::event::RepositoryName;
use crate::git::BranchName;

/// The pause between two looks at the answers of sources of nodes.
const FACTS_LOOK: Duration = Duration::from_secs(1);

/// The pause between two looks at waiting jobs while a separate process may be needed, or its job may have to yield.
const APART_LOOK: Duration = Duration::from_secs(1);

/// Resolves the jobs of one repository.
pub(super) struct Resolver {
    pub(super) repository: RepositoryName,
    pub(super) queue: Queue,
    pub(super) sinks: Arc<[Arc<SinkWorker>]>,
    /// Notified when there are new jobs.
    pub(super) wake: Arc<Notify>,
    pub(super) handle: Arc<ServiceHandle>,
}

/// An attempt at a job that is under way.
struct Attempt {
    job: Job,
    start: Instant,
    _under_way: UnderWay,
}

impl Resolver {
    /// Resolves jobs until the service ends.
    pub(super) async fn run(self, resolve: Arc<dyn Resolve>, shutdown: Shutdown) -> Result<(), ServiceError> {
        // A former service may have resolved some jobs while it ended.
        self.notify(self.sinks.iter());
        let turns = Turns::new(self.wake.clone(), resolve.has_apart());
        tokio::join!(
            self.resolve_here(resolve.clone(), &turns, shutdown.clone()),
            self.resolve_apart(&*resolve, &turns, shutdown)
        );
        Ok(())
    }

    /// Resolves jobs in this process, one at a time.
    async fn resolve_here(&self, resolve: Arc<dyn Resolve>, turns: &Turns, mut shutdown: Shutdown) {
        let (repository, queue, handle) = (self.repository.clone(), self.queue.clone(), self.handle.clone());
        let mut facts = FactsWatch { repository, queue, handle, resolve: resolve.clone(), seen: None };
        let mut default = DefaultBranch { resolve: resolve.clone(), known: None };
        let mut attempts = Attempts::new(resolve, self.sinks.clone());
        while !shutdown.is_requested() {
            let Some(waiting) = self.waiting(&mut shutdown).await else { break };
            turns.note(default.get().await, attempts.is_lost());
            let Some(turn) = turns.begin(&waiting, Place::Here) else {
                self.wait_for_work(&waiting, turns, &mut facts, &mut shutdown).await;
                continue;
            };
            let Some(Some(job)) = insist(&self.handle, &mut shutdown, || self.queue.take(turn.number)).await else {
                continue;
            };
            if job.is_delicate && attempts.resolve().has_apart() {
                turn.leave_to_apart();
                continue;
            }
            let span = span(&job, None);
            self.job_here(job, turn, &mut attempts, &mut shutdown).instrument(span).await;
        }
    }

    /// Rests until there is something to do in this process.
    async fn wait_for_work(&self, waiting: &[Waiting], turns: &Turns, facts: &mut FactsWatch, shutdown: &mut Shutdown) {
        let pause = if waiting.is_empty() && turns.is_idle() {
            match facts.look(shutdown).await {
                FactsLook::Jobs => return,
                FactsLook::Nothing => FACTS_LOOK,
                FactsLook::NoSources => QUEUE_LOOK_PAUSE,
            }
        } else {
            let due = waiting.iter().map(|job| job.wait).filter(|wait| !wait.is_zero());
            due.min().unwrap_or(QUEUE_LOOK_PAUSE).min(QUEUE_LOOK_PAUSE)
        };
        shutdown.sleep_until_woken(&self.wake, pause).await;
    }

    /// Resolves jobs that are not for this process, or do not wait for it, in separate processes, one at a time.
    async fn resolve_apart(&self, resolve: &dyn Resolve, turns: &Turns, mut shutdown: Shutdown) {
        while !shutdown.is_requested() {
            let waiting = if turns.wants_apart() { self.waiting(&mut shutdown).await } else { Some(Vec::new()) };
            let Some(turn) = waiting.and_then(|waiting| turns.begin(&waiting, Place::Apart)) else {
                shutdown.sleep_until_woken(turns.apart(), APART_LOOK).await;
                continue;
            };
            let Some(Some(job)) = insist(&self.handle, &mut shutdown, || self.queue.take(turn.number)).await else {
                continue;
            };
            let span = span(&job, None);
            self.job_apart(job, turn, resolve, &mut shutdown).instrument(span).await;
        }
    }

    async fn job_here(&self, job: Job, turn: Turn, attempts: &mut Attempts, shutdown: &mut Shutdown) {
        let Some(attempt) = self.begin(job, attempts.resolve(), shutdown).await else { return };
        let result = match worn_out(&attempt.job) {
            Some(error) => Err(error),
            None => attempts.make(&attempt.job).await,
        };
        self.finish(attempt, result, shutdown).await;
        turn.end();
    }

    async fn job_apart(&self, job: Job, turn: Turn, resolve: &dyn Resolve, shutdown: &mut Shutdown) {
        let Some(attempt) = self.begin(job, resolve, shutdown).await else { return };
        let result = match (worn_out(&attempt.job), resolve.apart(&attempt.job)) {
            (Some(error), _) => Err(error),
            (None, None) => Err(Unresolved { error: "there is no program for it".into(), recovery: Recovery::Wait }),
            (None, Some(command)) => {
                tracing::info!("resolving in a process of its own");
                tokio::select! {
                    result = apart::resolve(command, resolve.limits()) => result,
                    () = self.has_to_make_way(&turn) => {
                        tracing::info!("the commit takes long: a commit of another branch goes first");
                        let number = attempt.job.name.number;
                        insist(&self.handle, shutdown, || self.queue.give_back(number)).await;
                        return turn.make_way();
                    }
                }
            }
        };
        self.finish(attempt, result, shutdown).await;
        turn.end();
    }

    /// Resolves when the job of a turn has to yield to another one.
    async fn has_to_make_way(&self, turn: &Turn) {
        loop {
            sleep(APART_LOOK).await;
            // If the queue cannot be used, a later step reports that.
            if let Ok(waiting) = self.queue.waiting(&self.repository).await
                && turn.makes_way(&waiting)
            {
                return;
            }
        }
    }

    async fn waiting(&self, shutdown: &mut Shutdown) -> Option<Vec<Waiting>> {
        insist(&self.handle, shutdown, || self.queue.waiting(&self.repository)).await
    }

    /// Notes that an attempt at a job begins, before it is made, since it may kill the daemon.
    async fn begin(&self, mut job: Job, resolve: &dyn Resolve, shutdown: &mut Shutdown) -> Option<Attempt> {
        insist(&self.handle, shutdown, || self.queue.begin(job.name.number)).await?;
        job.attempts += 1;
        let limit = resolve.limits().deadline().saturating_mul(2);
        let under_way = self.handle.progress.begin(Step::Resolve(self.repository.clone()), limit);
        Some(Attempt { job, start: Instant::now(), _under_way: under_way })
    }

    /// Notes the result of an attempt.
    async fn finish(&self, attempt: Attempt, result: Result<Outcome, Unresolved>, shutdown: &mut Shutdown) {
        let Attempt { job, start, .. } = attempt;
        self.handle.metrics.resolved(&self.repository, start.elapsed(), result.is_ok());
        match result {
            Ok(outcome) => self.note_resolved(&job, outcome, shutdown).await,
            Err(Unresolved { recovery: Recovery::Wait, error }) => {
                tracing::debug!(%error, "the commit waits for its repository");
                insist(&self.handle, shutdown, || self.queue.give_back(job.name.number)).await;
                shutdown.interrupts(QUEUE_LOOK_PAUSE).await;
            }
            Err(error) => self.note_failed(&job, &error, shutdown).await,
        }
    }

    async fn note_resolved(&self, job: &Job, Outcome { report, answers }: Outcome, shutdown: &mut Shutdown) {
        let (number, answers) = (job.name.number, answers.as_deref());
        let Some(Addressed { report, sinks, blind, headline }) = report else {
            tracing::debug!("other facts change nothing");
            insist(&self.handle, shutdown, || self.queue.nothing_to_tell(number, answers)).await;
            return;
        };
        let branch = (&job.event.branch, blind.as_deref());
        saw_branch(&self.handle, &self.queue, &self.repository, branch, shutdown).await;
        // A separate process may have read other settings.
        let is_meant = |worker: &&Arc<SinkWorker>| {
            let only = worker.sink.repository();
            sinks.contains(&worker.sink.name) && only.is_none_or(|only| *only == self.repository)
        };
        let sinks: Vec<&Arc<SinkWorker>> = self.sinks.iter().filter(is_meant).collect();
        let names: Vec<&str> = sinks.iter().map(|worker| &*worker.sink.name).collect();
        if insist(&self.handle, shutdown, || self.queue.resolved(number, &report, &names, answers)).await.is_some() {
            tracing::info!(bytes = report.json.size(), sinks = names.len(), headline, "resolved");
            // Snapshots fail for other reasons, about which a new commit says nothing.
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

    async fn note_failed(&self, job: &Job, Unresolved { error, recovery }: &Unresolved, shutdown: &mut Shutdown) {
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

/// Returns the reason to give up a job, if the daemon itself has ended too often during it.
fn worn_out(job: &Job) -> Option<Unresolved> {
    let text = format!("the daemon has ended {MAX_ENDS} times while this was resolved");
    (job.attempts > i64::from(MAX_ENDS)).then(|| Unresolved { error: text.into(), recovery: Recovery::SetAside })
}

/// The default branch of a repository, as it was a moment ago.
struct DefaultBranch {
    resolve: Arc<dyn Resolve>,
    known: Option<(Option<BranchName>, Instant)>,
}

impl DefaultBranch {
    async fn get(&mut self) -> Option<BranchName> {
        if let Some((branch, _)) = self.known.as_ref().filter(|(_, at)| at.elapsed() < QUEUE_LOOK_PAUSE) {
            return branch.clone();
        }
        let resolve = self.resolve.clone();
        let branch = spawn_blocking(move || resolve.default_branch()).await.ok().flatten();
        self.known = Some((branch.clone(), Instant::now()));
        branch
    }
}
