//! Walks through history: parents, first-parent chains, merge bases. The walks respect the commits at which a shallow
//! clone cuts history off.

pub(super) mod merge;

use std::collections::{BinaryHeap, HashMap, HashSet};
use std::iter;
use std::path::{Path, PathBuf};

use super::id::CommitId;
use super::objects::{ObjectError, Objects};

/// A failure to read history.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// An object cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The list of commits at which a shallow clone is cut off cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Shallow {
        /// The file.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// The answer lies beyond the end of a shallow clone.
    #[error("the history of {} ends at {commit}, since the clone is shallow; `git fetch --unshallow` fetches the \
             rest", repository.display())]
    Cut {
        /// The repository.
        repository: PathBuf,
        /// The last commit that is present.
        commit: CommitId,
    },
}

/// The parents of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parents {
    /// The parents that are present, first parent first.
    pub present: Vec<CommitId>,
    /// True if a shallow clone has left parents out.
    pub cut: bool,
}

/// A first-parent chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The commits, oldest first; the last one is the start of the walk.
    pub commits: Vec<CommitId>,
    /// The reason why the chain ends at the oldest of them.
    pub end: ChainEnd,
}

/// The reason why a walk along first parents ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainEnd {
    /// Reached the commit to stop at: the first parent of the oldest one.
    Reached(CommitId),
    /// The oldest one has no parents.
    Root,
    /// A shallow clone has left out the parents of the oldest one.
    Cut,
    /// The chain is longer than the limit; this is the first parent of the oldest one.
    Limit(CommitId),
}

impl Parents {
    /// Returns the first parent, or `None` if there is none, or none is present.
    pub fn first(&self) -> Option<CommitId> {
        self.present.first().copied()
    }
}

impl ChainEnd {
    /// Returns the first parent of the oldest commit, or `None` if none is present.
    pub fn before(self) -> Option<CommitId> {
        match self {
            ChainEnd::Reached(commit) | ChainEnd::Limit(commit) => Some(commit),
            ChainEnd::Root | ChainEnd::Cut => None,
        }
    }
}

/// Walks from a commit, which is left out, along first parents, which `first_parent` reads one by one. An error ends
/// the walk.
pub(super) fn first_parents(
    from: CommitId,
    first_parent: impl Fn(CommitId) -> Result<Option<CommitId>, HistoryError>,
) -> impl Iterator<Item = Result<CommitId, HistoryError>> {
    let mut last = Some(from);
    iter::from_fn(move || {
        let parent = first_parent(last.take()?).transpose()?;
        last = parent.as_ref().ok().copied();
        Some(parent)
    })
}

/// History as one query sees it. The list of cut commits is read once.
pub(super) struct History<'a> {
    objects: &'a Objects,
    repository: &'a Path,
    cuts: HashSet<CommitId>,
}

impl<'a> History<'a> {
    /// Opens the history of `repository`, a common git directory.
    pub(super) fn open(objects: &'a Objects, repository: &'a Path) -> Result<History<'a>, HistoryError> {
        Ok(History { objects, repository, cuts: read_cuts(repository)? })
    }

    pub(super) fn parents(&self, commit: CommitId) -> Result<Parents, HistoryError> {
        if self.cuts.contains(&commit) {
            self.objects.commit(commit)?;
            return Ok(Parents { present: Vec::new(), cut: true });
        }
        Ok(Parents { present: self.objects.commit(commit)?.parents, cut: false })
    }

    pub(super) fn first_parent(&self, commit: CommitId) -> Result<Option<CommitId>, HistoryError> {
        let parents = self.parents(commit)?;
        if parents.cut {
            return Err(HistoryError::Cut { repository: self.repository.to_owned(), commit });
        }
        Ok(parents.first())
    }

    pub(super) fn chain(
        &self,
        stop: impl Fn(CommitId) -> bool,
        new: CommitId,
        limit: usize,
    ) -> Result<Chain, HistoryError> {
        let mut commits = Vec::new();
        let mut walk = iter::once(Ok(new)).chain(first_parents(new, |commit| self.first_parent(commit)));
        let end = loop {
            match walk.next() {
                None => break ChainEnd::Root,
                Some(Err(HistoryError::Cut { .. })) => break ChainEnd::Cut,
                Some(Err(error)) => return Err(error),
                Some(Ok(commit)) if stop(commit) => break ChainEnd::Reached(commit),
                Some(Ok(commit)) if commits.len() == limit => break ChainEnd::Limit(commit),
                Some(Ok(commit)) => commits.push(commit),
            }
        };
        commits.reverse();
        Ok(Chain { commits, end })
    }

    /// Returns the first-parent chain to `new`, without its commits that are also ancestors of one of `others`.
    pub(super) fn chain_excluding(&self, new: CommitId, others: &[CommitId]) -> Result<Chain, HistoryError> {
        let present = self.present(others);
        if present.is_empty() {
            return self.chain(|_| false, new, usize::MAX);
        }
        let painted = self.paint(&present, &[new], LEFT)?;
        let is_shared = |commit| painted.marks.get(&commit).is_none_or(|mark| mark.0 & LEFT != 0);
        let mut chain = self.chain(is_shared, new, usize::MAX)?;
        // If clocks were wrong, the walk may have missed that old commits are shared.
        let (mut shared, mut apart) = (0, chain.commits.len());
        let mut middle = 0; // The oldest is tried first: it nearly always settles the question.
        while shared < apart {
            if self.is_reachable(chain.commits[middle], &present, LEFT | RIGHT)? {
                shared = middle + 1;
            } else {
                apart = middle;
            }
            middle = usize::midpoint(shared, apart);
        }
        if let Some(newest) = chain.commits.drain(..shared).next_back() {
            chain.end = ChainEnd::Reached(newest);
        }
        Ok(chain)
    }

    /// Returns the `commits` that can be read.
    pub(super) fn present(&self, commits: &[CommitId]) -> Vec<CommitId> {
        commits.iter().copied().filter(|commit| self.objects.commit(*commit).is_ok()).collect()
    }

    /// Returns true if `old` is one of `tips` or an ancestor of one.
    pub(super) fn is_ancestor_of_any(&self, old: CommitId, tips: &[CommitId]) -> Result<bool, HistoryError> {
        self.is_reachable(old, tips, LEFT)
    }

    fn is_reachable(&self, old: CommitId, tips: &[CommitId], gaps: u8) -> Result<bool, HistoryError> {
        Ok(self.paint(&[old], tips, gaps)?.marks.get(&old).is_some_and(|mark| mark.0 & RIGHT != 0))
    }

    /// Returns the best common ancestor of a commit and any of `others`: the most recent if several are equally good.
    pub(super) fn merge_base(&self, a: CommitId, others: &[CommitId]) -> Result<Option<CommitId>, HistoryError> {
        Ok(self.merge_bases(a, others, 1)?.first().copied())
    }

    /// Returns the best common ancestors of a commit and any of `others`, the most recent first, up to `most` of
    /// them.
    pub(super) fn merge_bases(
        &self,
        a: CommitId,
        others: &[CommitId],
        most: usize,
    ) -> Result<Vec<CommitId>, HistoryError> {
        let painted = self.paint(&[a], others, 0)?;
        let stale = |commit: &CommitId| painted.marks.get(commit).is_some_and(|mark| mark.0 & STALE != 0);
        let bases: Vec<CommitId> = painted.common.iter().filter(|commit| !stale(commit)).copied().collect();
        let mut best = Vec::new();
        for (at, base) in bases.iter().enumerate() {
            if best.len() == most {
                break;
            }
            let mut others = bases.iter().enumerate().filter(|(other, _)| *other != at);
            if !others.try_fold(false, |seen, (_, other)| {
                Ok::<_, HistoryError>(seen || self.is_ancestor_of_any(*base, &[*other])?)
            })? {
                best.push(*base);
            }
        }
        match painted.cut.filter(|_| best.is_empty()) {
            Some(commit) => Err(HistoryError::Cut { repository: self.repository.to_owned(), commit }),
            None => Ok(best),
        }
    }

    /// Marks the ancestors of `left` and of `right`, newest first, until only common ancestors are pending. Commits
    /// that only the sides in `gaps` lead to may be missing: git collects the old commits of a rewritten branch
    /// before the recent ones.
    fn paint(&self, left: &[CommitId], right: &[CommitId], gaps: u8) -> Result<Painted, HistoryError> {
        let mut painted = Painted { gaps, ..Painted::default() };
        for tip in left {
            painted.add(self, *tip, Mark(LEFT))?;
        }
        for tip in right {
            painted.add(self, *tip, Mark(RIGHT))?;
        }
        while painted.fresh > 0 {
            let Some((_, commit)) = painted.pending.pop() else { break };
            let mark = painted.take(commit);
            let mut pass = mark.0 & (LEFT | RIGHT | STALE);
            if pass & (LEFT | RIGHT) == LEFT | RIGHT {
                if mark.0 & STALE == 0 && !painted.common.contains(&commit) {
                    painted.common.push(commit);
                }
                pass |= STALE;
            }
            let parents = self.parents(commit)?;
            if parents.cut {
                painted.cut = Some(commit);
            }
            for parent in parents.present {
                painted.add(self, parent, Mark(pass))?;
            }
        }
        Ok(painted)
    }
}

const LEFT: u8 = 1;
const RIGHT: u8 = 2;
/// An ancestor of a common ancestor, so not a better one.
const STALE: u8 = 4;
/// Queued, and not stale.
const FRESH: u8 = 8;
/// Missing.
const MISSING: u8 = 16;

#[derive(Clone, Copy)]
struct Mark(u8);

/// The state of a walk from two sides towards their common ancestors, as git's `paint_down_to_common` does it.
#[derive(Default)]
struct Painted {
    marks: HashMap<CommitId, Mark>,
    pending: BinaryHeap<(i64, CommitId)>,
    /// The number of commits marked [`FRESH`].
    fresh: usize,
    common: Vec<CommitId>,
    cut: Option<CommitId>,
    /// The sides whose commits may be missing.
    gaps: u8,
}

impl Painted {
    fn add(&mut self, history: &History<'_>, commit: CommitId, mark: Mark) -> Result<(), HistoryError> {
        let known = self.marks.entry(commit).or_insert(Mark(0));
        if known.0 & mark.0 == mark.0 {
            return Ok(());
        }
        known.0 |= mark.0;
        let may_be_gone = known.0 & (LEFT | RIGHT) & !self.gaps == 0;
        if known.0 & MISSING != 0 && may_be_gone {
            return Ok(());
        }
        let committed = match history.objects.commit(commit) {
            Ok(found) => found.committed,
            Err(ObjectError::Missing { .. }) if may_be_gone => {
                known.0 |= MISSING;
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let was_fresh = known.0 & FRESH != 0;
        let is_fresh = known.0 & STALE == 0;
        known.0 = if is_fresh { known.0 | FRESH } else { known.0 & !FRESH };
        match (was_fresh, is_fresh) {
            (false, true) => self.fresh += 1,
            (true, false) => self.fresh -= 1,
            _ => {}
        }
        self.pending.push((committed, commit));
        Ok(())
    }

    fn take(&mut self, commit: CommitId) -> Mark {
        let Some(mark) = self.marks.get_mut(&commit) else { return Mark(0) };
        if mark.0 & FRESH != 0 {
            mark.0 &= !FRESH;
            self.fresh -= 1;
        }
        *mark
    }
}

/// Reads the commits whose parents a shallow clone has left out.
fn read_cuts(repository: &Path) -> Result<HashSet<CommitId>, HistoryError> {
    let path = repository.join("shallow");
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(text.lines().filter_map(|line| CommitId::from_hex(line.trim())).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(HashSet::new()),
        Err(error) => Err(HistoryError::Shallow { path, reason: error.to_string() }),
    }
}
