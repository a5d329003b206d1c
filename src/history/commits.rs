//! The commits of a history, newest first.

use std::iter::{self, Peekable};

use regex::Regex;

use crate::git::{CommitId, CommitInfo, HistoryError, Repository};

/// The commits that somebody asks about: those from a tip along first parents, between two times. They are without
/// gaps, unless an author is named.
#[derive(Debug, Clone)]
pub struct Span {
    /// The last commit.
    pub tip: CommitId,
    /// A commit that, with all its ancestors, is left out.
    pub without: Option<CommitId>,
    /// The time, in seconds since 1970 by the committer's clock, before which the first commit ends the walk.
    pub since: Option<i64>,
    /// The latest time of the commit that the walk begins with.
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
    /// True once a commit was not too late.
    has_begun: bool,
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
        Ok(Commits { repository, span: self, chain: chain.peekable(), last, has_begun: false, is_cut: false })
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
            self.end();
        }
        Ok(Some(Step { commit: self.repository.commit(id)?, before }))
    }

    /// Ends the walk.
    fn end(&mut self) {
        self.chain = (Box::new(iter::empty()) as Box<dyn Iterator<Item = _>>).peekable();
    }
}

impl Iterator for Commits<'_> {
    type Item = Result<Step, HistoryError>;

    fn next(&mut self) -> Option<Result<Step, HistoryError>> {
        loop {
            let step = match self.step().transpose()? {
                Ok(step) => step,
                failed => return Some(failed),
            };
            let CommitInfo { committed, author, .. } = &step.commit;
            self.has_begun |= self.span.until.is_none_or(|until| *committed <= until);
            if self.span.since.is_some_and(|since| *committed < since) {
                self.end();
                return None;
            }
            if self.has_begun && self.span.author.as_ref().is_none_or(|wanted| wanted.is_match(author)) {
                return Some(Ok(step));
            }
        }
    }
}
