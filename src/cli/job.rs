//! Detects the runner of a CI job that looks for commands in the output, and removes them.

use std::borrow::Cow;

use crate::forge::ci;
use crate::visible::without_commands;

/// Breaks up everything that the runner of this job, if any, would take for a command.
pub(super) fn without_job_commands(lines: &str) -> Cow<'_, str> {
    let is_job = ci::has_commands(&|name| std::env::var_os(name).map(|_| String::new()));
    if is_job { without_commands(lines) } else { Cow::Borrowed(lines) }
}
