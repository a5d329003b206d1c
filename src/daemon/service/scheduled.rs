//! Does scheduled work when it is due.

use std::time::{Duration, SystemTime};

use tokio::task::spawn_blocking;
use tracing::{Instrument, Span};

use super::{LONGEST_PAUSE, ServiceError, insist};
use crate::daemon::backoff::backoff;
use crate::daemon::handle::ServiceHandle;
use crate::daemon::progress::Step;
use crate::daemon::queue::Queue;
use crate::daemon::shutdown::Shutdown;
use crate::schedule::{Runs, Schedule};

/// The longest pause before failed work is done again.
const LONGEST_DELAY: Duration = Duration::from_mins(10);

/// The time after which scheduled work counts as stuck.
const LONGEST_RUN: Duration = Duration::from_hours(24);

/// The work itself. It may block, and it may fail: then it is done again.
pub type ScheduledWork = Box<dyn FnMut() -> Result<(), String> + Send>;

/// Work that is due at scheduled times. If some are missed while the daemon is down or busy, it is done once for all
/// of them.
pub struct Scheduled {
    /// The name in the queue.
    pub name: String,
    /// The times at which it is due.
    pub schedule: Schedule,
    /// The work.
    pub work: ScheduledWork,
}

impl Scheduled {
    /// Does the work whenever it is due, until the service ends.
    pub(super) async fn run(
        self,
        queue: Queue,
        handle: &ServiceHandle,
        shutdown: Shutdown,
    ) -> Result<(), ServiceError> {
        let span = tracing::error_span!("schedule", name = self.name);
        self.keep_up(queue, handle, shutdown).instrument(span).await
    }

    async fn keep_up(self, queue: Queue, handle: &ServiceHandle, mut shutdown: Shutdown) -> Result<(), ServiceError> {
        let Scheduled { name, schedule, mut work } = self;
        handle.metrics.add_schedule(&name);
        let now = SystemTime::now();
        // Work that was never done has not been missed.
        let Some(last) = insist(handle, &mut shutdown, || queue.last_done(&name, now)).await else { return Ok(()) };
        let mut runs = Runs::since(schedule, last);
        let mut failures = 0;
        let mut announced = None;
        loop {
            let now = SystemTime::now();
            if runs.put_right(now) {
                tracing::warn!("the clock was ahead when the work was done last, and was put right");
                insist(handle, &mut shutdown, || queue.put_last_done_right(&name, now)).await;
            }
            let Some(next) = runs.next() else { break };
            let rest = next.duration_since(now).unwrap_or_default();
            if !rest.is_zero() {
                if announced.replace(next) != Some(next) {
                    tracing::info!(next = runs.schedule.show(next), "waiting for the time");
                }
                // The clock may be set, and the machine may sleep.
                if shutdown.interrupts(rest.min(LONGEST_PAUSE)).await {
                    return Ok(());
                }
                continue;
            }
            if shutdown.is_requested() {
                return Ok(());
            }
            let start = now;
            let under_way = handle.progress.begin(Step::Schedule(name.clone()), LONGEST_RUN);
            let span = Span::current();
            let result;
            (work, result) = spawn_blocking(move || {
                let result = span.in_scope(&mut work);
                (work, result)
            })
            .await?;
            drop(under_way);
            handle.metrics.ran(&name, result.is_ok());
            match result {
                Ok(()) => {
                    failures = 0;
                    runs.done(start);
                    tracing::info!(took = ?start.elapsed().unwrap_or_default(), "scheduled work is done");
                    insist(handle, &mut shutdown, || queue.done(&name, start)).await;
                }
                Err(error) => {
                    failures += 1;
                    let delay = backoff(failures, LONGEST_DELAY);
                    tracing::warn!(failures, error, ?delay, "scheduled work has failed; trying again");
                    insist(handle, &mut shutdown, || queue.failed_work(&name, &error)).await;
                    shutdown.interrupts(delay).await;
                }
            }
        }
        tracing::warn!("scheduled work is never due again");
        Ok(())
    }
}
