//! Gives a sink the reports that wait for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::Instrument;

use super::{LOOK, ServiceError, Stopped, backoff, insist, pause, span, woken};
use crate::daemon::meters::Delivered;
use crate::daemon::queue::{Job, Queue, Waiting, Written};
use crate::daemon::signals::Signals;
use crate::delivery::{DeliveryError, Parcel, Sink};

/// The longest time until a report is tried again, and for which a sink is left alone that asks for it.
const LONGEST_DELAY: Duration = Duration::from_hours(1);

/// The longest time for which a sink that takes nothing is left alone otherwise.
const LONGEST_REST: Duration = Duration::from_secs(10);

/// A sink, and whether something waits for it.
pub(super) struct Outlet {
    pub(super) sink: Sink,
    pub(super) wake: Notify,
    queue: Queue,
    signals: Arc<Signals>,
}

/// What came of giving a report to a sink.
enum Given {
    /// It has it.
    Taken,
    /// It asks to be left alone for so long.
    Refused { retry_after: Duration },
}

impl Outlet {
    pub(super) fn new(sink: Sink, queue: Queue, signals: Arc<Signals>) -> Outlet {
        signals.meters.sink(&sink.name);
        Outlet { sink, wake: Notify::new(), queue, signals }
    }

    /// Delivers until the service is to end.
    pub(super) async fn run(&self, mut stopped: Stopped) -> Result<(), ServiceError> {
        let (mut failures, in_order) = (0, self.sink.is_ordered());
        while !*stopped.borrow() {
            match insist(&self.signals, &mut stopped, || self.queue.next_delivery(&self.sink.name, in_order)).await {
                None => break,
                Some(Waiting::Nothing) => woken(&self.wake, LOOK, &mut stopped).await,
                Some(Waiting::Later(time)) => woken(&self.wake, time.min(LOOK), &mut stopped).await,
                Some(Waiting::Report { job, report, attempts, age }) => {
                    let span = span(&job, Some(&self.sink.name));
                    let given = self.give(&job, report, (attempts + 1, age), &mut stopped).instrument(span).await?;
                    match given {
                        Given::Taken => failures = 0,
                        Given::Refused { retry_after } => {
                            failures += 1;
                            // A sink that takes nothing is spared the others for a while.
                            self.rest(backoff(failures, LONGEST_REST).max(retry_after), &mut stopped).await;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives it a report, and notes what comes of it.
    async fn give(
        &self,
        job: &Job,
        report: Written,
        (attempts, age): (u32, Duration),
        stopped: &mut Stopped,
    ) -> Result<Given, ServiceError> {
        match self.sink.deliver(&parcel(job, report)).await {
            Ok(()) => {
                self.taken(job, attempts, stopped).await;
                Ok(Given::Taken)
            }
            Err(DeliveryError::Closed(source)) => Err(ServiceError::Closed { sink: self.sink.name.clone(), source }),
            Err(DeliveryError::Refused { text, retry_after }) => {
                let retry_after = retry_after.min(LONGEST_DELAY);
                let delay = backoff(attempts, LONGEST_DELAY).max(retry_after);
                let again = Some(delay).filter(|_| age < self.sink.retry_for);
                self.refused(job, (&text, attempts, again), stopped).await;
                Ok(Given::Refused { retry_after })
            }
        }
    }

    /// Leaves the sink alone for so long, unless somebody has its reports tried again.
    async fn rest(&self, time: Duration, stopped: &mut Stopped) {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || pause(left.min(LOOK), stopped).await {
                return;
            }
            if self.queue.is_asked_for(&self.sink.name).await.unwrap_or(false) {
                return;
            }
        }
    }

    /// Notes that it has the report.
    async fn taken(&self, job: &Job, attempts: u32, stopped: &mut Stopped) {
        tracing::debug!(attempts, "delivered");
        self.signals.meters.delivered(&self.sink.name, Delivered::Taken);
        insist(&self.signals, stopped, || self.queue.delivered(job.number, &self.sink.name)).await;
    }

    /// Notes that it has refused the report, and when it is tried again, if it is.
    async fn refused(&self, job: &Job, (error, attempts, again): (&str, u32, Option<Duration>), stopped: &mut Stopped) {
        let came_of_it = if let Some(delay) = again {
            tracing::warn!(attempts, ?delay, error, "not delivered; trying again");
            Delivered::Refused
        } else {
            tracing::error!(attempts, error, "not delivered; it is set aside");
            Delivered::Dead
        };
        self.signals.meters.delivered(&self.sink.name, came_of_it);
        insist(&self.signals, stopped, || self.queue.not_delivered(job.number, &self.sink.name, error, again)).await;
    }
}

fn parcel(job: &Job, report: Written) -> Parcel {
    Parcel {
        id: job.id.clone(),
        number: job.number,
        repository: job.repository.clone(),
        branch: job.event.branch.to_string(),
        before: job.event.before.map(|before| before.to_string()),
        after: job.event.after.to_string(),
        kind: job.event.kind.as_str(),
        report: report.json.into(),
        text: report.text.map(Into::into),
    }
}
