//! Delivers the reports that wait for a sink.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::Instrument;

use super::{MAX_ENDS, QUEUE_LOOK_PAUSE, ServiceError, insist, span};
use crate::daemon::backoff::backoff;
use crate::daemon::handle::ServiceHandle;
use crate::daemon::metrics::Attempt;
use crate::daemon::progress::Step;
use crate::daemon::queue::{Job, LONGEST_DELAY, NextDelivery, Queue, QueueError, RenderedReport};
use crate::daemon::shutdown::Shutdown;
use crate::delivery::{DeliveryError, Parcel, Sink};

/// The time after which a delivery counts as stuck: each kind of sink has a far shorter limit.
const LONGEST_DELIVERY: Duration = Duration::from_hours(2);

/// The longest rest of a sink that refuses reports and asks for no rest.
const LONGEST_REST: Duration = Duration::from_secs(10);

/// Delivers reports to a sink.
pub(super) struct SinkWorker {
    pub(super) sink: Sink,
    /// Notified when reports wait for the sink.
    pub(super) wake: Notify,
    queue: Queue,
    handle: Arc<ServiceHandle>,
}

/// The result of giving a report to a sink.
enum Handover {
    /// The sink has it.
    Accepted,
    /// The sink has refused it, and asks to be left alone for some time.
    Refused { retry_after: Duration },
    /// The sink will never accept it.
    GivenUp,
}

impl SinkWorker {
    pub(super) fn new(sink: Sink, queue: Queue, handle: Arc<ServiceHandle>) -> SinkWorker {
        handle.metrics.add_sink(&sink.name);
        SinkWorker { sink, wake: Notify::new(), queue, handle }
    }

    /// Delivers reports until the service ends.
    pub(super) async fn run(&self, mut shutdown: Shutdown) -> Result<(), ServiceError> {
        let mut failures = 0;
        while !shutdown.is_requested() {
            match insist(&self.handle, &mut shutdown, || self.next_delivery()).await {
                None => break,
                Some(NextDelivery::Nothing) => shutdown.sleep_until_woken(&self.wake, QUEUE_LOOK_PAUSE).await,
                Some(NextDelivery::Later(time)) => {
                    shutdown.sleep_until_woken(&self.wake, time.min(QUEUE_LOOK_PAUSE)).await;
                }
                Some(NextDelivery::Report { job, report, attempts, age, begun }) => {
                    let span = span(&job, Some(&self.sink.name));
                    if !self.begin(&job, (attempts, begun), &mut shutdown).instrument(span.clone()).await {
                        continue;
                    }
                    match self.give(&job, report, (attempts + 1, age), &mut shutdown).instrument(span).await? {
                        Handover::Accepted => failures = 0,
                        // A fault in one branch says nothing about the others.
                        Handover::Refused { .. } if self.sink.repository().is_some() => {}
                        // A sink that refuses one report is spared the others for a while.
                        Handover::Refused { retry_after } => {
                            failures += 1;
                            self.leave_alone(backoff(failures, LONGEST_REST).max(retry_after), &mut shutdown).await;
                        }
                        Handover::GivenUp => {}
                    }
                }
            }
        }
        Ok(())
    }

    async fn next_delivery(&self) -> Result<NextDelivery, QueueError> {
        self.queue.next_delivery(&self.sink.name, self.sink.repository()).await
    }

    /// Notes that an attempt at a snapshot begins: all values of all nodes are resolved for it, which may kill the
    /// daemon. Returns false if it must not begin, since that has happened too often.
    async fn begin(&self, job: &Job, (attempts, begun): (u32, u32), shutdown: &mut Shutdown) -> bool {
        if self.sink.repository().is_none() {
            return true;
        }
        if begun >= MAX_ENDS {
            let error = format!("the daemon has ended {begun} times while this was written");
            self.note_refused(job, (&error, attempts, None), shutdown).await;
            return false;
        }
        insist(&self.handle, shutdown, || self.queue.begin_delivery(job.name.number, &self.sink.name)).await.is_some()
    }

    /// Gives the sink a report, and notes the result.
    async fn give(
        &self,
        job: &Job,
        report: RenderedReport,
        (attempts, age): (u32, Duration),
        shutdown: &mut Shutdown,
    ) -> Result<Handover, ServiceError> {
        let under_way = self.handle.progress.begin(Step::Deliver(self.sink.name.clone()), LONGEST_DELIVERY);
        let delivered = self.sink.deliver(&parcel(job, report)).await;
        drop(under_way);
        match delivered {
            Ok(()) => {
                self.note_delivered(job, attempts, shutdown).await;
                Ok(Handover::Accepted)
            }
            Err(DeliveryError::Closed(source)) => Err(ServiceError::Closed { sink: self.sink.name.clone(), source }),
            Err(DeliveryError::Refused { text, retry_after }) => {
                let retry_after = retry_after.min(LONGEST_DELAY);
                let delay = backoff(attempts, LONGEST_DELAY).max(retry_after);
                let again = Some(delay).filter(|_| age < self.sink.retry_for);
                self.note_refused(job, (&text, attempts, again), shutdown).await;
                Ok(Handover::Refused { retry_after })
            }
            Err(DeliveryError::Impossible(text)) => {
                self.note_refused(job, (&text, attempts, None), shutdown).await;
                Ok(Handover::GivenUp)
            }
            Err(DeliveryError::Obsolete(text)) => {
                self.note_skipped(job, &text, shutdown).await;
                Ok(Handover::GivenUp)
            }
        }
    }

    /// Leaves the sink alone for some time, or until a retry of its reports is requested.
    async fn leave_alone(&self, time: Duration, shutdown: &mut Shutdown) {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || shutdown.interrupts(left.min(QUEUE_LOOK_PAUSE)).await {
                return;
            }
            if self.queue.is_retry_requested(&self.sink.name).await.unwrap_or(false) {
                return;
            }
        }
    }

    /// Notes that the sink has the report.
    async fn note_delivered(&self, job: &Job, attempts: u32, shutdown: &mut Shutdown) {
        tracing::debug!(attempts, "delivered");
        self.handle.metrics.delivered(&self.sink.name, Attempt::Taken);
        insist(&self.handle, shutdown, || self.queue.delivered(job.name.number, &self.sink.name)).await;
    }

    /// Notes that the sink no longer needs the report.
    async fn note_skipped(&self, job: &Job, reason: &str, shutdown: &mut Shutdown) {
        tracing::warn!(reason, "not delivered; it is obsolete, and not tried again");
        self.handle.metrics.delivered(&self.sink.name, Attempt::Skipped);
        insist(&self.handle, shutdown, || self.queue.skipped(job.name.number, &self.sink.name, reason)).await;
    }

    /// Notes that the sink has refused the report; `again` is the delay of the next attempt, if there is one.
    async fn note_refused(
        &self,
        job: &Job,
        (error, attempts, again): (&str, u32, Option<Duration>),
        shutdown: &mut Shutdown,
    ) {
        let attempt = if let Some(delay) = again {
            tracing::warn!(attempts, ?delay, error, "not delivered; trying again");
            Attempt::Refused
        } else {
            tracing::error!(attempts, error, "not delivered; it is set aside");
            Attempt::Dead
        };
        self.handle.metrics.delivered(&self.sink.name, attempt);
        insist(&self.handle, shutdown, || self.queue.not_delivered(job.name.number, &self.sink.name, error, again))
            .await;
    }
}

fn parcel(Job { name, event, .. }: &Job, report: RenderedReport) -> Parcel {
    let (job, event) = (name.clone(), event.clone());
    Parcel { job, event, report: report.json.into(), text: report.text.map(Into::into) }
}
