//! Reports for a command.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr};
use tokio::time::timeout;

use super::Parcel;

/// How much of what a command says on standard error is told, in bytes.
const MAX_WORDS: u64 = 1000;

/// A command that is run for each report: the report is its standard input, and what is known of it besides is in environment
/// variables (`HIERAD_ID`, `HIERAD_REPOSITORY`, `HIERAD_BRANCH`, `HIERAD_BEFORE`, `HIERAD_AFTER`, `HIERAD_KIND`). The report is taken
/// if it ends with status 0; what it prints goes to standard error.
#[derive(Debug)]
pub struct Command {
    program: String,
    arguments: Vec<String>,
    folder: PathBuf,
    limit: Duration,
}

impl Command {
    /// The command `program` with `arguments`, which runs in `folder` and has to end within `limit`.
    pub fn new(program: String, arguments: Vec<String>, folder: PathBuf, limit: Duration) -> Command {
        Command { program, arguments, folder, limit }
    }

    pub(super) async fn deliver(&self, parcel: &Parcel) -> Result<(), String> {
        let failed = |why: String| format!("the command {} {why}", self.program);
        let mut child = self.start(parcel).map_err(|error| failed(format!("cannot be started: {error}")))?;
        // What does not end in time is killed when the child is dropped.
        match timeout(self.limit, talk(&mut child, &parcel.report)).await {
            Ok(Ok(None)) => Ok(()),
            Ok(Ok(Some(why))) => Err(failed(why)),
            Ok(Err(error)) => Err(failed(format!("broke off: {error}"))),
            Err(_) => Err(failed(format!("took longer than {} s", self.limit.as_secs_f64()))),
        }
    }

    fn start(&self, parcel: &Parcel) -> std::io::Result<Child> {
        let mut command = tokio::process::Command::new(&self.program);
        command.args(&self.arguments).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(std::io::stderr()).stderr(Stdio::piped());
        if !self.folder.as_os_str().is_empty() {
            command.current_dir(&self.folder);
        }
        command.env("HIERAD_ID", &parcel.id).env("HIERAD_REPOSITORY", &parcel.repository);
        command.env("HIERAD_BRANCH", &parcel.branch).env("HIERAD_BEFORE", parcel.before.as_deref().unwrap_or_default());
        command.env("HIERAD_AFTER", &parcel.after).env("HIERAD_KIND", parcel.kind);
        command.spawn()
    }
}

/// Gives the command its input and waits for its end; why it has failed, if it has.
async fn talk(child: &mut Child, report: &[u8]) -> std::io::Result<Option<String>> {
    let (input, errors) = (child.stdin.take(), child.stderr.take());
    let give = async {
        if let Some(mut input) = input {
            // A command need not read what it does not want to know.
            _ = input.write_all(report).await;
        }
    };
    let (words, ()) = tokio::join!(words(errors), give);
    let status = child.wait().await?;
    if status.success() {
        return Ok(None);
    }
    let words = words.trim();
    Ok(Some(if words.is_empty() { format!("failed ({status})") } else { format!("failed ({status}): {words}") }))
}

/// The first of what a command says; the rest is read and dropped, so that it is not held up.
async fn words(errors: Option<ChildStderr>) -> String {
    let Some(mut errors) = errors else { return String::new() };
    let mut words = Vec::new();
    _ = (&mut errors).take(MAX_WORDS).read_to_end(&mut words).await;
    _ = tokio::io::copy(&mut errors, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&words).into_owned()
}
