//! The commits of a history, newest first.

use std::iter::{self, Peekable};

use regex::Regex;

use crate::git::{CommitId, CommitInfo, HistoryError, Repository};

/// The commits that somebody asks about: those from a tip along first parents that meet all conditions.
#[derive(Debug, Clone)]
pub struct Span {
    /// The last commit.
    pub tip: CommitId,
    /// A commit that, with all its ancestors, is left out.
    pub without: Option<CommitId>,
    /// The earliest and the latest time of the commit, by the committer's clock: seconds since 1970.
    pub since: Option<i64>,
    /// The latest one.
    pub until: Option<i64>,
    /// Matches the author, `Name <address>`.
    pub author: Option<Regex>,
}

/// A commit and the one that it is compared with.
#[derive(Debug, Clone)]
pub struct Step {
    /// The commit.
    pub commit: CommitInfo,
    /// Its first parent, or `None` if it has none.
    pub before: Option<CommitId>,
}

/// Walks through the commits of a span.
pub struct Commits<'r> {
    repository: &'r Repository,
    span: Span,
    /// The commits to come, each followed by its first parent.
    chain: Peekable<Box<dyn Iterator<Item = Result<CommitId, HistoryError>> + 'r>>,
    /// The oldest commit, if the span leaves commits out.
    last: Option<CommitId>,
    /// True once the walk has met a commit whose parents a shallow clone lacks.
    pub is_cut: bool,
}

impl Span {
    /// Returns all commits up to `tip`.
    pub fn up_to(tip: CommitId) -> Span {
        Span { tip, without: None, since: None, until: None, author: None }
    }

    /// Returns the span with the last commit that is not too late as its tip.
    pub fn ended(self, repository: &Repository) -> Result<Span, HistoryError> {
        if self.until.is_none() {
            return Ok(self);
        }
        let mut commits = Span { since: None, ..self.clone() }.commits(repository)?;
        let last = commits.next().transpose()?;
        Ok(Span { tip: last.map_or(self.tip, |last| last.commit.id), ..self })
    }

    /// Begins a walk.
    pub fn commits(self, repository: &Repository) -> Result<Commits<'_>, HistoryError> {
        let mut chain: Box<dyn Iterator<Item = _>> =
            Box::new(iter::once(Ok(self.tip)).chain(repository.first_parents(self.tip)));
        let mut last = None;
        if let Some(without) = self.without {
            last = repository.chain_excluding(self.tip, &[without])?.commits.first().copied();
            if last.is_none() {
                chain = Box::new(iter::empty());
            }
        }
        Ok(Commits { repository, span: self, chain: chain.peekable(), last, is_cut: false })
    }

    fn has(&self, commit: &CommitInfo) -> bool {
        self.since.is_none_or(|since| commit.committed >= since)
            && self.until.is_none_or(|until| commit.committed <= until)
            && self.author.as_ref().is_none_or(|author| author.is_match(&commit.author))
    }
}

impl Commits<'_> {
    /// Returns the next commit, whether or not the span has it, or `None` at the end.
    fn step(&mut self) -> Result<Option<Step>, HistoryError> {
        let Some(id) = self.chain.next().transpose()? else { return Ok(None) };
        let before = match self.chain.peek() {
            Some(Err(HistoryError::Cut { .. })) => {
                // What the commit changes is unknown.
                self.is_cut = true;
                self.chain.next();
                return Ok(None);
            }
            Some(Ok(before)) => Some(*before),
            Some(Err(error)) => return Err(error.clone()),
            None => None,
        };
        if self.last == Some(id) {
            self.chain = (Box::new(iter::empty()) as Box<dyn Iterator<Item = _>>).peekable();
        }
        Ok(Some(Step { commit: self.repository.commit(id)?, before }))
    }
}

impl Iterator for Commits<'_> {
    type Item = Result<Step, HistoryError>;

    fn next(&mut self) -> Option<Result<Step, HistoryError>> {
        loop {
            match self.step().transpose()? {
                Ok(step) if !self.span.has(&step.commit) => {}
                step => return Some(step),
            }
        }
    }
}
