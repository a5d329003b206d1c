//! The options of a run of the daemon, as the command line gives them.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::app::{Overrides, Result};
use crate::daemon::{BranchCheckpoint, CATCH_UP, WatchOptions};
use crate::delivery::Stream;
use crate::git::{BranchPatterns, Repository};

/// Shows the user a line that scripts wait for, such as the one that says that the daemon is watching.
pub type Announce = Arc<dyn Fn(&str) + Send + Sync>;

/// The program of this process, and the arguments that it was started with.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program.
    pub path: PathBuf,
    /// The arguments.
    pub arguments: Vec<OsString>,
    /// The flag that makes it resolve the job whose number follows, and write the answer to standard output.
    pub flag: &'static str,
}

/// The options of a run of the daemon.
#[derive(Clone)]
pub struct DaemonOptions {
    /// The flags of every command.
    pub overrides: Overrides,
    /// Patterns of the branches to watch; if empty, those of the settings apply.
    pub branches: Vec<String>,
    /// A revision: the commits after it are reported first.
    pub since: Option<String>,
    /// The folder of the durable queue.
    pub state: Option<PathBuf>,
    /// The address to answer HTTP requests at.
    pub listen: Option<SocketAddr>,
    /// The longest time between two looks at the branches.
    pub poll: Duration,
    /// True to have the system notify of changed files.
    pub notify: bool,
    /// The program of this process, which resolves commits in separate processes if need be; `None` to do without.
    pub program: Option<Arc<Program>>,
    /// Standard output, for reports.
    pub output: Stream,
    /// Shows the user the lines that scripts wait for.
    pub announce: Announce,
}

impl DaemonOptions {
    /// Returns the patterns of branches to watch: those of the flags or, without any, those of the settings.
    pub(in crate::app) fn patterns<'a>(&'a self, settings: &'a [String]) -> &'a [String] {
        if self.branches.is_empty() { settings } else { &self.branches }
    }

    /// Returns the checkpoint that a watch begins with.
    pub(super) fn checkpoint(&self, repository: &Repository, branches: &BranchPatterns) -> Result<BranchCheckpoint> {
        Ok(match &self.since {
            Some(revision) => BranchCheckpoint::since(repository, branches, repository.resolve(revision)?)?,
            None => BranchCheckpoint::now(repository)?,
        })
    }

    /// Returns how to watch `branches`, with or without whole pushes.
    pub(in crate::app) fn watch(&self, branches: BranchPatterns, pushes: bool) -> WatchOptions {
        WatchOptions { branches, poll: self.poll, notify: self.notify, catch_up: CATCH_UP, pushes }
    }
}

/// Returns the line that says that a repository is watched. Warns if none of its branches is.
pub(super) fn banner(repository: &Repository, patterns: &BranchPatterns) -> Result<String> {
    let branches: Vec<String> = repository.branches(patterns)?.keys().map(ToString::to_string).collect();
    let folder = repository.work_dir().unwrap_or(repository.git_dir()).display();
    if branches.is_empty() {
        tracing::warn!(folder = %folder, "no branch matches 'branches' or --branch: no commit is reported until one does");
    }
    let branches = match branches.as_slice() {
        [] => "no branch so far, as none matches,".to_owned(),
        names if names.len() <= 5 => names.join(", "),
        names => format!("{} branches", names.len()),
    };
    Ok(format!("watching {branches} in {folder}; Ctrl-C ends it"))
}
