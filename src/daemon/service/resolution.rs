//! The way from a job to its report: the resolver, its limits and its results.

use std::time::Duration;

use tokio::process::Command;

use crate::daemon::queue::{Body, Job, PackedReport};
use crate::delivery::{Sink, plain_text};
use crate::git::BranchName;
use crate::report::{Report, shorten};

/// Resolves the jobs of a repository.
pub trait Resolve: Send + Sync {
    /// Makes the report of a job. It may block, and it may fail: then it is called again.
    fn resolve(&self, job: &Job) -> Result<Resolved, Unresolved>;

    /// Returns the current sources of nodes, or `None` if there are none or not all have answered. It may block.
    fn sources(&self) -> Option<Sources> {
        None
    }

    /// Keeps answers of sources of nodes, instead of those that were kept before. It may block.
    fn mark_in_use(&self, _answers: &[String]) {}

    /// Returns the limits of an attempt.
    fn limits(&self) -> AttemptLimits;

    /// Returns the default branch, or `None` if it is unknown. It may block.
    fn default_branch(&self) -> Option<BranchName> {
        None
    }

    /// Returns true if there is a command for a separate process.
    fn has_apart(&self) -> bool {
        false
    }

    /// Returns the command that resolves a job in a separate process and writes the [`answer`](super::answer), or
    /// `None` if there is none.
    fn apart(&self, job: &Job) -> Option<Command>;
}

/// The sources of nodes of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// The names of their last answers.
    pub answers: String,
    /// The time of the oldest of them, in seconds since 1970.
    pub fetched: u64,
    /// The reason why one of them could not be asked the last time, if so.
    pub trouble: Option<String>,
}

/// The limits of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptLimits {
    /// The time after which the work stops by itself.
    pub time: Duration,
    /// The memory of a separate process, in bytes.
    pub memory: Option<usize>,
}

impl AttemptLimits {
    /// Returns the time after which an attempt that has not stopped by itself is aborted.
    pub(super) fn deadline(&self) -> Duration {
        self.time.saturating_add(self.time / 10).saturating_add(PATIENCE)
    }
}

/// The time that an attempt gets, in addition to a tenth of its limit, to stop by itself and to write its report.
const PATIENCE: Duration = Duration::from_secs(10);

/// The maximum number of characters of a headline in the log.
const MAX_HEADLINE: usize = 300;

/// The outcome of a job.
pub struct Resolved {
    /// The report, and the same as one line of JSON, with its end. `None` if there is nothing to report, as for most
    /// answers of sources: their facts often change nothing.
    pub report: Option<(Report, Body)>,
    /// The answers of sources of nodes that it was made with.
    pub answers: Option<String>,
}

/// A commit could not be resolved.
#[derive(Debug)]
pub struct Unresolved {
    /// The error.
    pub error: Box<dyn std::error::Error + Send + Sync>,
    /// The way to go on.
    pub recovery: Recovery,
}

/// The way to go on with a commit that could not be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// Try it again a few times.
    Retry,
    /// Try it again, but soon set it aside: the attempt did not finish.
    RetryApart,
    /// Set it aside, since it would fail again.
    SetAside,
    /// Wait for the repository to be back. This does not count as an attempt.
    Wait,
}

impl Recovery {
    /// Returns the number of attempts after which a commit is set aside.
    pub(super) fn attempts(self) -> i64 {
        match self {
            Recovery::Retry => 8,
            Recovery::RetryApart => 3,
            Recovery::SetAside => 0,
            Recovery::Wait => i64::MAX,
        }
    }
}

/// The outcome of a job, ready for the queue.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The report, or `None` if there is nothing to report.
    pub(super) report: Option<Addressed>,
    /// The answers of sources of nodes that it was made with.
    pub(super) answers: Option<String>,
}

/// A report with the names of the sinks that want it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Addressed {
    pub(super) report: PackedReport,
    pub(super) sinks: Vec<String>,
    /// The reason why nothing of the commit can be read, if so.
    pub(super) blind: Option<String>,
    /// The headline, for the log.
    pub(super) headline: String,
}

/// Finds the sinks that want a report, and renders it for them.
pub(super) fn address<'s>(
    job: &Job,
    Resolved { report, answers }: Resolved,
    sinks: impl Iterator<Item = &'s Sink>,
) -> Outcome {
    Outcome { report: report.map(|report| address_report(job, report, sinks)), answers }
}

fn address_report<'s>(job: &Job, (report, json): (Report, Body), sinks: impl Iterator<Item = &'s Sink>) -> Addressed {
    let wanting: Vec<&Sink> = sinks.filter(|sink| sink.wants(&job.name.repository, &job.event, &report)).collect();
    let text = wanting.iter().any(|sink| sink.wants_text()).then(|| Body::of(plain_text(&report).as_bytes()));
    let blind = report.blind_spots.first().filter(|_| report.is_unreadable.after);
    let blind = blind.map(|spot| spot.headline.clone());
    let sinks = wanting.into_iter().map(|sink| sink.name.clone()).collect();
    let headline = shorten(&report.headline(), MAX_HEADLINE);
    Addressed { report: PackedReport { json, text }, sinks, blind, headline }
}

/// Returns the failure of an attempt that did not finish.
pub(super) fn broken_off(text: &str) -> Unresolved {
    Unresolved { error: text.into(), recovery: Recovery::RetryApart }
}
