//! Bare repositories that follow another one: made here, filled by the user's own `git fetch`, with the user's credentials.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use git2::RepositoryInitOptions;

use super::command::clean;

/// A mirror could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a mirror in {}: {reason}", .path.display())]
pub struct MirrorError {
    path: PathBuf,
    reason: String,
}

/// A bare repository whose branches are those of another one.
#[derive(Debug, Clone)]
pub struct Mirror {
    /// Its folder.
    pub folder: PathBuf,
    /// Where the other one is, in any form that git takes.
    pub url: String,
}

impl Mirror {
    /// Makes the repository, if it is not there. It has no branches before it is fetched for the first time.
    pub fn make(&self) -> Result<(), MirrorError> {
        let mut options = RepositoryInitOptions::new();
        options.bare(true).mkpath(true).external_template(false).initial_head("main");
        let made = git2::Repository::init_opts(&self.folder, &options);
        // Former tips stay for as long as git keeps what reflogs name.
        let made = made.and_then(|repository| repository.config()?.set_str("core.logAllRefUpdates", "always"));
        made.map_err(|error| failed(&self.folder, &error))
    }

    /// The command that makes its branches those of the other repository. It asks nothing of a terminal.
    pub fn fetch(&self) -> Command {
        let mut command = Command::new("git");
        clean(&mut command);
        command.arg("--git-dir").arg(&self.folder);
        // What looks like an option is none behind the dashes.
        command.args(["fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--"]);
        command.arg(&self.url).arg("+refs/heads/*:refs/heads/*");
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null()).stdout(Stdio::null());
        if std::env::var_os("GIT_SSH_COMMAND").is_none() && std::env::var_os("GIT_SSH").is_none() {
            command.env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes");
        }
        command
    }
}

fn failed(path: &Path, error: &git2::Error) -> MirrorError {
    MirrorError { path: path.to_owned(), reason: error.message().to_owned() }
}
