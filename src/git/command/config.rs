//! Reads git's configuration by the `git` command, which follows includes and sees the settings of `git -c`, as hooks
//! do.

use std::path::Path;

use super::{CommandError, GitCommand};

/// A value of git's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigValue {
    /// The value.
    pub value: String,
    /// The scope in which it is set.
    pub scope: ConfigScope,
}

/// The scope of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigScope {
    /// The repository, or one of its work trees.
    Repository,
    /// A wider scope, by git's name for it: `system`, `global`, `command`.
    Other(String),
}

/// Returns a setting of the repository with this git directory, or `None` if it is not set.
pub fn config_value(git_dir: &Path, name: &str) -> Result<Option<ConfigValue>, CommandError> {
    query(git_dir, &["config", "--null", "--show-scope", "--get", name])
}

/// Returns a setting that is a path, in which git expands `~`, or `None` if it is not set.
pub fn config_path(git_dir: &Path, name: &str) -> Result<Option<ConfigValue>, CommandError> {
    query(git_dir, &["config", "--null", "--show-scope", "--type=path", "--get", name])
}

fn query(git_dir: &Path, arguments: &[&str]) -> Result<Option<ConfigValue>, CommandError> {
    let answer = GitCommand::for_git_dir(git_dir, &[]).query(arguments)?;
    Ok(answer.as_deref().and_then(read))
}

/// Parses a scope and a value, each followed by a zero byte.
fn read(answer: &str) -> Option<ConfigValue> {
    let (scope, value) = answer.split_once('\0')?;
    let scope = match scope {
        "local" | "worktree" => ConfigScope::Repository,
        other => ConfigScope::Other(other.to_owned()),
    };
    Some(ConfigValue { value: value.trim_end_matches('\0').to_owned(), scope })
}
