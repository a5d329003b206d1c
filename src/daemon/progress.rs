//! The steps that are under way, and whether work advances.
//!
//! A task registers each step that may take long, for as long as it lasts: looks, commits, deliveries, scheduled
//! work, reviews and steps in the queue. While each of them ends within its limit, work advances; a late one counts
//! as stuck, with everything that waits for it. An idle task has no step.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::event::RepositoryName;

/// A kind of step, with the name of what it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// A look for commits.
    Look(RepositoryName),
    /// A commit is resolved.
    Resolve(RepositoryName),
    /// A report is delivered to a sink.
    Deliver(String),
    /// Scheduled work.
    Schedule(String),
    /// A request is reviewed.
    Review(String),
    /// A step in the queue.
    Queue,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Look(repository) => write!(f, "the look for commits of {repository}"),
            Step::Resolve(repository) => write!(f, "a commit of {repository}"),
            Step::Deliver(sink) => write!(f, "the delivery of a report to the sink '{sink}'"),
            Step::Schedule(name) => write!(f, "the scheduled work '{name}'"),
            Step::Review(name) => write!(f, "the review of a request of {name}"),
            Step::Queue => f.write_str("a step in the queue"),
        }
    }
}

/// The steps that are under way. Cheap to clone; all clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress(Arc<Mutex<Steps>>);

#[derive(Debug, Default)]
struct Steps {
    begun: u64,
    under_way: BTreeMap<u64, Begun>,
}

/// A step that has begun.
#[derive(Debug)]
struct Begun {
    step: Step,
    since: Instant,
    limit: Duration,
}

/// A step that is under way until this is dropped.
#[derive(Debug)]
pub(super) struct UnderWay {
    progress: Progress,
    number: u64,
}

impl Progress {
    /// Notes that a step begins. After `limit` it counts as stuck, so that must be far beyond the step's own limits.
    pub(super) fn begin(&self, step: Step, limit: Duration) -> UnderWay {
        let mut steps = self.steps();
        let number = steps.begun;
        steps.begun += 1;
        steps.under_way.insert(number, Begun { step, since: Instant::now(), limit });
        UnderWay { progress: self.clone(), number }
    }

    /// Returns the steps under way, the oldest first, with the time that each has taken so far.
    pub(super) fn under_way(&self) -> Vec<(Step, Duration)> {
        self.steps().under_way.values().map(|begun| (begun.step.clone(), begun.since.elapsed())).collect()
    }

    /// Returns the step that is stuck, or `None` if work advances.
    pub(super) fn standstill(&self) -> Option<String> {
        let steps = self.steps();
        let late = steps.under_way.values().find(|begun| begun.since.elapsed() > begun.limit);
        late.map(|begun| format!("{} takes {} min", begun.step, minutes(begun.since.elapsed())))
    }
}

impl Progress {
    fn steps(&self) -> MutexGuard<'_, Steps> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.progress.steps().under_way.remove(&self.number);
    }
}

/// Returns the whole minutes of a time.
pub(super) fn minutes(time: Duration) -> u64 {
    time.as_secs() / 60
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_stands_still_while_a_step_is_late() {
        let progress = Progress::default();
        let queue = progress.begin(Step::Queue, Duration::from_mins(5));
        let delivery = progress.begin(Step::Deliver("bot".to_owned()), Duration::from_hours(2));
        advance(Duration::from_mins(5)).await;
        assert_eq!(progress.standstill(), None);
        advance(Duration::from_mins(2)).await;
        assert_eq!(progress.standstill().as_deref(), Some("a step in the queue takes 7 min"));
        drop(queue);
        assert_eq!(progress.standstill(), None);
        advance(Duration::from_hours(2)).await;
        let text = "the delivery of a report to the sink 'bot' takes 127 min";
        assert_eq!(progress.standstill().as_deref(), Some(text));
        drop(delivery);
        assert_eq!(progress.under_way(), []);
    }
}
