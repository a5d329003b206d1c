//! Detects the runner of a CI job that looks for commands in the output, and removes them.

use std::borrow::Cow;

use crate::visible::without_commands;

/// The variables set by runners of CI jobs that look for commands in the output.
const RUNNERS: [&str; 5] = ["GITHUB_ACTIONS", "GITEA_ACTIONS", "FORGEJO_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"];

/// Breaks up everything that the runner of this job, if any, would take for a command.
pub(super) fn parted(lines: &str) -> Cow<'_, str> {
    let is_job = RUNNERS.iter().any(|name| std::env::var_os(name).is_some());
    if is_job { without_commands(lines) } else { Cow::Borrowed(lines) }
}
