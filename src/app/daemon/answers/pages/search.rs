//! Finds nodes, keys and files by a text in their names, and keys by a text in their values.

use std::collections::BTreeSet;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use super::{Result, part, shown, similar};
use crate::app::daemon::answers::{EffectiveValues, RequestedRevision, broken};
use crate::fleet::{Answer, Revision};
use crate::page::content::{Content, Found, FoundValue, Shown};
use crate::pipeline::Pipeline;
use crate::puppet::json::compact;
use crate::value::{Hash, Value};

/// The maximum number of keys whose values are looked at, and of values that are shown.
const MAX_KEYS: usize = 50;
const MAX_VALUES: usize = 100;

/// The maximum number of nodes times keys: a value may be another one on each node.
const MAX_ON_NODES: usize = 1_000_000;

/// The maximum number of former keys.
const MAX_FORMER: usize = 20;

/// The maximum number of values in files that are looked at.
const MAX_LOOKED_AT: usize = 5_000_000;

impl EffectiveValues {
    /// Returns what has a text.
    pub(super) fn found(&self, pipeline: &Pipeline, requested: &RequestedRevision, text: &str) -> Result<Content> {
        let found = content(pipeline, requested, text)?;
        let is_unknown = !text.is_empty() && found.keys.found == 0;
        let former = || self.former_keys(pipeline, requested, &text.to_lowercase(), MAX_FORMER);
        let former = if is_unknown { former()? } else { Vec::new() };
        Ok(Content::Found(Box::new(Found { former, ..found })))
    }
}

/// Returns what has a text, without former keys.
fn content(pipeline: &Pipeline, requested: &RequestedRevision, text: &str) -> Result<Found> {
    let revision = pipeline.cached_revision(requested.point()).map_err(broken)?;
    let mut search = Search { left: MAX_LOOKED_AT };
    let wanted = RegexBuilder::new(&regex::escape(text)).case_insensitive(true).build().map_err(broken)?;
    let keys = if text.is_empty() { Vec::new() } else { search.keys(&revision, &wanted) };
    let most = MAX_KEYS.min(MAX_ON_NODES / pipeline.fleet.len().max(1)).max(1);
    let effective = pipeline.effective(&revision, keys.iter().take(most));
    let found = |(key, answers): (Arc<str>, Vec<Answer>)| values(pipeline, &key, &answers, &wanted);
    let mut values: Vec<FoundValue> = effective.keys.into_iter().flat_map(found).collect();
    let has_more_values = keys.len() > most || values.len() > MAX_VALUES || search.left == 0;
    values.truncate(MAX_VALUES);
    let (nodes, files) = (pipeline.fleet.iter().map(|(_, name)| name), revision.data_files());
    let mut found = Found {
        search: text.to_owned(),
        nodes: part(nodes.clone(), text, None),
        keys: part(revision.keys.iter(), text, None),
        files: part(files.iter(), text, None),
        values,
        has_more_values,
        former: Vec::new(),
    };
    if found.is_empty() && !text.is_empty() {
        found.nodes.near = similar(nodes, text);
        found.keys.near = similar(revision.keys.iter(), text);
        found.files.near = similar(files.iter(), text);
    }
    Ok(found)
}

/// A search through what is written in data files.
struct Search {
    /// The number of values that may still be looked at: aliases make many of a short file.
    left: usize,
}

impl Search {
    /// Returns the keys whose values may have a text: first those for which some data file has it, then those with
    /// anything that is interpolated.
    fn keys(&mut self, revision: &Revision, wanted: &Regex) -> Vec<Arc<str>> {
        let is_wanted = |text: &str| wanted.is_match(text);
        let is_interpolated = |text: &str| text.contains("%{");
        let (mut written, mut interpolated) = (BTreeSet::new(), BTreeSet::new());
        for file in revision.distinct_files() {
            for (root, value) in file.content().into_iter().flat_map(Hash::iter) {
                let Some(key) = root.as_str().and_then(|root| revision.keys.get(root)) else { continue };
                if !written.contains(key) && self.has(value, &is_wanted) {
                    written.insert(key.clone());
                } else if !interpolated.contains(key) && self.has(value, &is_interpolated) {
                    interpolated.insert(key.clone());
                }
            }
        }
        let rest: Vec<Arc<str>> = interpolated.difference(&written).cloned().collect();
        written.into_iter().chain(rest).collect()
    }

    /// Returns true if a value has a text in it.
    fn has(&mut self, value: &Value, has_text: &dyn Fn(&str) -> bool) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        match value {
            Value::Array(items) => items.iter().any(|item| self.has(item, has_text)),
            Value::Hash(hash) => hash.iter().any(|(key, value)| self.has(key, has_text) || self.has(value, has_text)),
            Value::String(written) => has_text(written),
            other => has_text(&compact(other)),
        }
    }
}

/// Returns the values of a key that have a text as they are shown, with the number of nodes that have each.
fn values(pipeline: &Pipeline, key: &str, answers: &[Answer], wanted: &Regex) -> Vec<FoundValue> {
    let has_text = |shown: &Shown| matches!(shown, Shown::Value { line, .. } if wanted.is_match(line));
    let value = |answer: &Answer| {
        let shown = answer.nodes.first().and_then(|node| shown(&answer.on(node), &pipeline.disclosure))?;
        has_text(&shown).then(|| FoundValue { key: key.to_owned(), nodes: answer.nodes.len(), shown })
    };
    answers.iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_many_aliases_are_looked_at_in_part() {
        let twice = |value: Value, _| [value.clone(), value].into_iter().collect();
        let mut search = Search { left: 10_000 };
        assert!(!search.has(&(0..60).fold(Value::from("x"), twice), &|text| text == "y"));
        assert_eq!(search.left, 0);
    }
}
