//! Gives a sink the reports that wait for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::{GRACE, LOOK, ServiceError, Stopped, backoff, ended, insist, pause, woken};
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

impl Outlet {
    pub(super) fn new(sink: Sink, queue: Queue, signals: Arc<Signals>) -> Outlet {
        signals.meters.sink(&sink.name);
        Outlet { sink, wake: Notify::new(), queue, signals }
    }

    /// Delivers until the service is to end.
    pub(super) async fn run(&self, mut stopped: Stopped) -> Result<(), ServiceError> {
        let (mut failures, in_order) = (0, self.sink.is_in_order());
        while !*stopped.borrow() {
            match insist(&self.signals, &mut stopped, || self.queue.next_delivery(&self.sink.name, in_order)).await {
                None => break,
                Some(Waiting::Nothing) => woken(&self.wake, LOOK, &mut stopped).await,
                Some(Waiting::Later(time)) => woken(&self.wake, time.min(LOOK), &mut stopped).await,
                Some(Waiting::Report { job, report, attempts, age }) => {
                    let parcel = parcel(&job, report);
                    let Some(result) = self.within_grace(&parcel, &mut stopped).await else { break };
                    failures = if result.is_ok() { 0 } else { failures + 1 };
                    let asked = self.note(&job, result, (attempts + 1, age), &mut stopped).await?;
                    // A sink that takes nothing is spared the others for a while.
                    if failures > 0 {
                        self.rest(backoff(failures, LONGEST_REST).max(asked), &mut stopped).await;
                    }
                }
            }
        }
        Ok(())
    }

    /// Delivers a report; nothing if the service is to end and it takes too long.
    async fn within_grace(&self, parcel: &Parcel, stopped: &mut Stopped) -> Option<Result<(), DeliveryError>> {
        let over = async {
            ended(stopped).await;
            sleep(GRACE).await;
        };
        tokio::select! {
            result = self.sink.deliver(parcel) => Some(result),
            () = over => None,
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

    /// Notes what came of a delivery; for how long the sink asks to be left alone.
    async fn note(
        &self,
        job: &Job,
        result: Result<(), DeliveryError>,
        (attempts, age): (u32, Duration),
        stopped: &mut Stopped,
    ) -> Result<Duration, ServiceError> {
        let (sink, commit) = (&self.sink.name, job.event.after);
        match result {
            Ok(()) => {
                tracing::debug!(job = job.number, %commit, sink, attempts, "delivered");
                self.signals.meters.delivered(sink, Delivered::Taken);
                insist(&self.signals, stopped, || self.queue.delivered(job.number, sink)).await;
            }
            Err(DeliveryError::Closed(source)) => return Err(ServiceError::Closed { sink: sink.clone(), source }),
            Err(DeliveryError::Refused { text: error, rest }) => {
                let rest = rest.min(LONGEST_DELAY);
                let delay = backoff(attempts, LONGEST_DELAY).max(rest);
                let again = Some(delay).filter(|_| age < self.sink.retry_for);
                let came_of_it = if again.is_some() { Delivered::Refused } else { Delivered::Dead };
                self.signals.meters.delivered(sink, came_of_it);
                if again.is_some() {
                    tracing::warn!(job = job.number, %commit, sink, attempts, ?delay, error, "not delivered; trying again");
                } else {
                    tracing::error!(job = job.number, %commit, sink, attempts, error, "not delivered; it is set aside");
                }
                insist(&self.signals, stopped, || self.queue.not_delivered(job.number, sink, &error, again)).await;
                return Ok(rest);
            }
        }
        Ok(Duration::ZERO)
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
