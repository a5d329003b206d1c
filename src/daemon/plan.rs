//! From a branch that has moved to the commits that have come to it. Reads history, remembers nothing.

use std::num::NonZeroUsize;

use crate::git::{BranchName, Chain, ChainEnd, CommitId, HistoryError, Repository};

use super::{CommitEvent, CommitKind};

/// The commits that have come to a branch whose tip was `old` and is `new`, oldest first.
pub(super) fn moved(
    repository: &Repository,
    branch: &BranchName,
    old: CommitId,
    new: CommitId,
) -> Result<Vec<CommitEvent>, HistoryError> {
    let rewritten = || vec![event(branch, Some(old), new, CommitKind::Rewritten)];
    if repository.is_gone(old) {
        return Ok(rewritten()); // gone with a rewritten branch, and collected
    }
    let chain = repository.chain_excluding(new, &[old])?;
    if chain.end == ChainEnd::Reached(old) {
        return Ok(one_by_one(branch, &chain.commits, Some(old), CommitKind::New));
    }
    if !repository.is_ancestor(old, new)? {
        return Ok(rewritten());
    }
    joined(repository, branch, old, &chain)
}

/// The old tip is behind the new one, but was merged into it from the side: what that merge changed on the branch is its
/// difference from the old tip.
fn joined(
    repository: &Repository,
    branch: &BranchName,
    old: CommitId,
    chain: &Chain,
) -> Result<Vec<CommitEvent>, HistoryError> {
    let (mut without, mut with) = (0, chain.commits.len());
    while without < with {
        let middle = usize::midpoint(without, with);
        if repository.is_ancestor(old, chain.commits[middle])? {
            with = middle;
        } else {
            without = middle + 1;
        }
    }
    let Some((merge, later)) = chain.commits.get(with..).and_then(<[CommitId]>::split_first) else {
        return Ok(Vec::new());
    };
    let mut events = vec![event(branch, Some(old), *merge, CommitKind::Joined)];
    events.extend(one_by_one(branch, later, Some(*merge), CommitKind::New));
    Ok(events)
}

/// The commits of a branch that was not there before, as far as none of `others` has them.
pub(super) fn created(
    repository: &Repository,
    branch: &BranchName,
    new: CommitId,
    others: &[CommitId],
) -> Result<Vec<CommitEvent>, HistoryError> {
    let mut chain = repository.chain_excluding(new, others)?;
    let mut before = chain.end.before();
    if chain.end == ChainEnd::Cut && !chain.commits.is_empty() {
        let cut = chain.commits.remove(0);
        tracing::warn!(%branch, commit = %cut, "history is cut here (a shallow clone); what this commit changed is not known");
        before = Some(cut);
    }
    Ok(one_by_one(branch, &chain.commits, before, CommitKind::Created))
}

/// The same commits, at most so many by themselves: the oldest of more as one.
pub(super) fn bounded(mut events: Vec<CommitEvent>, most: NonZeroUsize) -> Vec<CommitEvent> {
    let extra = events.len().saturating_sub(most.get());
    if extra > 0 {
        let CommitEvent { branch, before, .. } = events[0].clone();
        let after = events[extra].after;
        tracing::warn!(%branch, commits = extra + 1, until = %after, "so many commits have come that the oldest are reported as one");
        events.splice(..=extra, [event(&branch, before, after, CommitKind::Combined)]);
    }
    events
}

fn one_by_one(
    branch: &BranchName,
    commits: &[CommitId],
    mut before: Option<CommitId>,
    kind: CommitKind,
) -> Vec<CommitEvent> {
    let pairs = commits.iter().map(|commit| (before.replace(*commit), *commit));
    pairs.map(|(before, after)| event(branch, before, after, kind)).collect()
}

fn event(branch: &BranchName, before: Option<CommitId>, after: CommitId, kind: CommitKind) -> CommitEvent {
    CommitEvent { branch: branch.clone(), before, after, kind }
}
