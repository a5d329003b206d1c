//! Reviews the requests that forges have announced, one at a time, each in a separate process.

use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::process::Command;
use tokio::sync::watch as flag;
use tracing::Instrument;

use super::apart::{Ended, run_apart};
use super::resolution::AttemptLimits;
use super::{QUEUE_LOOK_PAUSE, ServiceError, insist};
use crate::daemon::backoff::backoff;
use crate::daemon::handle::ServiceHandle;
use crate::daemon::metrics::ReviewResult;
use crate::daemon::progress::Step;
use crate::daemon::queue::{LONGEST_DELAY, Queue, ReviewJob};
use crate::daemon::shutdown::Shutdown;
use crate::delivery::one_line;

/// The number of times that the process of a review may die.
const MAX_DEATHS: u32 = 3;

/// The pause after a failure, as a multiple of the time that the attempt took. A request that is too large to be
/// fetched would otherwise keep the machine busy.
const PAUSE_FACTOR: u32 = 20;

/// The maximum number of characters of the reason for a failure.
const MAX_REASON: usize = 1000;

/// Reviews the requests of one project.
pub trait Review: Send + Sync {
    /// Returns the command that reviews a request and posts the review. Its exit status is 1 if that fails.
    fn command(&self, request: u64) -> Command;

    /// Returns the limits of a review.
    fn limits(&self) -> AttemptLimits;
}

/// The reviews of one project.
pub struct Reviews {
    /// The name in the queue.
    pub name: String,
    /// The time for which a review is tried before it is set aside.
    pub retry_for: Duration,
    /// Reviews a request.
    pub review: Arc<dyn Review>,
}

/// A review that failed.
struct Failure {
    reason: String,
    /// True if it would fail again.
    is_final: bool,
}

/// Reviews the requests in the queue.
pub(super) struct Reviewer {
    reviews: Vec<Reviews>,
    queue: Queue,
    handle: Arc<ServiceHandle>,
}

impl Reviewer {
    pub(super) fn new(reviews: Vec<Reviews>, queue: Queue, handle: Arc<ServiceHandle>) -> Reviewer {
        for reviews in &reviews {
            handle.metrics.add_reviews(&reviews.name);
        }
        Reviewer { reviews, queue, handle }
    }

    /// Reviews requests until the service ends.
    pub(super) async fn run(self, mut shutdown: Shutdown) -> Result<(), ServiceError> {
        let names: Vec<String> = self.reviews.iter().map(|reviews| reviews.name.clone()).collect();
        let mut requests = self.handle.review_asked.listen();
        while !shutdown.is_requested() {
            let next = insist(&self.handle, &mut shutdown, || self.queue.next_review(&names)).await;
            match next {
                None => break,
                Some(None) => rest(QUEUE_LOOK_PAUSE, &mut requests, &mut shutdown).await,
                Some(Some((_, wait))) if !wait.is_zero() => {
                    rest(wait.min(QUEUE_LOOK_PAUSE), &mut requests, &mut shutdown).await;
                }
                Some(Some((job, _))) => {
                    let span = tracing::error_span!("review", of = job.name, request = job.request);
                    self.review_one(&job, &mut shutdown).instrument(span).await;
                }
            }
        }
        Ok(())
    }

    async fn review_one(&self, job: &ReviewJob, shutdown: &mut Shutdown) {
        let Some(reviews) = self.reviews.iter().find(|reviews| reviews.name == job.name) else { return };
        let limits = reviews.review.limits();
        let under_way = self.handle.progress.begin(Step::Review(job.name.clone()), limits.deadline().saturating_mul(2));
        let start = Instant::now();
        let done = attempt(&*reviews.review, job).await;
        drop(under_way);
        match done {
            Ok(told) => {
                tracing::info!(told, "reviewed");
                self.handle.metrics.reviewed(&job.name, ReviewResult::Done);
                insist(&self.handle, shutdown, || self.queue.reviewed(job)).await;
            }
            Err(failure) => {
                let pause = pause(job.attempts.saturating_add(1), start.elapsed());
                self.failed(job, reviews, &failure, pause, shutdown).await;
            }
        }
    }

    async fn failed(
        &self,
        job: &ReviewJob,
        reviews: &Reviews,
        failure: &Failure,
        delay: Duration,
        shutdown: &mut Shutdown,
    ) {
        let Failure { reason, is_final } = failure;
        let attempts = job.attempts.saturating_add(1);
        let again = Some(delay).filter(|_| !is_final && job.age < reviews.retry_for);
        let result = if again.is_some() {
            tracing::warn!(attempts, ?delay, reason, "cannot review the request; trying again");
            ReviewResult::Failed
        } else {
            tracing::error!(attempts, reason, "cannot review the request; it is set aside");
            ReviewResult::Dead
        };
        self.handle.metrics.reviewed(&job.name, result);
        insist(&self.handle, shutdown, || self.queue.not_reviewed(job, reason, again)).await;
    }
}

/// Returns the pause after a number of attempts, the last of which took the time `took`.
fn pause(attempts: u32, took: Duration) -> Duration {
    backoff(attempts, LONGEST_DELAY).max(took.saturating_mul(PAUSE_FACTOR).min(LONGEST_DELAY))
}

/// Rests until the time is over, a review is requested, or the task has to end.
async fn rest(time: Duration, requests: &mut flag::Receiver<()>, shutdown: &mut Shutdown) {
    tokio::select! {
        _ = shutdown.interrupts(time) => {}
        Ok(()) = requests.changed() => {}
    }
}

/// Reviews a request, and returns the last line that the process printed.
async fn attempt(review: &dyn Review, job: &ReviewJob) -> Result<String, Failure> {
    let mut command = review.command(job.request);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let Output { status, stderr, .. } = match run_apart(command, review.limits()).await {
        Ok(output) => output,
        Err(Ended::NotStarted(error)) => {
            return Err(Failure { reason: format!("cannot start its process: {error}"), is_final: false });
        }
        Err(Ended::Late(seconds)) => {
            return Err(Failure { reason: format!("it takes more than {seconds} seconds"), is_final: true });
        }
        Err(Ended::Broken(error)) => return Err(Failure { reason: error.to_string(), is_final: false }),
    };
    let message = last_line(&stderr);
    match status.code() {
        // Differences, blind spots and failing policies are not failures of the review.
        Some(0 | 2..=4) => Ok(message),
        Some(_) if !message.is_empty() => Err(Failure { reason: message, is_final: false }),
        _ => {
            let is_final = job.attempts.saturating_add(1) >= MAX_DEATHS;
            Err(Failure { reason: format!("its process has ended: {status}"), is_final })
        }
    }
}

/// Returns the last line, without the name of the program.
fn last_line(text: &[u8]) -> String {
    let line = text.rsplit(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let line = one_line(line);
    line.strip_prefix("hierad: ").unwrap_or(&line).chars().take(MAX_REASON).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costly_failures_are_followed_by_long_pauses() {
        assert!(pause(1, Duration::from_millis(1)) <= Duration::from_secs(1));
        assert_eq!(pause(1, Duration::from_secs(30)), Duration::from_mins(10));
        assert_eq!(pause(1, Duration::from_hours(1)), LONGEST_DELAY);
    }
}
