//! Finds the commits that have come to a branch that has moved or appeared. It reads history and remembers nothing.

use std::num::NonZeroUsize;

use crate::event::{CommitEvent, EventKind, PushPart};
use crate::git::{BranchName, Chain, ChainEnd, CommitId, HistoryError, Repository};

/// Returns the commits that have arrived on a branch whose tip moved from `old` to `new`, oldest first.
pub(super) fn moved(
    repository: &Repository,
    branch: &BranchName,
    old: CommitId,
    new: CommitId,
) -> Result<Vec<CommitEvent>, HistoryError> {
    let rewritten = || vec![event(branch, Some(old), new, EventKind::Rewritten)];
    if repository.is_gone(old) {
        return Ok(rewritten()); // git has collected the former tip of a rewritten branch
    }
    let chain = repository.chain_excluding(new, &[old])?;
    if chain.end == ChainEnd::Reached(old) {
        return Ok(one_by_one(branch, &chain.commits, Some(old), EventKind::New));
    }
    if !repository.is_ancestor(old, new)? {
        return Ok(rewritten());
    }
    joined(repository, branch, old, &chain)
}

/// Returns the commits of a branch whose old tip was merged into the new one from the side. On the branch, that merge
/// changes everything that differs from the old tip.
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
    let mut events = vec![event(branch, Some(old), *merge, EventKind::Joined)];
    events.extend(one_by_one(branch, later, Some(*merge), EventKind::New));
    Ok(events)
}

/// Returns the commits of a new branch, without those that any of `others` has.
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
        tracing::warn!(%branch, commit = %cut, "the shallow clone ends here; the changes of this commit are unknown");
        before = Some(cut);
    }
    Ok(one_by_one(branch, &chain.commits, before, EventKind::Created))
}

/// Combines the oldest events into one if there are more than `max_events`.
pub(super) fn bounded(mut events: Vec<CommitEvent>, max_events: NonZeroUsize) -> Vec<CommitEvent> {
    let extra = events.len().saturating_sub(max_events.get());
    if extra > 0 {
        let CommitEvent { branch, before, judge, .. } = events[0].clone();
        let after = events[extra].after;
        tracing::warn!(%branch, commits = extra + 1, until = %after, "too many new commits: the oldest are reported together");
        let combined = CommitEvent { judge, ..CommitEvent::new(branch, before, after, EventKind::Combined) };
        events.splice(..=extra, [combined]);
    }
    events
}

/// Adds an event of a whole push after those of its commits, if there are several.
pub(super) fn with_whole(mut events: Vec<CommitEvent>) -> Vec<CommitEvent> {
    let [first, .., last] = events.as_slice() else { return events };
    let kind = if first.kind == EventKind::Created { first.kind } else { EventKind::Combined };
    let part = PushPart::Whole(u32::try_from(events.len()).unwrap_or(u32::MAX));
    let whole = CommitEvent { after: last.after, kind, part, ..first.clone() };
    for event in &mut events {
        event.part = PushPart::One;
    }
    events.push(whole);
    events
}

/// Returns how many of `events` are handed out together: `max_events` of them, and the event of a whole push along with
/// its last commit, since the branch counts as seen up to there.
pub(super) fn count_together(events: &[CommitEvent], max_events: usize) -> usize {
    let is_whole = events.get(max_events).is_some_and(|event| event.part.is_whole());
    events.len().min(max_events) + usize::from(is_whole)
}

fn one_by_one(
    branch: &BranchName,
    commits: &[CommitId],
    mut before: Option<CommitId>,
    kind: EventKind,
) -> Vec<CommitEvent> {
    let pairs = commits.iter().map(|commit| (before.replace(*commit), *commit));
    pairs.map(|(before, after)| event(branch, before, after, kind)).collect()
}

fn event(branch: &BranchName, before: Option<CommitId>, after: CommitId, kind: EventKind) -> CommitEvent {
    CommitEvent::new(branch.clone(), before, after, kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a daemon that ends between them never reports the push.
    #[test]
    fn a_whole_push_is_handed_out_with_its_last_commit() {
        let commit = |digit: &str| CommitId::from_hex(&digit.repeat(40)).unwrap();
        let events = one_by_one(&BranchName::new("main"), &["a", "b", "c"].map(commit), None, EventKind::New);
        assert_eq!(with_whole(events[..1].to_vec()), events[..1], "one commit is its own push");
        let events = with_whole(events);
        let parts = [PushPart::One, PushPart::One, PushPart::One, PushPart::Whole(3)];
        assert_eq!(events.iter().map(|event| event.part).collect::<Vec<_>>(), parts);
        assert_eq!((events[3].before, events[3].after), (None, commit("c")));
        for (max, expected) in [(1, 1), (2, 2), (3, 4), (4, 4), (9, 4)] {
            assert_eq!(count_together(&events, max), expected, "{max}");
        }
    }
}
