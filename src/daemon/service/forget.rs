//! Forgets old jobs and their reports, once an hour.

use std::time::Duration;

use super::ServiceError;
use crate::daemon::queue::{Forgotten, Queue, QueueError, Retention};
use crate::daemon::shutdown::Shutdown;

/// The time between two runs.
const PERIOD: Duration = Duration::from_hours(1);

/// Forgets old work according to `rule`, until the service ends.
pub(super) async fn forget(queue: Queue, rule: Retention, mut shutdown: Shutdown) -> Result<(), ServiceError> {
    loop {
        if let Err(error) = tidy(&queue, &rule).await {
            tracing::warn!(%error, "cannot forget old reports");
        }
        if shutdown.interrupts(PERIOD).await {
            return Ok(());
        }
    }
}

async fn tidy(queue: &Queue, rule: &Retention) -> Result<(), QueueError> {
    let Forgotten { done, set_aside } = queue.forget(rule).await?;
    if done > 0 {
        tracing::info!(jobs = done, "old reports are forgotten");
    }
    if set_aside > 0 {
        tracing::warn!(jobs = set_aside, "what was set aside long ago is forgotten");
    }
    queue.shrink().await
}
