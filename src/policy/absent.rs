//! Patterns that match nothing: they may be misspelled, or meant for future data.

use std::sync::Arc;

use super::names::Names;
use super::{Policies, Subject};
use crate::pattern::{Pattern, nearest};

/// A pattern of a rule that matches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsentPattern {
    /// The name of the rule.
    pub policy: Arc<str>,
    /// The setting that has it: `keys` or `nodes`.
    pub setting: &'static str,
    /// The pattern.
    pub pattern: String,
    /// A name that is similar.
    pub near: Option<String>,
}

impl Policies {
    /// Returns the patterns for keys and nodes that match none of these names. A pattern that may name a place in the
    /// value of a key counts as matching.
    pub fn absent(&self, keys: &[&str], nodes: &[&str]) -> Vec<AbsentPattern> {
        let (mut found, mut left) = (Vec::new(), MAX_NEAR);
        for rule in &self.rules {
            let Subject::Changes(changes) = &rule.subject else { continue };
            let has_key =
                |pattern: &&Pattern| keys.iter().any(|key| !Names::of(std::slice::from_ref(*pattern), key).are_none());
            let has_node = |pattern: &&Pattern| nodes.iter().any(|node| pattern.matches(node));
            let mut absent = |setting, pattern: &Pattern, names: &[&str]| AbsentPattern {
                policy: rule.name.clone(),
                setting,
                pattern: pattern.as_str().to_owned(),
                near: near(pattern, names, &mut left),
            };
            let of_keys = changes.keys.iter().filter(|pattern| !has_key(pattern));
            found.extend(of_keys.map(|pattern| absent("keys", pattern, keys)));
            let of_nodes = changes.nodes.iter().filter(|pattern| !has_node(pattern));
            found.extend(of_nodes.map(|pattern| absent("nodes", pattern, nodes)));
        }
        found
    }
}

/// The maximum number of patterns for which similar names are sought: each is compared with all names.
const MAX_NEAR: usize = 20;

/// Returns a name that is similar to a pattern, if there are patterns `left` to look for.
fn near(pattern: &Pattern, names: &[&str], left: &mut usize) -> Option<String> {
    *left = left.checked_sub(1)?;
    nearest(pattern.as_str(), names.iter().copied(), 1).first().map(|near| (*near).to_owned())
}
