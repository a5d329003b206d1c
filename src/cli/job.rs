//! Finds the runner of a CI job that looks for commands in what is written, and leaves none there.

use std::borrow::Cow;

use crate::visible::without_commands;

/// The variables that the runners of CI jobs set which look for commands in what is written.
const RUNNERS: [&str; 5] = ["GITHUB_ACTIONS", "GITEA_ACTIONS", "FORGEJO_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"];

/// Parts what the runner of this job, if it is one, would take for commands.
pub(super) fn parted(lines: &str) -> Cow<'_, str> {
    let is_job = RUNNERS.iter().any(|name| std::env::var_os(name).is_some());
    if is_job { without_commands(lines) } else { Cow::Borrowed(lines) }
}
