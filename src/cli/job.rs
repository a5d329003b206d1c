//! Finds the runner of a CI job that looks for commands in what is written, and leaves none there.

use std::borrow::Cow;

use crate::forge::ci;
use crate::visible::without_commands;

/// Parts what the runner of this job, if it is one, would take for commands.
pub(super) fn parted(lines: &str) -> Cow<'_, str> {
    let is_job = ci::has_commands(&|name| std::env::var_os(name).map(|_| String::new()));
    if is_job { without_commands(lines) } else { Cow::Borrowed(lines) }
}
