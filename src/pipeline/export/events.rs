//! Lists the commits of a branch whose snapshots are to be written.

use crate::event::{CommitEvent, EventKind};
use crate::git::{BranchName, CommitId, HistoryError, ObjectError, Repository};
use crate::snapshot::history::Last;

/// A failure to read history.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// The commits of a branch cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A commit cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
}

/// Returns the commits of a branch since its last snapshots, or only its tip if there are none.
pub fn since(
    repository: &Repository,
    branch: &BranchName,
    last: Option<Last>,
    tip: CommitId,
) -> Result<Vec<CommitEvent>, EventError> {
    let Some(source) = last.map(|last| last.source) else { return one(repository, branch, tip) };
    if source == tip {
        return Ok(Vec::new());
    }
    let rewritten = event(branch, Some(source), tip, EventKind::Rewritten);
    // Git may have collected the commits that a rewritten branch left behind.
    if repository.is_gone(source) {
        return Ok(vec![rewritten]);
    }
    let events = chain(repository, branch, source, tip)?;
    // The branch was reset to an earlier commit.
    Ok(if events.is_empty() { vec![rewritten] } else { events })
}

/// Returns the commits of the first-parent chain to `to` that are not ancestors of `from`.
pub fn chain(
    repository: &Repository,
    branch: &BranchName,
    from: CommitId,
    to: CommitId,
) -> Result<Vec<CommitEvent>, EventError> {
    let chain = repository.chain_excluding(to, &[from])?;
    let mut before = chain.end.before();
    let event = |after| event(branch, before.replace(after), after, EventKind::New);
    Ok(chain.commits.into_iter().map(event).collect())
}

/// Returns the event of a single commit.
pub fn one(repository: &Repository, branch: &BranchName, commit: CommitId) -> Result<Vec<CommitEvent>, EventError> {
    let before = repository.parents(commit)?.first();
    Ok(vec![event(branch, before, commit, EventKind::New)])
}

fn event(branch: &BranchName, before: Option<CommitId>, after: CommitId, kind: EventKind) -> CommitEvent {
    CommitEvent::new(branch.clone(), before, after, kind)
}
