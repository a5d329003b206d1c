//! Gives a sink the reports that wait for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use super::{GRACE, LOOK, ServiceError, Stopped, backoff, ended, insist, pause, woken};
use crate::daemon::meters::Delivered;
use crate::daemon::queue::{Job, Queue, Waiting, Written};
use crate::daemon::signals::Signals;
use crate::delivery::{DeliveryError, Parcel, Sink};

/// The longest time until a report is tried again.
const LONGEST_DELAY: Duration = Duration::from_hours(1);

/// The longest time for which a sink that takes nothing is left alone.
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
                    self.note(&job, result, (attempts + 1, age), &mut stopped).await?;
                    // A sink that takes nothing is spared the rest for a while.
                    if failures > 0 {
                        pause(backoff(failures, LONGEST_REST), &mut stopped).await;
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

    /// Notes what came of a delivery.
    async fn note(
        &self,
        job: &Job,
        result: Result<(), DeliveryError>,
        (attempts, age): (u32, Duration),
        stopped: &mut Stopped,
    ) -> Result<(), ServiceError> {
        let (sink, commit) = (&self.sink.name, job.event.after);
        match result {
            Ok(()) => {
                tracing::debug!(job = job.number, %commit, sink, attempts, "delivered");
                self.signals.meters.delivered(sink, Delivered::Taken);
                insist(&self.signals, stopped, || self.queue.delivered(job.number, sink)).await;
            }
            Err(DeliveryError::Closed(source)) => return Err(ServiceError::Closed { sink: sink.clone(), source }),
            Err(DeliveryError::Refused(error)) => {
                let delay = backoff(attempts, LONGEST_DELAY);
                let again = Some(delay).filter(|_| age < self.sink.retry_for);
                let came_of_it = if again.is_some() { Delivered::Refused } else { Delivered::Dead };
                self.signals.meters.delivered(sink, came_of_it);
                if again.is_some() {
                    tracing::warn!(job = job.number, %commit, sink, attempts, ?delay, error, "not delivered; trying again");
                } else {
                    tracing::error!(job = job.number, %commit, sink, attempts, error, "not delivered; it is set aside");
                }
                insist(&self.signals, stopped, || self.queue.not_delivered(job.number, sink, &error, again)).await;
            }
        }
        Ok(())
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
