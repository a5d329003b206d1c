//! The rules and waivers of checked settings.

use std::sync::Arc;

use super::{Day, ValueTest};
use crate::diff::Diff;
use crate::pattern::Pattern;
use crate::report::{LineReason, PolicyLevel};

/// A rule on the effect of a change.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The name, which waivers and people refer to.
    pub name: Arc<str>,
    /// The weight of a hit.
    pub level: PolicyLevel,
    /// The sentence that tells people what to do.
    pub message: Arc<str>,
    /// The people who must look at it.
    pub reviewers: Arc<[String]>,
    /// The subject of the rule.
    pub subject: Subject,
}

/// The subject of a rule.
#[derive(Debug, Clone)]
pub enum Subject {
    /// Effective values that change.
    Changes(Box<ChangeRule>),
    /// Changed lines by their effect.
    Lines(FileRule<LineKind>),
    /// Blind spots by their code; all if no code is named.
    BlindSpots(FileRule<String>),
}

/// A rule on effective values that change. Each condition that is given must be true of a change.
#[derive(Debug, Clone, Default)]
pub struct ChangeRule {
    /// Names of keys and of places in their values; all if empty.
    pub keys: Vec<Pattern>,
    /// Names of nodes; all if empty.
    pub nodes: Vec<Pattern>,
    /// Kinds of change, of which one is enough; all if empty.
    pub kinds: Vec<Kind>,
    /// Conditions on the values.
    pub values: Diff<Option<ValueTest>>,
    /// The numbers that must be exceeded.
    pub more_than: Thresholds,
}

/// A rule on things that have files.
#[derive(Debug, Clone)]
pub struct FileRule<T> {
    /// The kinds that are meant.
    pub kinds: Vec<T>,
    /// Paths of files; all if empty.
    pub files: Vec<Pattern>,
}

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A key that was not found has a value now.
    Added,
    /// A key is not found any more.
    Removed,
    /// A key has another value.
    Changed,
    /// Something has the same parts in another order.
    Reordered,
    /// A part of a value is added.
    EntryAdded,
    /// A part of a value is removed.
    EntryRemoved,
    /// A value has another type.
    Type,
    /// A key fails now, or fails in another way.
    Error,
    /// A value has become unknown.
    Unknown,
    /// A key no longer fails.
    Recovered,
    /// A secret changes, or a value becomes a secret or is no longer one.
    Secret,
    /// A secret is in plaintext.
    ClearSecret,
}

impl Kind {
    /// All kinds with their names.
    pub const ALL: [(Kind, &'static str); 12] = [
        (Kind::Added, "added"),
        (Kind::Removed, "removed"),
        (Kind::Changed, "changed"),
        (Kind::Reordered, "reordered"),
        (Kind::EntryAdded, "entry-added"),
        (Kind::EntryRemoved, "entry-removed"),
        (Kind::Type, "type"),
        (Kind::Error, "error"),
        (Kind::Unknown, "unknown"),
        (Kind::Recovered, "recovered"),
        (Kind::Secret, "secret"),
        (Kind::ClearSecret, "clear-secret"),
    ];
}

/// A kind of changed lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Lines that change nothing, other than those that are only written differently.
    NoEffect,
    /// Lines that have no effect, or an unknown one, for this reason, as given in reports.
    Reason(LineReason),
}

impl LineKind {
    /// Returns all kinds with their names.
    pub fn all() -> Vec<(LineKind, &'static str)> {
        let reasons = LineReason::ALL.iter().map(|(reason, _, name)| (LineKind::Reason(*reason), *name));
        [(LineKind::NoEffect, "no-effect")].into_iter().chain(reasons).collect()
    }
}

/// Numbers that a hit must exceed; `None` for no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Thresholds {
    /// Nodes; a share is of those that the rule is about.
    pub nodes: Option<Amount>,
    /// Keys; a share is of those that existed before, so that added keys do not reduce it.
    pub keys: Option<Amount>,
    /// Groups of the report.
    pub groups: Option<usize>,
}

/// A number or a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// This many.
    Count(usize),
    /// This percentage.
    Percent(f64),
}

impl Amount {
    /// Returns true if `count` of `all` exceeds this.
    pub fn is_less_than(self, count: usize, all: usize) -> bool {
        match self {
            Amount::Count(limit) => count > limit,
            #[expect(clippy::cast_precision_loss, reason = "no fleet has 2^52 nodes")]
            Amount::Percent(limit) => count as f64 * 100.0 > limit * all as f64,
        }
    }
}

/// A waiver: somebody accepts a known hit until a given day.
#[derive(Debug, Clone)]
pub struct Waiver {
    /// The name of the rule.
    pub policy: Arc<str>,
    /// Names of keys and of places in their values; all if empty.
    pub keys: Vec<Pattern>,
    /// Names of nodes; all if empty.
    pub nodes: Vec<Pattern>,
    /// Paths of files; all if empty.
    pub files: Vec<Pattern>,
    /// The reason.
    pub reason: Arc<str>,
    /// The last day on which it is valid.
    pub expires: Day,
}
