//! Runs this program in a separate process, which is killed along with everything that it has started if it takes too
//! long, and resolves jobs in such processes.
//!
//! The process writes a header, which is a line of JSON, and then the report as the queue stores it. It ends when its
//! standard input does, so it does not outlive the daemon.

use std::io::{self, Write};
use std::process::{Output, Stdio};

use serde::{Deserialize, Serialize};
use tokio::process::Command;
use tokio::time::timeout;

use super::resolution::{Addressed, AttemptLimits, Outcome, Recovery, Resolve, Unresolved, address, broken_off};
use crate::daemon::queue::{Body, Job, PackedReport};
use crate::delivery::Sink;
use crate::git::limit_memory;
use crate::process::Group;

/// The memory that the process gets in addition to its limit, in bytes: what the allocator reserves, and some for the
/// stacks of threads. Without the latter, a small limit would end it at random before it could say why.
const RESERVED: usize = (1 << 30) + (64 << 20);

/// The first line of an answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Header {
    /// The report follows.
    Resolved {
        sinks: Vec<String>,
        text: Option<String>,
        blind: Option<String>,
        headline: String,
        answers: Option<String>,
    },
    /// There is nothing to report.
    Nothing { answers: Option<String> },
    /// The job could not be resolved.
    Unresolved { error: String, recovery: Recovery },
}

/// Resolves a job for the daemon, which is another process and reads the answer from `output`.
pub fn answer(job: &Job, resolve: &dyn Resolve, sinks: &[Sink], output: &mut dyn Write) -> io::Result<()> {
    let outcome = resolve.resolve(job).map(|resolved| address(job, resolved, sinks.iter()));
    let (header, report) = match outcome {
        Ok(Outcome { report: Some(report), answers }) => {
            let Addressed { report: PackedReport { json, text }, sinks, blind, headline } = report;
            let text = text.map(Body::into_text).transpose()?;
            (Header::Resolved { sinks, text, blind, headline, answers }, json.into_bytes())
        }
        Ok(Outcome { report: None, answers }) => (Header::Nothing { answers }, Vec::new()),
        Err(Unresolved { error, recovery }) => (Header::Unresolved { error: error.to_string(), recovery }, Vec::new()),
    };
    serde_json::to_writer(&mut *output, &header)?;
    output.write_all(b"\n")?;
    output.write_all(&report)?;
    output.flush()
}

/// The reason why a process has no output.
pub(super) enum Ended {
    /// Could not be started.
    NotStarted(io::Error),
    /// Took more than this many seconds, and was killed.
    Late(f64),
    /// Its output could not be read.
    Broken(io::Error),
}

/// Runs a command of this program within limits, and returns its output. It ends when its standard input does.
pub(super) async fn run_apart(mut command: Command, limits: AttemptLimits) -> Result<Output, Ended> {
    command.stdin(Stdio::piped()).kill_on_drop(true);
    let mut group = Group::led(&mut command);
    let mut child = command.spawn().map_err(Ended::NotStarted)?;
    if let (Some(id), Some(memory)) = (child.id(), limits.memory) {
        limit_memory(id, memory.saturating_add(RESERVED) as u64);
    }
    group.is_led_by(&child);
    let _input = child.stdin.take();
    let deadline = limits.deadline();
    let output = timeout(deadline, child.wait_with_output()).await;
    if output.is_ok() {
        group.release_others();
    }
    output.map_err(|_| Ended::Late(deadline.as_secs_f64()))?.map_err(Ended::Broken)
}

/// Runs the command that resolves a job, and returns its answer.
pub(super) async fn resolve(mut command: Command, limits: AttemptLimits) -> Result<Outcome, Unresolved> {
    command.stdout(Stdio::piped());
    let output = run_apart(command, limits).await.map_err(|ended| match ended {
        Ended::NotStarted(error) => Unresolved {
            error: format!("cannot start a process that resolves the commit: {error}").into(),
            recovery: Recovery::Wait,
        },
        Ended::Late(seconds) => Unresolved {
            error: format!("it takes more than {seconds} seconds, even in a process of its own").into(),
            recovery: Recovery::SetAside,
        },
        Ended::Broken(error) => broken_off(&error.to_string()),
    })?;
    let Output { status, stdout, .. } = output;
    if !status.success() {
        return Err(broken_off(&format!("the process that resolves it has ended: {status}; the log may tell why")));
    }
    read(stdout).ok_or_else(|| broken_off("the process that resolves it has written no answer"))?
}

/// Reads an answer, or returns `None` if it is not one.
fn read(mut answer: Vec<u8>) -> Option<Result<Outcome, Unresolved>> {
    let end = answer.iter().position(|byte| *byte == b'\n')?;
    let header: Header = serde_json::from_slice(&answer[..end]).ok()?;
    Some(match header {
        Header::Resolved { sinks, text, blind, headline, answers } => {
            let json = Body::received(answer.split_off(end + 1))?;
            let text = text.map(|text| Body::of(text.as_bytes()));
            let report = Addressed { report: PackedReport { json, text }, sinks, blind, headline };
            Ok(Outcome { report: Some(report), answers })
        }
        Header::Nothing { answers } => Ok(Outcome { report: None, answers }),
        Header::Unresolved { error, recovery } => Err(Unresolved { error: error.into(), recovery }),
    })
}
