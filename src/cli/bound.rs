//! `hierad bound`: runs a program that ends with the daemon. For hierad's own use.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use clap::Args;

use super::{Result, Status};
use crate::process::Group;

/// The name of the subcommand.
pub(super) const NAME: &str = "bound";

/// Arguments of `bound`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Makes this process end with the daemon that holds the other end of its standard input, together with everything
/// that it has started.
pub(super) fn end_with_daemon() {
    Group::end_with_input();
    end_first();
}

/// Has the system kill this process, and not the daemon, if it runs out of memory.
pub(super) fn end_first() {
    _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}

/// Runs the program. When standard input ends, it is killed along with everything that it has started. Only the
/// program's own messages are printed.
pub(super) fn run(arguments: &Arguments) -> Result {
    let Some((program, words)) = arguments.words.split_first() else { return Err("no program is named".into()) };
    Group::lead_session();
    Group::end_with_input();
    let status = Command::new(program).args(words).stdin(Stdio::null()).status()?;
    Ok(if status.success() { Status::Done } else { Status::NotFound })
}
