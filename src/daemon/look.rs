//! The branches as they are known, and what a look finds new.
//!
//! A branch counts as known up to the last of its commits that was handed out, so that a look that fails, or is cut short,
//! loses nothing: the next one finds the same again.

use std::collections::HashSet;
use std::num::NonZeroUsize;

use crate::git::{BranchName, BranchPatterns, CommitId, HistoryError, RefChange, RefsError, Repository, changes};

use super::{CommitEvent, Known, plan};

/// What a look has found.
#[derive(Default)]
pub(super) struct Looked {
    /// The commits to hand out, in order.
    pub(super) commits: Vec<CommitEvent>,
    /// What could not be read; it stays as it was known.
    pub(super) failures: Vec<Failure>,
}

/// Something that could not be read.
pub(super) struct Failure {
    /// A branch, or the list of them.
    pub(super) about: String,
    pub(super) error: LookError,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum LookError {
    #[error(transparent)]
    Refs(#[from] RefsError),
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// The branches of a repository, and up to where they are known.
pub(super) struct Watched {
    repository: Repository,
    patterns: BranchPatterns,
    /// How many commits of a branch are handed out one by one.
    catch_up: NonZeroUsize,
    /// With the branches that are not watched: their commits are not new to a branch made from them.
    known: Known,
}

impl Watched {
    /// The branches of a repository of which this is known.
    pub(super) fn new(
        repository: Repository,
        patterns: BranchPatterns,
        catch_up: NonZeroUsize,
        known: Known,
    ) -> Watched {
        Watched { repository, patterns, catch_up, known }
    }

    /// Whether the repository is still there.
    pub(super) fn is_there(&self) -> bool {
        self.repository.is_there()
    }

    /// How many branches are watched.
    pub(super) fn count(&self) -> usize {
        self.known.branches.keys().filter(|branch| self.patterns.matches(branch)).count()
    }

    /// What is known.
    pub(super) fn known(&self) -> &Known {
        &self.known
    }

    /// Compares the branches with what is known of them. `settle` waits until git has done with what it does together, such as a
    /// fetch of several branches.
    pub(super) fn look(&mut self, settle: impl FnOnce()) -> Looked {
        let mut looked = Looked::default();
        let (watched, others) = match self.changed(settle) {
            Ok(changed) => changed,
            Err(error) => {
                looked.failures.push(Failure { about: "the list of branches".into(), error: error.into() });
                return looked;
            }
        };
        for change in others {
            self.set(&change.branch, change.new);
        }
        // Branches that have moved first: of a new one those commits are left out that came to another one in the same look. Those
        // that a merge alone has brought there are not: they are the new branch's, had anybody looked before the merge.
        let (moved, created): (Vec<_>, Vec<_>) = watched.into_iter().partition(|change| change.old.is_some());
        let mut tips: Vec<CommitId> = self.known.branches.values().chain(&self.known.former).copied().collect();
        let mut found = HashSet::new();
        for change in moved.into_iter().chain(created) {
            let branch = change.branch.clone();
            match self.examine(change, &tips, &found) {
                Ok(commits) => {
                    found.extend(commits.iter().map(|commit| commit.after));
                    tips.extend(commits.iter().filter(|commit| commit.kind.is_for_all()).map(|commit| commit.after));
                    looked.commits.extend(plan::bounded(commits, self.catch_up));
                }
                Err(error) => looked.failures.push(Failure { about: format!("branch {branch}"), error }),
            }
        }
        looked
    }

    /// The watched branches that have changed, and the others. Where one of them appears it matters what else has changed: its
    /// commits may be those of another one that is about to move.
    fn changed(&self, settle: impl FnOnce()) -> Result<(Vec<RefChange>, Vec<RefChange>), RefsError> {
        let changed = || {
            let changes = changes(&self.known.branches, &self.repository.branches(&BranchPatterns::all())?);
            Ok(changes.into_iter().partition(|change| self.patterns.matches(&change.branch)))
        };
        let found: (Vec<RefChange>, Vec<RefChange>) = changed()?;
        if found.0.iter().all(|change| change.old.is_some()) {
            return Ok(found);
        }
        settle();
        changed()
    }

    /// What has happened to one watched branch. The list may have been read while git packed references; the branch's own
    /// tip tells the truth. `tips` are those whose history is known, `found` what the look has found so far.
    fn examine(
        &mut self,
        change: RefChange,
        tips: &[CommitId],
        found: &HashSet<CommitId>,
    ) -> Result<Vec<CommitEvent>, LookError> {
        let RefChange { branch, old, .. } = change;
        let tip = self.repository.tip(&branch)?;
        let commits = match (old, tip) {
            (Some(old), Some(new)) if old == new => Vec::new(),
            (Some(old), Some(new)) => plan::moved(&self.repository, &branch, old, new)?,
            (None, Some(new)) => self.examine_created(&branch, new, tips, found)?,
            (Some(old), None) => {
                tracing::info!(%branch, tip = %old, "the branch was deleted");
                self.set(&branch, None);
                Vec::new()
            }
            (None, None) => Vec::new(),
        };
        Ok(commits)
    }

    fn examine_created(
        &mut self,
        branch: &BranchName,
        new: CommitId,
        tips: &[CommitId],
        found: &HashSet<CommitId>,
    ) -> Result<Vec<CommitEvent>, LookError> {
        let mut commits = plan::created(&self.repository, branch, new, tips)?;
        commits.retain(|commit| !found.contains(&commit.after));
        tracing::info!(%branch, tip = %new, commits = commits.len(), "the branch is new");
        // until its first commit is handed out, the branch stays unknown
        if commits.is_empty() {
            self.set(branch, Some(new));
        }
        Ok(commits)
    }

    /// Takes note that a commit is handed out.
    pub(super) fn done(&mut self, commit: &CommitEvent) {
        if commit.kind == super::CommitKind::Rewritten {
            self.known.forget(commit.before);
        }
        self.known.branches.insert(commit.branch.clone(), commit.after);
    }

    fn set(&mut self, branch: &BranchName, tip: Option<CommitId>) {
        if let Some(tip) = tip {
            self.known.branches.insert(branch.clone(), tip);
            return;
        }
        let former = self.known.branches.remove(branch);
        self.known.forget(former);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::super::{CATCH_UP, CommitKind};
    use super::*;
    use crate::git::Scratch;

    fn git(folder: &Path, arguments: &[&str]) {
        assert!(Command::new("git").arg("-C").arg(folder).args(arguments).status().unwrap().success());
    }

    #[test]
    fn a_branch_that_appears_waits_for_those_that_move_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::init(folder.path()).unwrap();
        scratch.commit("one", 1).unwrap();
        let repository = Repository::discover(folder.path()).unwrap();
        let known = Known::now(&repository).unwrap();
        scratch.commit("two", 2).unwrap();
        scratch.branch("feature").unwrap();
        git(folder.path(), &["update-ref", "refs/heads/main", "main~1"]);
        let mut watched = Watched::new(repository, BranchPatterns::all(), CATCH_UP, known);
        let look = watched.look(|| git(folder.path(), &["update-ref", "refs/heads/main", "feature"]));
        let found: Vec<_> = look.commits.iter().map(|commit| (commit.branch.as_str(), commit.kind)).collect();
        assert_eq!(found, [("main", CommitKind::New)]);
        let look = watched.look(|| ());
        assert_eq!(look.commits.len(), 1);
        look.commits.iter().for_each(|commit| watched.done(commit));
        assert!(watched.look(|| unreachable!("no branch is new")).commits.is_empty());
    }
}
