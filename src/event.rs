//! A commit that has come to a branch, or new facts of its nodes: the event that goes from the scan of the references
//! through the queue and the report to the sinks.
//!
//! [`CommitEvent`] says what has happened, and [`JobName`] identifies it in a durable queue. Ids keep their types
//! until they become text in the database, in JSON and for the sinks. How events are found and stored is the daemon's
//! business.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;

use crate::git::{BranchName, CommitId};

/// A commit that has come to a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitEvent {
    /// The branch.
    pub branch: BranchName,
    /// The commit to compare with, or `None` if the commit is the first of its history.
    pub before: Option<CommitId>,
    /// The commit.
    pub after: CommitId,
    /// The way in which it came to the branch.
    pub kind: EventKind,
    /// The commit whose settings judge it: the tip of the branch before the push or, for a new branch, the tip of the
    /// checked-out branch, which in a mirror is the default branch. `None` if the settings of `before` do.
    pub judge: Option<CommitId>,
    /// Its part in the push that brought it.
    pub part: PushPart,
}

impl CommitEvent {
    /// Makes an event that is alone in its push and judged by the settings of `before`.
    pub fn new(branch: BranchName, before: Option<CommitId>, after: CommitId, kind: EventKind) -> CommitEvent {
        CommitEvent { branch, before, after, kind, judge: None, part: PushPart::Alone }
    }
}

/// The part of an event in a push. Commits that come to a branch between two scans count as one push.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PushPart {
    /// All of it: it brought one commit, or nobody wants whole pushes.
    #[default]
    Alone,
    /// One of its commits, which are followed by [`PushPart::Whole`].
    One,
    /// All of its commits at once, for receivers that do not want them one by one: this many.
    Whole(u32),
}

impl PushPart {
    /// Returns true if it is all of several commits.
    pub fn is_whole(self) -> bool {
        matches!(self, PushPart::Whole(_))
    }

    /// Returns the number for it in the database: that of the commits of a whole push, which are two or more.
    pub fn number(self) -> u32 {
        match self {
            PushPart::Alone => 0,
            PushPart::One => 1,
            PushPart::Whole(commits) => commits,
        }
    }

    /// Returns the part that a number stands for.
    pub fn from_number(number: u32) -> PushPart {
        match number {
            0 => PushPart::Alone,
            1 => PushPart::One,
            commits => PushPart::Whole(commits),
        }
    }
}

/// The way in which a commit has come to a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// On top of the branch; `before` is its first parent. A merge stands for everything that it brought in.
    New,
    /// With a new branch; `before` is its first parent.
    Created,
    /// By a merge that has the branch's former tip as a parent, but not the first; `before` is the former tip.
    Joined,
    /// Instead of the former tip, which is not part of its history (an amended commit, a rebase, a reset). `before`
    /// is the former tip, whose objects may be collected before long. A shallow fetch looks the same.
    Rewritten,
    /// By no commit: sources have reported changed facts of nodes. `before` is the commit itself.
    Facts,
    /// As the last of several commits that arrived at once and are reported together: a whole push, or the oldest of
    /// very many. `before` is the commit before all of them.
    Combined,
}

impl EventKind {
    const ALL: [EventKind; 6] = [
        EventKind::New,
        EventKind::Created,
        EventKind::Joined,
        EventKind::Rewritten,
        EventKind::Facts,
        EventKind::Combined,
    ];

    /// Returns the word for it in the database and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            EventKind::New => "new",
            EventKind::Created => "created",
            EventKind::Joined => "joined",
            EventKind::Rewritten => "rewritten",
            EventKind::Facts => "facts",
            EventKind::Combined => "combined",
        }
    }

    /// Returns the kind that a word stands for, or `None` for an unknown word.
    pub fn from_word(word: &str) -> Option<EventKind> {
        EventKind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Returns true if the commit stands for all its ancestors that were not on the branch before.
    pub fn stands_for_all(self) -> bool {
        matches!(self, EventKind::Joined | EventKind::Rewritten)
    }
}

/// The identity of an event in a durable queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobName {
    /// The id, by which receivers recognise a report that is delivered twice.
    pub id: JobId,
    /// The number: later events have larger ones.
    pub number: JobNumber,
    /// The repository.
    pub repository: RepositoryName,
}

/// An id of 32 hexadecimal digits. It is the same in each delivery of a report, and no other report that is kept has
/// it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(String);

/// The number of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct JobNumber(pub i64);

/// The name of a watched repository, given by the settings or its folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepositoryName(Arc<str>);

impl JobId {
    /// Makes an id from its digits.
    pub fn new(digits: impl Into<String>) -> JobId {
        JobId(digits.into())
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl JobNumber {
    /// The largest number.
    pub const MAX: JobNumber = JobNumber(i64::MAX);
}

impl FromStr for JobNumber {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<JobNumber, ParseIntError> {
        text.parse().map(JobNumber)
    }
}

impl RepositoryName {
    /// Makes a name from its text.
    pub fn new(name: impl Into<Arc<str>>) -> RepositoryName {
        RepositoryName(name.into())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for JobNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for RepositoryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for RepositoryName {
    fn from(name: &str) -> RepositoryName {
        RepositoryName::new(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_as_they_are_written() {
        assert!(EventKind::ALL.iter().all(|kind| EventKind::from_word(kind.as_str()) == Some(*kind)));
        assert_eq!(EventKind::from_word("other"), None);
        for part in [PushPart::Alone, PushPart::One, PushPart::Whole(200)] {
            assert_eq!(PushPart::from_number(part.number()), part);
        }
    }

    #[test]
    fn numbers_keep_their_width() {
        assert_eq!(format!("{:010}", JobNumber(7)), "0000000007");
    }
}
