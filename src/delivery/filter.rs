//! What a sink wants to hear of.

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::git::{BranchName, BranchPatterns};
use crate::report::{KeyChange, Report};

/// Which reports a sink gets: those of these branches, with at least so many changes of such keys on such nodes.
#[derive(Debug, Clone)]
pub struct Filter {
    /// The branches.
    pub branches: BranchPatterns,
    /// Names of nodes; a change counts if one of its nodes is meant.
    pub nodes: Patterns,
    /// Keys.
    pub keys: Patterns,
    /// How many changes there must be: a change is what happens to one key on nodes that have the same before and after it.
    pub minimum: usize,
}

/// A pattern for nodes or keys is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{pattern}' is no pattern: {reason}")]
pub struct PatternError {
    /// As it was given.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Globs, one of which has to match; everything does if there are none.
#[derive(Debug, Clone, Default)]
pub struct Patterns(Option<GlobSet>);

impl Patterns {
    /// What matches one of `patterns`.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Patterns, PatternError> {
        if patterns.is_empty() {
            return Ok(Patterns(None));
        }
        let mut globs = GlobSetBuilder::new();
        let wrong = |pattern: &str, error: &globset::Error| PatternError {
            pattern: pattern.to_owned(),
            reason: error.kind().to_string(),
        };
        for pattern in patterns.iter().map(AsRef::as_ref) {
            globs.add(Glob::new(pattern).map_err(|error| wrong(pattern, &error))?);
        }
        Ok(Patterns(Some(globs.build().map_err(|error| wrong("", &error))?)))
    }

    fn matches(&self, text: &str) -> bool {
        self.0.as_ref().is_none_or(|globs| globs.is_match(text))
    }
}

impl Default for Filter {
    fn default() -> Filter {
        let (nodes, keys) = (Patterns::default(), Patterns::default());
        Filter { branches: BranchPatterns::all(), nodes, keys, minimum: 0 }
    }
}

impl Filter {
    /// Whether the report of a commit that has come to `branch` is wanted.
    pub fn wants(&self, branch: &BranchName, report: &Report) -> bool {
        self.branches.matches(branch) && self.has_enough(report)
    }

    fn has_enough(&self, report: &Report) -> bool {
        let is_narrow = self.nodes.0.is_some() || self.keys.0.is_some();
        let least = if is_narrow { self.minimum.max(1) } else { self.minimum };
        report.changes.iter().filter(|change| self.counts(change, report)).take(least).count() == least
    }

    fn counts(&self, change: &KeyChange, report: &Report) -> bool {
        let is_on_node = || report.names.of(&change.nodes).any(|node| self.nodes.matches(node));
        self.keys.matches(&change.key) && (self.nodes.0.is_none() || is_on_node())
    }
}
