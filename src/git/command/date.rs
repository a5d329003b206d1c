//! Reads dates as git does.

use std::path::Path;

use super::{CommandError, GitCommand};

/// Returns the time, in seconds since 1970, of a date in one of the many forms that git reads, such as `2 weeks ago`,
/// `yesterday` or `2026-02-28`. Git takes whatever it cannot read for the present time.
pub(in crate::git) fn date(git_dir: &Path, text: &str) -> Result<Option<i64>, CommandError> {
    let command = GitCommand::for_git_dir(git_dir, &[]);
    let answer = command.query(&["rev-parse", &format!("--since={text}")])?;
    Ok(answer.and_then(|answer| answer.trim().strip_prefix("--max-age=")?.parse().ok()))
}
