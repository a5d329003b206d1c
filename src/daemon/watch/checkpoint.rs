//! The checkpoint of a watch: the branches of a repository up to where their commits were handed out.

use std::collections::VecDeque;

use crate::git::{BranchPatterns, Branches, CommitId, RefsError, Repository};

/// The number of former tips to remember.
const MAX_FORMER_TIPS: usize = 1000;

/// The maximum number of times that a list of branches is read until two readings are equal.
const LIST_ATTEMPTS: usize = 5;

/// The branches of a repository up to where their commits were handed out. A watch reports what comes on top of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchCheckpoint {
    /// The last seen commit of each local branch. Branches that are not watched are among them: their commits are not
    /// new to a branch made from them.
    pub branches: Branches,
    /// Tips that branches had before they were deleted or rewritten, the oldest first: their commits are not reported
    /// again when a branch is renamed.
    pub former: VecDeque<CommitId>,
}

impl From<Branches> for BranchCheckpoint {
    fn from(branches: Branches) -> BranchCheckpoint {
        BranchCheckpoint { branches, former: VecDeque::new() }
    }
}

impl BranchCheckpoint {
    /// Returns the current branches: all existing commits count as seen.
    pub fn now(repository: &Repository) -> Result<BranchCheckpoint, RefsError> {
        // A list that is read while git packs references may lack some.
        let mut last = repository.branches(&BranchPatterns::all())?;
        for _ in 1..LIST_ATTEMPTS {
            let again = repository.branches(&BranchPatterns::all())?;
            if again == last {
                break;
            }
            last = again;
        }
        Ok(last.into())
    }

    /// Sets the branches that match `patterns` and contain `commit` back to it: the commits after it count as unseen.
    pub fn since(
        repository: &Repository,
        patterns: &BranchPatterns,
        commit: CommitId,
    ) -> Result<BranchCheckpoint, RefsError> {
        let mut checkpoint = BranchCheckpoint::now(repository)?;
        for tip in checkpoint.branches.iter_mut().filter(|(branch, _)| patterns.matches(branch)).map(|(_, tip)| tip) {
            if repository.is_ancestor(commit, *tip).unwrap_or(false) {
                *tip = commit;
            }
        }
        Ok(checkpoint)
    }

    /// Remembers the tip that a branch had before it was deleted or rewritten.
    pub(super) fn remember_former(&mut self, tip: Option<CommitId>) {
        self.former.extend(tip);
        while self.former.len() > MAX_FORMER_TIPS {
            self.former.pop_front();
        }
    }
}
