//! Delivers reports to a command.

use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin};
use tokio::time::timeout;

use super::one_line::one_line;
use super::{Parcel, SizeLimit};
use crate::disk::can_run;
use crate::event::{CommitEvent, JobName};
use crate::process::Group;

/// The maximum number of bytes of a command's standard error that an error quotes.
const MAX_STDERR: usize = 1000;

/// The time for which standard error is read after a command has ended: its children may keep it open for ever.
const LINGER: Duration = Duration::from_millis(200);

/// A command that is run for each report. The report is its standard input; the rest is in environment variables
/// (`HIERAD_ID`, `HIERAD_NUMBER`, `HIERAD_REPOSITORY`, `HIERAD_BRANCH`, `HIERAD_BEFORE`, `HIERAD_AFTER`,
/// `HIERAD_KIND`). The delivery succeeds if the command exits with status 0. Its standard output is dropped; if it
/// fails, the error quotes the start of its standard error, without anything that a terminal would act on. It runs in
/// a separate [group](Group), all of which is killed if it fails or takes too long.
#[derive(Debug)]
pub struct Command {
    program: String,
    arguments: Vec<String>,
    folder: PathBuf,
    limit: Duration,
    size: SizeLimit,
}

impl Command {
    /// Makes the command `program` with `arguments`, which runs in `folder` and must end within `limit`.
    pub fn new(program: String, arguments: Vec<String>, folder: PathBuf, limit: Duration) -> Command {
        Command { program, arguments, folder, limit, size: SizeLimit::default() }
    }

    /// Makes the command get summaries in place of reports that are too large.
    #[must_use]
    pub fn with_size(self, size: SizeLimit) -> Command {
        Command { size, ..self }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        can_run(&self.program).map_err(|error| format!("the command {} cannot be started: {error}", self.program))
    }

    pub(super) async fn deliver(&self, parcel: &Parcel) -> Result<(), String> {
        let failed = |why: String| format!("the command {} {why}", self.program);
        let started = self.start(parcel);
        let (mut child, mut group) = started.map_err(|error| failed(format!("cannot be started: {error}")))?;
        let (status, stderr) = match timeout(self.limit, run(&mut child, &self.size.within_limit(parcel))).await {
            Ok(Ok(ended)) => ended,
            Ok(Err(error)) => return Err(failed(format!("broke off: {error}"))),
            Err(_) => return Err(failed(format!("took longer than {} s", self.limit.as_secs_f64()))),
        };
        if status.success() {
            group.release();
            return Ok(());
        }
        let is_cut = stderr.len() > MAX_STDERR;
        let mut stderr = one_line(&stderr[..stderr.len().min(MAX_STDERR)]);
        stderr.extend(is_cut.then_some('…'));
        Err(failed(if stderr.is_empty() {
            format!("failed ({status})")
        } else {
            format!("failed ({status}): {stderr}")
        }))
    }

    fn start(&self, parcel: &Parcel) -> std::io::Result<(Child, Group)> {
        let mut command = tokio::process::Command::new(&self.program);
        command.args(&self.arguments).kill_on_drop(true);
        let mut group = Group::led(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        if !self.folder.as_os_str().is_empty() {
            command.current_dir(&self.folder);
        }
        let JobName { id, number, repository } = &parcel.job;
        let CommitEvent { branch, before, after, kind, .. } = &parcel.event;
        command.env("HIERAD_ID", id.as_str()).env("HIERAD_NUMBER", number.to_string());
        command.env("HIERAD_REPOSITORY", repository.as_str()).env("HIERAD_BRANCH", branch.as_str());
        command.env("HIERAD_BEFORE", before.map(|before| before.to_string()).unwrap_or_default());
        command.env("HIERAD_AFTER", after.to_string()).env("HIERAD_KIND", kind.as_str());
        let child = command.spawn()?;
        group.is_led_by(&child);
        Ok((child, group))
    }
}

/// Writes the command's input and waits for its end. Returns its status and its standard error.
async fn run(child: &mut Child, report: &[u8]) -> std::io::Result<(ExitStatus, Vec<u8>)> {
    let (input, errors) = (child.stdin.take(), child.stderr.take());
    let mut stderr = Vec::new();
    let status = {
        let mut streams = pin!(async { tokio::join!(write_stdin(input, report), read_stderr(errors, &mut stderr)) });
        let mut ended = pin!(child.wait());
        tokio::select! {
            _ = &mut streams => ended.await,
            status = &mut ended => {
                _ = timeout(LINGER, streams).await;
                status
            }
        }
    };
    Ok((status?, stderr))
}

/// Writes the report. A command need not read all of it.
async fn write_stdin(input: Option<ChildStdin>, report: &[u8]) {
    if let Some(mut input) = input {
        _ = input.write_all(report).await;
    }
}

/// Reads the start of standard error, and drops the rest so that the command is not held up.
async fn read_stderr(errors: Option<ChildStderr>, stderr: &mut Vec<u8>) {
    let Some(mut errors) = errors else { return };
    _ = (&mut errors).take(MAX_STDERR as u64 + 1).read_to_end(stderr).await;
    _ = tokio::io::copy(&mut errors, &mut tokio::io::sink()).await;
}
