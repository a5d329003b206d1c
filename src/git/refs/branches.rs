//! The tips of branches at one moment, patterns that select branches, and the changes between two moments.

use std::collections::{BTreeMap, BTreeSet};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::git::id::{BranchName, CommitId};

/// The tips of branches at one moment.
pub type Branches = BTreeMap<BranchName, CommitId>;

/// A pattern for branch names that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{pattern}' is not a valid pattern for branches: {reason}")]
pub struct PatternError {
    /// The pattern as given.
    pub pattern: String,
    /// The reason.
    pub reason: String,
}

/// A selection of branches: globs over their names, in which `*` does not match a slash and `**` does.
#[derive(Debug, Clone)]
pub struct BranchPatterns {
    globs: Option<GlobSet>,
}

impl BranchPatterns {
    /// Selects all branches.
    pub fn all() -> BranchPatterns {
        BranchPatterns { globs: None }
    }

    /// Selects the branches that match one of `patterns`, or all if there are no patterns.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<BranchPatterns, PatternError> {
        if patterns.is_empty() {
            return Ok(BranchPatterns::all());
        }
        let mut globs = GlobSetBuilder::new();
        for pattern in patterns.iter().map(AsRef::as_ref) {
            let pattern = pattern.strip_prefix("refs/heads/").unwrap_or(pattern);
            globs.add(
                GlobBuilder::new(pattern).literal_separator(true).build().map_err(|error| wrong(pattern, &error))?,
            );
        }
        let globs = globs.build().map_err(|error| wrong("", &error))?;
        Ok(BranchPatterns { globs: Some(globs) })
    }

    /// Returns true if a branch is selected.
    pub fn matches(&self, branch: &BranchName) -> bool {
        self.globs.as_ref().is_none_or(|globs| globs.is_match(branch.as_str()))
    }
}

fn wrong(pattern: &str, error: &globset::Error) -> PatternError {
    PatternError { pattern: pattern.to_owned(), reason: error.kind().to_string() }
}

/// A branch whose tip differs between two moments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefChange {
    /// The branch.
    pub branch: BranchName,
    /// Its earlier tip, or `None` if it did not exist.
    pub old: Option<CommitId>,
    /// Its later tip, or `None` if it no longer exists.
    pub new: Option<CommitId>,
}

/// Returns the branches whose tips differ, in the order of their names.
pub fn changes(old: &Branches, new: &Branches) -> Vec<RefChange> {
    let names: BTreeSet<&BranchName> = old.keys().chain(new.keys()).collect();
    let changes = names.into_iter().map(|branch| RefChange {
        branch: branch.clone(),
        old: old.get(branch).copied(),
        new: new.get(branch).copied(),
    });
    changes.filter(|change| change.old != change.new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(patterns: &[&str], branch: &str) -> bool {
        BranchPatterns::new(patterns).unwrap().matches(&BranchName::new(branch))
    }

    #[test]
    fn patterns_match_branch_names() {
        assert!(check(&[], "any/thing"));
        assert!(check(&["main"], "main"));
        assert!(!check(&["main"], "main2"));
        assert!(check(&["release/*", "refs/heads/main"], "main"));
        assert!(check(&["release/*"], "release/1"));
        assert!(!check(&["*"], "release/1"));
        assert!(check(&["**"], "release/1"));
        let error = BranchPatterns::new(&["a[b"]).unwrap_err();
        assert!(error.to_string().starts_with("'a[b' is not a valid pattern for branches: "), "{error}");
    }

    #[test]
    fn changed_tips_are_found() {
        let id = |digit: &str| CommitId::from_hex(&digit.repeat(40)).unwrap();
        let old =
            Branches::from([("a", "1"), ("b", "1"), ("c", "1")].map(|(name, tip)| (BranchName::new(name), id(tip))));
        let new =
            Branches::from([("a", "1"), ("b", "2"), ("d", "1")].map(|(name, tip)| (BranchName::new(name), id(tip))));
        let found: Vec<_> = changes(&old, &new).into_iter().map(|c| (c.branch.to_string(), c.old, c.new)).collect();
        let expected = [("b", Some("1"), Some("2")), ("c", Some("1"), None), ("d", None, Some("1"))]
            .map(|(name, old, new)| (name.to_owned(), old.map(id), new.map(id)));
        assert_eq!(found, expected);
    }
}
