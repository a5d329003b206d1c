//! The hook `pre-receive`, the gate of a repository: it tells whoever pushes what the push changes on the nodes, and
//! may refuse it.
//!
//! Git runs it while the objects of the push are in quarantine, and waits for it. So the comparison is a separate run
//! of this program with a time limit: after that, it is ended along with everything that it has started.

use std::ffi::OsString;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::judged::{Mode, check, without_policies};
use super::pushed::{Push, read_stdin};
use super::{GATE, GATE_TIMEOUT, first_line, setting};
use crate::cli::output::log;
use crate::cli::{Global, Result, Status};
use crate::disk;
use crate::git::{self, Environment};
use crate::pipeline::RevisionId;
use crate::process::Group;
use crate::settings::SETTINGS_FILE;

/// The last argument of the run that compares; git passes none.
const COMPARE: &str = "compare";

/// The time limit of a comparison in seconds, unless `hierad.gateTimeout` sets another one.
const DEFAULT_TIMEOUT: u64 = 60;

/// The option of a push that lets it past the gate: `git push -o hierad-bypass=REASON`.
const BYPASS: &str = "hierad-bypass=";

/// The file in the git directory that names each push which was let past.
const LOG: &str = "hierad-gate.log";

/// The variables that may name whoever pushes, as servers of git set them.
const USER_VARIABLES: [&str; 4] = ["REMOTE_USER", "GL_USERNAME", "LOGNAME", "USER"];

pub(super) fn run(global: &Global, arguments: &[OsString]) -> Result {
    let lines = read_stdin()?;
    if arguments.last().is_some_and(|argument| argument == COMPARE) {
        return Ok(judge(global, &lines));
    }
    let status = judge_in_time(global, &lines)?;
    match bypass_reason() {
        Some(reason) if status != Status::Done => {
            log_bypass(global, &lines, &reason)?;
            log::print(&format_args!("hierad: the push is let past, which is logged: {reason}"));
            Ok(Status::Done)
        }
        _ => Ok(status),
    }
}

/// Warns if the gate is left to policies and there are none for pushes to the default branch.
pub(super) fn warn_without_policies(global: &Global) {
    let is_left = matches!(setting(global, GATE).ok().flatten().as_deref(), None | Some("policies"));
    // Settings that cannot be read are told at each push.
    let Some(workspace) = global.open().ok().filter(|_| is_left) else { return };
    let head = workspace.repository.head().ok().and_then(|head| head.commit);
    if !workspace.has_policies(head.map_or(RevisionId::Empty, RevisionId::Commit)) {
        log::print(&format_args!("hierad: {}", without_policies(GATE)));
    }
}

/// Compares the branches that the push moves.
fn judge(global: &Global, lines: &str) -> Status {
    let mode = match setting(global, GATE) {
        Ok(None) => Ok(Mode::Policies),
        Ok(Some(value)) if value == "off" => return Status::Done,
        Ok(Some(value)) => Mode::parse(GATE, &value).map_err(Into::into),
        Err(failure) => Err(failure),
    };
    let is_shown_only = matches!(mode, Ok(Mode::Print));
    let checked = mode.and_then(|mode| Push::incoming(lines).and_then(|push| check(global, push, mode)));
    match checked {
        Ok(None) => Status::Done,
        Ok(Some(refusal)) => refuse(global, &refusal),
        Err(failure) if is_shown_only => {
            log::print(&format_args!("hierad: cannot show what the push changes: {}", first_line(&failure)));
            Status::Done
        }
        Err(failure) => {
            let reason = first_line(&failure);
            refuse(global, &format!("cannot be checked: {reason} (settings of the gate: {})", settings_path(global)))
        }
    }
}

/// Returns the path of the settings that rule in this repository.
fn settings_path(global: &Global) -> String {
    let folders = git::git_dirs(global.repo.as_deref(), &Environment::of_process());
    let path = folders.map_or_else(|_| SETTINGS_FILE.into(), |folders| folders.common.join(SETTINGS_FILE));
    path.display().to_string()
}

/// Runs the comparison with a time limit.
#[tokio::main(flavor = "current_thread")]
async fn judge_in_time(global: &Global, lines: &str) -> Result {
    let seconds = match setting(global, GATE_TIMEOUT)? {
        None => DEFAULT_TIMEOUT,
        Some(value) => value.parse().map_err(|_| format!("{GATE_TIMEOUT} is '{value}'; expected seconds"))?,
    };
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).arg(COMPARE).stdin(Stdio::piped());
    let mut group = Group::led(&mut command);
    let mut comparison = command.spawn()?;
    group.is_led_by(&comparison);
    let mut input = comparison.stdin.take();
    let done = async {
        if let Some(input) = &mut input {
            // A run that ends early has said why.
            _ = input.write_all(lines.as_bytes()).await;
        }
        drop(input.take());
        comparison.wait().await
    };
    let Ok(status) = tokio::time::timeout(Duration::from_secs(seconds), done).await else {
        return Ok(refuse(
            global,
            &format!("cannot be checked: that takes more than {seconds} seconds ({GATE_TIMEOUT})"),
        ));
    };
    Ok(match status?.code() {
        Some(0) => Status::Done,
        Some(2) => Status::Found,
        _ => refuse(global, "cannot be checked: hierad has failed"),
    })
}

/// Says why the push is refused.
fn refuse(global: &Global, reason: &str) -> Status {
    let options = setting(global, "receive.advertisePushOptions").ok().flatten();
    let advice = match options.as_deref().map(str::to_lowercase).as_deref() {
        Some("true" | "yes" | "on" | "1") => {
            format!("; `git push -o {BYPASS}REASON` pushes anyway, and is logged")
        }
        _ => String::new(),
    };
    log::print(&format_args!("hierad: the push is refused, as it {reason}{advice}"));
    Status::Found
}

/// Returns the reason that the push gives for bypassing the gate, or `None`. Git passes options on only if
/// `receive.advertisePushOptions` allows them.
fn bypass_reason() -> Option<String> {
    let count: usize = std::env::var("GIT_PUSH_OPTION_COUNT").ok()?.parse().ok()?;
    let option = |at| std::env::var(format!("GIT_PUSH_OPTION_{at}")).ok();
    let reason = (0..count).filter_map(option).find_map(|option| Some(option.strip_prefix(BYPASS)?.trim().to_owned()));
    reason.filter(|reason| !reason.is_empty())
}

/// Returns the number of the system's user, for servers that set no name.
fn system_user() -> String {
    #[cfg(unix)]
    return format!("uid {}", rustix::process::getuid().as_raw());
    #[cfg(not(unix))]
    "unknown".to_owned()
}

/// Logs a push that is let past. Fails if the log cannot be written.
fn log_bypass(global: &Global, lines: &str, reason: &str) -> Result<()> {
    let folders = git::git_dirs(global.repo.as_deref(), &Environment::of_process())?;
    let named = USER_VARIABLES.into_iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let who = named.unwrap_or_else(system_user);
    let moved: Vec<&str> = lines.lines().collect();
    let time = jiff::Timestamp::now().to_string();
    let line = json!({"time": time, "who": who, "reason": reason, "moved": moved});
    let path = folders.common.join(LOG);
    let noted = disk::append_named(&path).and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    noted.map_err(|error| format!("the push is refused, as {} cannot be written: {error}", path.display()).into())
}
