//! Has the index of the history extended when commits have come to the watched branches: by `hierad log`, in a process
//! of low priority. No commit waits for it, and one that does harm there does none here.

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::app::Overrides;
use crate::app::workspace::history::index_folder;
use crate::disk::can_write;
use crate::git::{BranchName, BranchPatterns, Branches, CommitId, Repository, bound};

/// The interval of looks at the branches. Their tips must have stayed since the last look: in a series of commits,
/// nothing is done.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The interval of looks at a process that runs.
const RUN_INTERVAL: Duration = Duration::from_millis(200);

/// The pause after a process, as a multiple of the time that it took, and the least pause after one that failed.
const PAUSE_FACTOR: u32 = 10;
const PAUSE_AFTER_FAILURE: Duration = Duration::from_mins(1);

/// Held while a process runs: there is one at a time, of all repositories.
static TURN: Mutex<()> = Mutex::new(());

/// Extends the index for branches of a repository as long as the `user` of it is there, by runs of `program` with the
/// flags of this one.
pub(super) fn keep_history(
    repository: &Repository,
    branches: &BranchPatterns,
    user: Weak<dyn Any + Send + Sync>,
    overrides: &Overrides,
    program: &Path,
) {
    let keeper = Keeper {
        repository: repository.clone(),
        branches: branches.clone(),
        user,
        program: program.to_owned(),
        overrides: overrides.clone(),
        seen: Branches::new(),
        done: BTreeMap::new(),
    };
    if let Err(error) = thread::Builder::new().name("history".to_owned()).spawn(|| keeper.run()) {
        tracing::error!(%error, "the index of the history will not be extended: cannot start a thread");
    }
}

struct Keeper {
    repository: Repository,
    branches: BranchPatterns,
    user: Weak<dyn Any + Send + Sync>,
    program: PathBuf,
    overrides: Overrides,
    /// The tips at the last look.
    seen: Branches,
    /// The tips up to which everything is done.
    done: BTreeMap<BranchName, CommitId>,
}

impl Keeper {
    fn run(mut self) {
        let mut next = Instant::now();
        while self.is_wanted() {
            thread::sleep(LOOK_INTERVAL);
            // A repository may be away for a while.
            let Ok(tips) = self.repository.branches(&self.branches) else { continue };
            if tips != self.seen || Instant::now() < next {
                self.seen = tips;
                continue;
            }
            self.done.retain(|branch, _| tips.contains_key(branch));
            next = Instant::now() + self.extend_all(tips);
        }
    }

    /// Extends the index for the branches that it is not extended for, and returns the pause that is due.
    fn extend_all(&mut self, tips: Branches) -> Duration {
        let mut pause = Duration::ZERO;
        for (branch, tip) in tips {
            if self.done.get(&branch) == Some(&tip) || !self.is_wanted() {
                continue;
            }
            let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
            let start = Instant::now();
            let result = self.extend(&branch);
            pause += start.elapsed() * PAUSE_FACTOR;
            match result {
                Ok(()) => {
                    tracing::debug!(%branch, %tip, "the history is in the index");
                    self.done.insert(branch, tip);
                }
                Err(error) => {
                    tracing::debug!(%branch, %tip, %error, "the index of the history is not extended");
                    pause = pause.max(PAUSE_AFTER_FAILURE);
                }
            }
        }
        pause
    }

    fn is_wanted(&self) -> bool {
        self.user.strong_count() > 0
    }

    /// Runs a log of a branch.
    fn extend(&self, branch: &BranchName) -> io::Result<()> {
        can_write(&index_folder(&self.repository))?;
        let mut command = Command::new(&self.program);
        command
            .args(["log", "--index-only"])
            .arg(format!("--rev=refs/heads/{branch}"))
            .args(self.overrides.arguments());
        let mut command = bound(&command).ok_or_else(|| io::Error::other("nothing would end the process"))?;
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        loop {
            if let Some(status) = child.try_wait()? {
                return if status.success() { Ok(()) } else { Err(io::Error::other(status.to_string())) };
            }
            if !self.is_wanted() {
                // It ends with its input.
                child.stdin = None;
            }
            thread::sleep(RUN_INTERVAL);
        }
    }
}
