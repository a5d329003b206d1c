//! Does scheduled work when it is due.

use std::time::{Duration, SystemTime};

use tokio::task::spawn_blocking;
use tracing::{Instrument, Span};

use super::{LONGEST_PAUSE, ServiceError, Stopped, backoff, insist, pause};
use crate::daemon::queue::Queue;
use crate::daemon::signals::Signals;
use crate::schedule::Schedule;

/// The longest pause before work that has failed is done again.
const LONGEST_DELAY: Duration = Duration::from_mins(10);

/// The work itself. May block, and fail: then it is done again.
pub type ScheduledWork = Box<dyn FnMut() -> Result<(), String> + Send>;

/// Work that is due at times. What was missed while the daemon was down, or is missed while it is busy, is made up for once.
pub struct Scheduled {
    /// What it is called in the queue.
    pub name: String,
    /// When it is due.
    pub schedule: Schedule,
    /// The work.
    pub work: ScheduledWork,
}

impl Scheduled {
    /// Does the work again and again, until the service is to end.
    pub(super) async fn run(self, queue: Queue, signals: &Signals, stopped: Stopped) -> Result<(), ServiceError> {
        let span = tracing::error_span!("schedule", name = self.name);
        self.keep_up(queue, signals, stopped).instrument(span).await
    }

    async fn keep_up(self, queue: Queue, signals: &Signals, mut stopped: Stopped) -> Result<(), ServiceError> {
        let Scheduled { name, schedule, mut work } = self;
        signals.meters.scheduled(&name);
        let now = SystemTime::now();
        // What it has never done it has not missed.
        let Some(mut last) = insist(signals, &mut stopped, || queue.last_done(&name, now)).await else { return Ok(()) };
        let mut failures = 0;
        while let Some(next) = schedule.next(last) {
            if next > SystemTime::now() {
                tracing::info!(next = schedule.show(next), "waiting for the time");
            }
            if wait(next, &mut stopped).await {
                return Ok(());
            }
            let start = SystemTime::now();
            let span = Span::current();
            let result;
            (work, result) = spawn_blocking(move || {
                let result = span.in_scope(&mut work);
                (work, result)
            })
            .await?;
            signals.meters.done(&name, result.is_ok());
            match result {
                Ok(()) => {
                    failures = 0;
                    last = start;
                    tracing::info!(took = ?start.elapsed().unwrap_or_default(), "scheduled work is done");
                    insist(signals, &mut stopped, || queue.done(&name, start)).await;
                }
                Err(error) => {
                    failures += 1;
                    let delay = backoff(failures, LONGEST_DELAY);
                    tracing::warn!(failures, error, ?delay, "scheduled work has failed; trying again");
                    insist(signals, &mut stopped, || queue.failed_work(&name, &error)).await;
                    pause(delay, &mut stopped).await;
                }
            }
        }
        tracing::warn!("scheduled work is never due again");
        Ok(())
    }
}

/// Waits until a time has come; whether the service is to end. The clock may be set, and a machine that sleeps does not count.
async fn wait(time: SystemTime, stopped: &mut Stopped) -> bool {
    while let Ok(rest) = time.duration_since(SystemTime::now()) {
        if pause(rest.min(LONGEST_PAUSE), stopped).await {
            return true;
        }
    }
    *stopped.borrow()
}
