//! What a watch knows of a repository: it reports what comes on top of that.

use std::collections::VecDeque;

use crate::git::{BranchPatterns, Branches, CommitId, RefsError, Repository};

/// How many former tips are remembered.
const FORMER_TIPS: usize = 1000;

/// How often a list of branches is read until it comes out equal twice.
const LIST_ATTEMPTS: usize = 5;

/// What a watch knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// All local branches, those that are not watched as well (their commits are not new to a branch made from them), up to where
    /// their commits were handed out.
    pub branches: Branches,
    /// Tips that branches had before they were deleted or rewritten, the oldest first: their commits are not reported again when
    /// a branch is renamed.
    pub former: VecDeque<CommitId>,
}

impl From<Branches> for Known {
    fn from(branches: Branches) -> Known {
        Known { branches, former: VecDeque::new() }
    }
}

impl Known {
    /// All commits that are there.
    pub fn now(repository: &Repository) -> Result<Known, RefsError> {
        // A list that is read while git packs references can be wrong.
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

    /// `commit` and those behind it, on the branches meant by `patterns` that have it; all that are there on the others.
    pub fn since(repository: &Repository, patterns: &BranchPatterns, commit: CommitId) -> Result<Known, RefsError> {
        let mut known = Known::now(repository)?;
        for tip in known.branches.iter_mut().filter(|(branch, _)| patterns.matches(branch)).map(|(_, tip)| tip) {
            if repository.is_ancestor(commit, *tip).unwrap_or(false) {
                *tip = commit;
            }
        }
        Ok(known)
    }

    /// Remembers a tip that a branch has no more.
    pub(super) fn forget(&mut self, tip: Option<CommitId>) {
        self.former.extend(tip);
        while self.former.len() > FORMER_TIPS {
            self.former.pop_front();
        }
    }
}
