//! Programs that are run once for each node.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use crate::delivery::one_line;
use crate::process::{Group, without_tokens};
use crate::settings::ProgramSetting;

/// The maximum size, in bytes, of an answer, and of the standard error that an error quotes.
const MAX_ANSWER: u64 = 16 << 20;
const MAX_QUOTED: u64 = 300;

/// Runs a program with the name of a node as its last argument, and returns what it prints. No shell is involved.
pub(super) async fn run(setting: &ProgramSetting, program: &Path, node: &str) -> Result<Vec<u8>, String> {
    if node.starts_with('-') {
        return Err(format!("is not asked for '{node}': a name that begins with a dash is an option to it"));
    }
    let mut command = std::process::Command::new(program);
    without_tokens(&mut command);
    let mut command = Command::from(command);
    command.args(&setting.arguments).arg(node).current_dir(&setting.folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = Group::led(&mut command);
    let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
    group.is_led_by(&child);
    let limit = setting.timeout;
    let answer = tokio::time::timeout(limit, read_output(&mut child)).await;
    if answer.is_ok() {
        group.release_others();
    }
    drop(group); // which ends whatever the program has started
    let timed_out = |_| format!("gives no answer within {} s", limit.as_secs_f64());
    if answer.is_err() {
        _ = child.wait().await;
    }
    answer.map_err(timed_out)?
}

async fn read_output(child: &mut Child) -> Result<Vec<u8>, String> {
    let broken = |error: std::io::Error| format!("breaks off: {error}");
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let (output, errors) = tokio::try_join!(read(output, MAX_ANSWER), read(errors, MAX_QUOTED)).map_err(broken)?;
    if output.len() as u64 > MAX_ANSWER {
        return Err(format!("prints more than {} MiB", MAX_ANSWER >> 20));
    }
    let status = child.wait().await.map_err(broken)?;
    if !status.success() {
        let stderr_text = one_line(&errors);
        let stderr_text = if stderr_text.is_empty() { stderr_text } else { format!(": {stderr_text}") };
        return Err(format!("ends with {status}{stderr_text}"));
    }
    Ok(output)
}

/// Reads a stream up to a little more than `most` bytes.
async fn read(stream: Option<impl AsyncRead + Unpin>, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    if let Some(stream) = stream {
        stream.take(limit + 1).read_to_end(&mut content).await?;
    }
    Ok(content)
}
