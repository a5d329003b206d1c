//! Git's configuration, as the `git` command tells it: with what is included, and with the settings of `git -c`, which its hooks see.

use std::path::Path;

use super::command::{CommandError, GitCommand};

/// A value of git's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigValue {
    /// The value.
    pub value: String,
    /// For what it is set.
    pub scope: ConfigScope,
}

/// For what a value is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigScope {
    /// The repository, or one of its work trees.
    Repository,
    /// More than that, in git's own word: `system`, `global`, `command`.
    Other(String),
}

/// A setting of the repository with this git directory; nothing if it is not set.
pub fn config_value(git_dir: &Path, name: &str) -> Result<Option<ConfigValue>, CommandError> {
    query(git_dir, &["config", "--null", "--show-scope", "--get", name])
}

/// The same for one that is a path: git expands `~`.
pub fn config_path(git_dir: &Path, name: &str) -> Result<Option<ConfigValue>, CommandError> {
    query(git_dir, &["config", "--null", "--show-scope", "--type=path", "--get", name])
}

fn query(git_dir: &Path, arguments: &[&str]) -> Result<Option<ConfigValue>, CommandError> {
    let answer = GitCommand::for_git_dir(git_dir, &[]).query(arguments)?;
    Ok(answer.as_deref().and_then(read))
}

/// Reads a scope and a value, each with a zero byte behind it.
fn read(answer: &str) -> Option<ConfigValue> {
    let (scope, value) = answer.split_once('\0')?;
    let scope = match scope {
        "local" | "worktree" => ConfigScope::Repository,
        other => ConfigScope::Other(other.to_owned()),
    };
    Some(ConfigValue { value: value.trim_end_matches('\0').to_owned(), scope })
}
