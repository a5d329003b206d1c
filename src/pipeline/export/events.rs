//! Lists the commits of a branch whose snapshots are to be written.

use super::Event;
use crate::git::{CommitId, HistoryError, ObjectError, Repository};
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

/// Returns the commits of a branch since its last snapshots, or its tip alone if there are none.
pub fn since(repository: &Repository, last: Option<Last>, tip: CommitId) -> Result<Vec<Event>, EventError> {
    let Some(source) = last.map(|last| last.source) else { return one(repository, tip) };
    if source == tip {
        return Ok(Vec::new());
    }
    let here = Event { before: Some(source), after: tip };
    // Git may have collected the commits that a rewritten branch left.
    if repository.is_gone(source) {
        return Ok(vec![here]);
    }
    let events = chain(repository, source, tip)?;
    // The branch was set back.
    Ok(if events.is_empty() { vec![here] } else { events })
}

/// Returns the commits of the first-parent chain to `to` that are not ancestors of `from`.
pub fn chain(repository: &Repository, from: CommitId, to: CommitId) -> Result<Vec<Event>, EventError> {
    let chain = repository.chain_excluding(to, &[from])?;
    let mut before = chain.end.before();
    let event = |after| Event { before: before.replace(after), after };
    Ok(chain.commits.into_iter().map(event).collect())
}

/// Returns one commit alone.
pub fn one(repository: &Repository, commit: CommitId) -> Result<Vec<Event>, EventError> {
    let before = repository.parents(commit)?.present.first().copied();
    Ok(vec![Event { before, after: commit }])
}
