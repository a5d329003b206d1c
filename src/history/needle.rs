//! Finds changes by the texts of their values, as `git log -S` and `-G` find commits by their lines.

use std::sync::Arc;

use regex::Regex;

use crate::diff::{Change, Diff, LeafChange};
use crate::disclosure::Disclosure;
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::value::Value;

/// A text that values are searched for.
#[derive(Debug, Clone)]
pub enum Needle {
    /// A text that comes or goes: that occurs more often on one side.
    Text(String),
    /// A pattern that matches something that differs.
    Pattern(Regex),
}

impl Needle {
    /// Returns true if a change, on any of its nodes, is one that is searched for. Only those parts of secrets count
    /// that `disclosure` allows.
    pub fn is_in(&self, change: &Change, disclosure: &Disclosure) -> bool {
        let Some(variants) = &change.variants else { return self.is_in_one(change, disclosure) };
        let each = variants.classes(&change.nodes, usize::MAX).into_iter();
        each.map(|nodes: NodeSet| change.on(nodes)).any(|change| self.is_in_one(&change, disclosure))
    }

    fn is_in_one<'c>(&self, change: &'c Change, disclosure: &Disclosure) -> bool {
        let whole = change.outcome.as_ref().map(|outcome| match outcome.as_deref() {
            Some(Outcome::Found(value)) => Some(value),
            _ => None,
        });
        match self {
            Needle::Text(text) => {
                let count = whole.map(|value| occurrences(text, value, disclosure));
                count.before != count.after
            }
            Needle::Pattern(pattern) => {
                let of_leaf = |leaf: &'c Arc<LeafChange>| leaf.part.as_ref().map(|part| Some(&part.as_ref()?.value));
                let leaves: Vec<Diff<Option<&Value>>> = change.leaves.iter().map(of_leaf).collect();
                let all = if leaves.is_empty() { vec![whole] } else { leaves };
                let matches = |value: &Value| is_any_text(&disclosure.value(value), &mut |text| pattern.is_match(text));
                // In a file, the names of entries are on the lines that differ.
                let mut places = change.leaves.iter().filter_map(|leaf| leaf.path());
                all.iter().flat_map(|part| [part.before, part.after]).flatten().any(matches)
                    || places.any(|path| pattern.is_match(&disclosure.path(path).below(&change.key)))
            }
        }
    }
}

/// Returns how often `wanted` occurs in the texts of a value.
fn occurrences(wanted: &str, value: Option<&Value>, disclosure: &Disclosure) -> usize {
    let mut count = 0;
    if let Some(value) = value {
        is_any_text(&disclosure.value(value), &mut |text| {
            count += text.matches(wanted).count();
            false
        });
    }
    count
}

/// Returns true if `is_one` is true of one of the scalars in a value, as text. The keys of hashes count, too.
fn is_any_text(value: &Value, is_one: &mut dyn FnMut(&str) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| is_any_text(item, is_one)),
        Value::Hash(hash) => hash.iter().any(|(key, value)| is_any_text(key, is_one) || is_any_text(value, is_one)),
        Value::String(text) => is_one(text.visible()),
        scalar => is_one(&scalar.to_s()),
    }
}
