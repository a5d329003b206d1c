//! The facts to fetch: all, or those with some names.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::node::Wanted;

/// The names of facts, at the top level: a fact is fetched as a whole, since an answer for a part of it would not
/// distinguish a missing part from one that is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FactNames {
    /// Facts with these names.
    Some(BTreeSet<String>),
    /// All facts.
    All(()),
}

impl Default for FactNames {
    /// No facts.
    fn default() -> FactNames {
        FactNames::Some(BTreeSet::new())
    }
}

impl FactNames {
    /// Returns the facts that are wanted, including other variables, since they may be facts.
    pub fn of(wanted: &Wanted) -> FactNames {
        match wanted.names() {
            Some(names) => FactNames::Some(names.map(str::to_owned).collect()),
            None => FactNames::All(()),
        }
    }

    /// Returns true if these include all of `others`.
    pub fn cover(&self, others: &FactNames) -> bool {
        match (self, others) {
            (FactNames::All(()), _) => true,
            (FactNames::Some(_), FactNames::All(())) => false,
            (FactNames::Some(own), FactNames::Some(others)) => others.is_subset(own),
        }
    }

    /// Returns true if the fact is among these.
    pub fn has(&self, name: &str) -> bool {
        match self {
            FactNames::All(()) => true,
            FactNames::Some(names) => names.contains(name),
        }
    }

    /// Returns these and `others`.
    #[must_use]
    pub fn with(self, others: &FactNames) -> FactNames {
        match (self, others) {
            (FactNames::Some(own), FactNames::Some(others)) => FactNames::Some(&own | others),
            _ => FactNames::All(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(names: &str) -> FactNames {
        FactNames::Some(names.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn names_cover_those_among_them() {
        let all = FactNames::All(());
        assert!(all.cover(&some("os")) && all.cover(&all) && some("").cover(&some("")));
        assert!(some("os role").cover(&some("os")) && !some("os").cover(&some("os role")) && !some("os").cover(&all));
        assert_eq!(some("os").with(&some("role")), some("os role"));
        assert_eq!(some("os").with(&all), all);
    }

    #[test]
    fn names_are_kept_as_json() {
        for (names, text) in [(some("b a"), r#"["a","b"]"#), (FactNames::All(()), "null")] {
            assert_eq!(serde_json::to_string(&names).unwrap(), text);
            assert_eq!(serde_json::from_str::<FactNames>(text).unwrap(), names);
        }
    }
}
