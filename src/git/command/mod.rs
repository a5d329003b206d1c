//! Runs the `git` command, to read what libgit2 cannot (references in reftables, revisions in rare notations) and to
//! write what hierad writes.
//!
//! No user's hook runs, except for `pre-auto-gc`, which may prevent garbage collection. Queries
//! ([`GitCommand::query`]) write nothing and do not use the network.

pub(super) mod config;
pub(super) mod date;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::limited;

/// Variables that would point the command to another repository, as `git rev-parse --local-env-vars` lists them.
/// Variables that only pass settings on (`git -c`) are kept, as git keeps them when it runs a command in another
/// repository.
const REPOSITORY_VARIABLES: [&str; 13] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
];

/// A failure of the `git` command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The command is not installed.
    #[error("the repository {} needs the `git` command, which is not installed", repository.display())]
    NotInstalled {
        /// The repository.
        repository: PathBuf,
    },
    /// The command could not be started.
    #[error("cannot run `git` for {}: {reason}", repository.display())]
    NotRun {
        /// The repository.
        repository: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// The command failed.
    #[error("`git {command}` failed in {}: {reason}", repository.display())]
    Failed {
        /// The repository.
        repository: PathBuf,
        /// The subcommand.
        command: String,
        /// The command's message.
        reason: String,
    },
}

/// Removes the variables that would point a command to another repository.
pub(super) fn clean(command: &mut Command) {
    for variable in REPOSITORY_VARIABLES {
        command.env_remove(variable);
    }
}

/// The `git` command for one repository.
#[derive(Debug, Clone)]
pub(super) struct GitCommand {
    place: Vec<OsString>,
    repository: PathBuf,
    borrowed: Vec<PathBuf>,
    /// The folder for new objects, if that is not the repository's own.
    objects: Option<PathBuf>,
}

impl GitCommand {
    /// Makes the command for the repository with this git directory; `borrowed` are folders of objects that it may use
    /// besides its own.
    pub(super) fn for_git_dir(git_dir: &Path, borrowed: &[PathBuf]) -> GitCommand {
        let place = vec!["--git-dir".into(), git_dir.into()];
        GitCommand { place, repository: git_dir.to_owned(), borrowed: borrowed.to_vec(), objects: None }
    }

    /// Makes the command for a git directory whose objects are in a separate folder.
    pub(super) fn for_quarantine(git_dir: &Path, objects: &Path) -> GitCommand {
        GitCommand { objects: Some(objects.to_owned()), ..GitCommand::for_git_dir(git_dir, &[]) }
    }

    /// Makes the command for the repository that git itself finds from a folder. Git then checks who owns it.
    pub(super) fn from_folder(folder: &Path) -> GitCommand {
        let place = vec!["-C".into(), folder.into()];
        GitCommand { place, repository: folder.to_owned(), borrowed: Vec::new(), objects: None }
    }

    /// Runs a subcommand and returns its output, or `None` if it exits with status 1 and no message, as git does to say
    /// no.
    pub(super) fn query(&self, arguments: &[&str]) -> Result<Option<String>, CommandError> {
        let output = self.run(arguments).map_err(|error| self.not_run(&error))?;
        if output.status.success() {
            return Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()));
        }
        if output.status.code() == Some(1) && output.stderr.is_empty() {
            return Ok(None);
        }
        Err(self.failed(arguments.first().copied().unwrap_or_default(), &output.stderr))
    }

    /// Runs a subcommand that writes.
    pub(super) fn change(&self, arguments: &[&str]) -> Result<(), CommandError> {
        let mut command = self.command();
        command.args(["-c", "core.hooksPath=/dev/null"]).args(arguments);
        let output = limited::output(&mut command, &limited::QUERY.into());
        let output = output.map_err(|error| self.not_run(&error))?;
        if output.status.success() {
            return Ok(());
        }
        Err(self.failed(arguments.first().copied().unwrap_or_default(), &output.stderr))
    }

    /// Makes the error of a failed subcommand.
    pub(super) fn failed(&self, command: &str, words: &[u8]) -> CommandError {
        CommandError::Failed {
            repository: self.repository.clone(),
            command: command.to_owned(),
            reason: String::from_utf8_lossy(words).trim().to_owned(),
        }
    }

    fn run(&self, arguments: &[&str]) -> io::Result<Output> {
        let mut command = self.command();
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
        limited::output(command.args(arguments), &limited::QUERY.into())
    }

    /// Returns the command without a subcommand.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new("git");
        clean(&mut command);
        if let Some(folders) = self.borrowed_variable() {
            command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", folders);
        }
        if let Some(folder) = &self.objects {
            command.env("GIT_OBJECT_DIRECTORY", folder);
        }
        // libgit2 does not know replaced objects, so no answer may depend on them.
        command.env("LC_ALL", "C").env("GIT_NO_REPLACE_OBJECTS", "1").arg("--no-pager").args(&self.place);
        command
    }

    fn borrowed_variable(&self) -> Option<OsString> {
        if self.borrowed.is_empty() { None } else { std::env::join_paths(&self.borrowed).ok() }
    }

    /// Makes the error of a command that could not be started.
    pub(super) fn not_run(&self, error: &io::Error) -> CommandError {
        let repository = self.repository.clone();
        match error.kind() {
            io::ErrorKind::NotFound => CommandError::NotInstalled { repository },
            _ => CommandError::NotRun { repository, reason: error.to_string() },
        }
    }
}
