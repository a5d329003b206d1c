//! The state of the branches, and the new commits that a look finds.
//!
//! [`BranchTracker`] owns the last seen commit of each branch. A branch counts as seen up to the last of its commits
//! that was handed out. So a look that fails or is cut short loses nothing: the next one finds the same commits
//! again.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use super::{BranchCheckpoint, arrivals};
use crate::event::{CommitEvent, EventKind};
use crate::git::{
    BranchName, BranchPatterns, Branches, CommitId, HistoryError, RefChange, RefsError, Repository, changes,
};

/// The time for which branches must not move before changes of several are examined. A fetch, a push or a transaction
/// moves them one after another, which takes longer on a busy machine.
const QUIET_TIME: Duration = Duration::from_millis(5);

/// The time after which changes are examined even if branches keep moving.
const PATIENCE: Duration = Duration::from_millis(200);

/// The time after which a look hands out what it has, since it may take long to compare many branches with each other.
const MAX_LOOK_TIME: Duration = Duration::from_secs(1);

/// The findings of a look.
#[derive(Default)]
pub(super) struct Look {
    /// The commits to hand out, in order.
    pub(super) commits: Vec<CommitEvent>,
    /// The branches that could not be read, which stay as they were.
    pub(super) failures: Vec<Failure>,
    /// True if it took long, and has left branches to the next look.
    pub(super) is_cut: bool,
}

/// A branch, or the list of them, could not be read.
pub(super) struct Failure {
    /// The branch or the list, for the log.
    pub(super) about: String,
    pub(super) error: LookError,
}

/// The reason why a branch or the list could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookError {
    #[error(transparent)]
    Refs(#[from] RefsError),
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// The branches of a repository, and the owner of their last seen commits.
pub(super) struct BranchTracker {
    repository: Repository,
    patterns: BranchPatterns,
    /// The maximum number of commits of a branch that are handed out one by one.
    catch_up: NonZeroUsize,
    /// True to hand out whole pushes, too.
    pushes: bool,
    checkpoint: BranchCheckpoint,
    /// True if the handler does not have the current checkpoint yet.
    is_unsaved: bool,
    /// The branches that the last look could not read. They come last, so as not to delay others.
    failed: HashSet<BranchName>,
    /// The time limit of a look.
    longest: Duration,
}

/// The changes of the branches since the checkpoint.
#[derive(Default)]
struct Moves {
    /// The changes of watched branches.
    watched: Vec<RefChange>,
    /// The changes of branches that are not watched.
    others: Vec<RefChange>,
}

impl BranchTracker {
    /// Tracks the branches of `repository` that match `patterns`, from `checkpoint` on. `catch_up` and `pushes` are
    /// as in the options.
    pub(super) fn new(
        repository: Repository,
        patterns: BranchPatterns,
        (catch_up, pushes): (NonZeroUsize, bool),
        checkpoint: BranchCheckpoint,
    ) -> BranchTracker {
        let failed = HashSet::new();
        BranchTracker {
            repository,
            patterns,
            catch_up,
            pushes,
            checkpoint,
            is_unsaved: true,
            failed,
            longest: MAX_LOOK_TIME,
        }
    }

    /// Returns true if the repository still exists.
    pub(super) fn is_there(&self) -> bool {
        self.repository.is_there()
    }

    /// Returns the number of watched branches.
    pub(super) fn count(&self) -> usize {
        self.checkpoint.branches.keys().filter(|branch| self.patterns.matches(branch)).count()
    }

    /// Returns the checkpoint if it has changed since it was [`saved`](Self::saved), else `None`.
    pub(super) fn unsaved(&self) -> Option<&BranchCheckpoint> {
        self.is_unsaved.then_some(&self.checkpoint)
    }

    /// Notes that the handler has the checkpoint.
    pub(super) fn saved(&mut self) {
        self.is_unsaved = false;
    }

    /// Compares the branches with the checkpoint. `pause` sleeps.
    pub(super) fn look(&mut self, pause: impl FnMut(Duration)) -> Look {
        let mut look = Look::default();
        let Moves { watched, others } = match self.moves(pause) {
            Ok(moves) => moves,
            Err(error) => {
                look.failures.push(Failure { about: "the list of branches".into(), error: error.into() });
                return look;
            }
        };
        for change in others {
            self.set(&change.branch, change.new);
        }
        let start = Instant::now();
        let failed = std::mem::take(&mut self.failed);
        let default = self.repository.branch().ok().flatten();
        // Branches that have moved come first: a new branch leaves out the commits that came to another one in the
        // same look. Commits that only a merge has brought there stay: they were the new branch's before the merge.
        let mut watched = watched;
        let order = |change: &RefChange| {
            (failed.contains(&change.branch), change.old.is_none(), default.as_ref() != Some(&change.branch))
        };
        watched.sort_by_key(order);
        let mut tips: Vec<CommitId> =
            self.checkpoint.branches.values().chain(&self.checkpoint.former).copied().collect();
        let mut found = HashSet::new();
        for (number, change) in watched.into_iter().enumerate() {
            let branch = change.branch.clone();
            if number > 0 && start.elapsed() >= self.longest {
                look.is_cut = true;
                self.failed.extend(failed);
                break;
            }
            match self.examine(change, &tips, &found) {
                Ok(commits) => {
                    found.extend(commits.iter().map(|commit| commit.after));
                    let for_all = commits.iter().filter(|commit| commit.kind.stands_for_all());
                    tips.extend(for_all.map(|commit| commit.after));
                    let commits = arrivals::bounded(commits, self.catch_up);
                    look.commits.extend(if self.pushes { arrivals::with_whole(commits) } else { commits });
                }
                Err(error) => {
                    look.failures.push(Failure { about: format!("branch {branch}"), error });
                    self.failed.insert(branch);
                }
            }
        }
        look
    }

    /// Returns the changes since the checkpoint. Unless a single branch has moved, it first waits until the branches
    /// rest: the commits of a new branch may belong to another one that is about to move.
    fn moves(&self, mut pause: impl FnMut(Duration)) -> Result<Moves, RefsError> {
        let mut branches = self.branches()?;
        let mut changed = changes(&self.checkpoint.branches, &branches);
        let end = Instant::now() + PATIENCE;
        while !matches!(changed.as_slice(), [] | [RefChange { old: Some(_), new: Some(_), .. }]) && Instant::now() < end
        {
            pause(QUIET_TIME);
            let before = std::mem::replace(&mut branches, self.branches()?);
            if branches == before {
                break;
            }
            changed = changes(&self.checkpoint.branches, &branches);
        }
        let (watched, others) = changed.into_iter().partition(|change| self.patterns.matches(&change.branch));
        Ok(Moves { watched, others })
    }

    fn branches(&self) -> Result<Branches, RefsError> {
        self.repository.branches(&BranchPatterns::all())
    }

    /// Returns the commits that have arrived on one watched branch. The list may have been read while git packed
    /// references, so the branch's tip is read again. `tips` are those whose history is known, `found` the commits
    /// that the look has found so far.
    fn examine(
        &mut self,
        change: RefChange,
        tips: &[CommitId],
        found: &HashSet<CommitId>,
    ) -> Result<Vec<CommitEvent>, LookError> {
        let RefChange { branch, old, .. } = change;
        let tip = self.repository.tip(&branch)?;
        let mut commits = match (old, tip) {
            (Some(old), Some(new)) if old == new => Vec::new(),
            (Some(old), Some(new)) => arrivals::moved(&self.repository, &branch, old, new)?,
            (None, Some(new)) => self.examine_created(&branch, new, tips, found)?,
            (Some(old), None) => {
                tracing::info!(%branch, tip = %old, "the branch was deleted");
                self.set(&branch, None);
                Vec::new()
            }
            (None, None) => Vec::new(),
        };
        let judge = old.or_else(|| self.default_tip().filter(|default| Some(*default) != tip));
        for commit in &mut commits {
            commit.judge = judge;
        }
        Ok(commits)
    }

    /// Returns the tip of the checked-out branch, which is a mirror's default branch.
    fn default_tip(&self) -> Option<CommitId> {
        let branch = self.repository.branch().ok()??;
        self.repository.tip(&branch).ok()?
    }

    fn examine_created(
        &mut self,
        branch: &BranchName,
        new: CommitId,
        tips: &[CommitId],
        found: &HashSet<CommitId>,
    ) -> Result<Vec<CommitEvent>, LookError> {
        let mut commits = arrivals::created(&self.repository, branch, new, tips)?;
        commits.retain(|commit| !found.contains(&commit.after));
        tracing::info!(%branch, tip = %new, commits = commits.len(), "the branch is new");
        // The branch stays unknown until its first commit is handed out.
        if commits.is_empty() {
            self.set(branch, Some(new));
        }
        Ok(commits)
    }

    /// Notes that a commit was handed out.
    pub(super) fn advance(&mut self, commit: &CommitEvent) {
        if commit.kind == EventKind::Rewritten {
            self.checkpoint.remember_former(commit.before);
        }
        self.set(&commit.branch, Some(commit.after));
    }

    /// Sets the last seen commit of a branch, or removes the branch.
    fn set(&mut self, branch: &BranchName, tip: Option<CommitId>) {
        self.is_unsaved = true;
        if let Some(tip) = tip {
            self.checkpoint.branches.insert(branch.clone(), tip);
            return;
        }
        let former = self.checkpoint.branches.remove(branch);
        self.checkpoint.remember_former(former);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::super::CATCH_UP;
    use super::*;
    use crate::git::Scratch;

    fn git(folder: &Path, arguments: &[&str]) {
        assert!(Command::new("git").arg("-C").arg(folder).args(arguments).status().unwrap().success());
    }

    #[test]
    fn branches_that_move_together_are_seen_together() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::init(folder.path()).unwrap();
        scratch.commit("one", 1).unwrap();
        let repository = Repository::discover(folder.path()).unwrap();
        let checkpoint = BranchCheckpoint::now(&repository).unwrap();
        scratch.commit("two", 2).unwrap();
        scratch.branch("feature").unwrap();
        git(folder.path(), &["update-ref", "refs/heads/main", "main~1"]);
        let mut tracker = BranchTracker::new(repository, BranchPatterns::all(), (CATCH_UP, false), checkpoint);
        let look = tracker.look(|_| git(folder.path(), &["update-ref", "refs/heads/main", "feature"]));
        let found: Vec<_> = look.commits.iter().map(|commit| (commit.branch.as_str(), commit.kind)).collect();
        assert_eq!(found, [("main", EventKind::New)]);
        let look = tracker.look(|_| ());
        assert_eq!(look.commits.len(), 1);
        look.commits.iter().for_each(|commit| tracker.advance(commit));
        assert!(tracker.look(|_| unreachable!("no branch has moved")).commits.is_empty());
    }

    #[test]
    fn a_look_that_takes_long_hands_out_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::init(folder.path()).unwrap();
        scratch.commit("one", 1).unwrap();
        let repository = Repository::discover(folder.path()).unwrap();
        let checkpoint = BranchCheckpoint::now(&repository).unwrap();
        for name in ["a", "b", "z"] {
            git(folder.path(), &["update-ref", &format!("refs/heads/{name}"), "main"]);
        }
        scratch.commit("two", 2).unwrap();
        std::fs::write(folder.path().join(".git/refs/heads/a"), format!("{}\n", "1".repeat(40))).unwrap();
        let mut tracker = BranchTracker::new(repository, BranchPatterns::all(), (CATCH_UP, false), checkpoint);
        tracker.longest = Duration::ZERO;
        let mut seen = Vec::new();
        for _ in 0..5 {
            let look = tracker.look(|_| ());
            assert!(look.commits.len() + look.failures.len() <= 1, "one branch at a time");
            look.commits.iter().for_each(|commit| tracker.advance(commit));
            let names = look.commits.iter().map(|commit| commit.branch.to_string());
            seen.extend(names.chain(look.failures.iter().map(|failure| failure.about.clone())));
        }
        assert_eq!(seen, ["main", "branch a", "branch a"], "the default branch first, and one that fails last");
        assert_eq!(tracker.checkpoint.branches.len(), 3, "b and z are known, and have no commits of their own");
    }

    #[test]
    fn a_branch_that_moves_alone_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::init(folder.path()).unwrap();
        scratch.commit("one", 1).unwrap();
        let repository = Repository::discover(folder.path()).unwrap();
        let checkpoint = BranchCheckpoint::now(&repository).unwrap();
        let mut tracker = BranchTracker::new(repository, BranchPatterns::all(), (CATCH_UP, false), checkpoint);
        scratch.commit("two", 2).unwrap();
        assert_eq!(tracker.look(|_| unreachable!("one branch has moved")).commits.len(), 1);
    }

    #[test]
    fn branches_that_never_rest_are_looked_at_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::init(folder.path()).unwrap();
        let repository = Repository::discover(folder.path()).unwrap();
        let mut tracker =
            BranchTracker::new(repository, BranchPatterns::all(), (CATCH_UP, false), BranchCheckpoint::default());
        let mut commits = 0;
        let mut commit = |_| {
            commits += 1;
            scratch.commit(&commits.to_string(), commits).unwrap();
        };
        commit(QUIET_TIME);
        assert!(!tracker.look(commit).commits.is_empty());
    }
}
