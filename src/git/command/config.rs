//! Reads git's configuration with the `git` command, which follows includes and sees the settings of `git -c`, as
//! hooks do.

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

/// A setting of git's configuration, with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry {
    /// The name as git writes it: the section and the name in lower case.
    pub name: String,
    /// The value.
    pub value: String,
    /// The place as git names it, such as `file:.git/config`.
    pub origin: String,
}

/// Returns the settings of a section, which must be a plain word, in git's order: if several have the same name, the
/// last one wins.
pub fn config_section(git_dir: &Path, section: &str) -> Result<Vec<ConfigEntry>, CommandError> {
    let names = format!("^{section}\\.");
    let answer = GitCommand::for_git_dir(git_dir, &[])
        .query(&["config", "--null", "--show-origin", "--get-regexp", &names])?
        .unwrap_or_default();
    let mut parts = answer.split('\0');
    let entry = || {
        let (origin, setting) = (parts.next()?, parts.next()?);
        // A name alone means `true`.
        let (name, value) = setting.split_once('\n').unwrap_or((setting, "true"));
        Some(ConfigEntry { name: name.to_owned(), value: value.to_owned(), origin: origin.to_owned() })
    };
    Ok(std::iter::from_fn(entry).collect())
}

fn query(git_dir: &Path, arguments: &[&str]) -> Result<Option<ConfigValue>, CommandError> {
    let answer = GitCommand::for_git_dir(git_dir, &[]).query(arguments)?;
    Ok(answer.as_deref().and_then(parse_value))
}

/// Parses a scope and a value, each followed by a zero byte.
fn parse_value(answer: &str) -> Option<ConfigValue> {
    let (scope, value) = answer.split_once('\0')?;
    let scope = match scope {
        "local" | "worktree" => ConfigScope::Repository,
        other => ConfigScope::Other(other.to_owned()),
    };
    Some(ConfigValue { value: value.trim_end_matches('\0').to_owned(), scope })
}
