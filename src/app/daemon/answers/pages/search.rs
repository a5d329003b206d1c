//! Finds nodes, keys and files by a text in their names, and keys by a text in their values.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Result, part, shown};
use crate::app::daemon::answers::{RequestedRevision, broken};
use crate::fleet::{Answer, Revision};
use crate::page::content::{Content, Found, FoundValue, Shown};
use crate::pipeline::Pipeline;
use crate::value::{Hash, Value};

/// The maximum number of keys whose values are looked at, and of values that are shown.
const MAX_KEYS: usize = 50;
const MAX_VALUES: usize = 100;

/// Returns what has a text.
pub(super) fn content(pipeline: &Pipeline, requested: &RequestedRevision, text: &str) -> Result<Content> {
    let revision = pipeline.cached_revision(requested.point()).map_err(broken)?;
    let keys = if text.is_empty() { Vec::new() } else { keys_with(&revision, text) };
    let effective = pipeline.effective(&revision, keys.iter().take(MAX_KEYS));
    let found = |(key, answers): (Arc<str>, Vec<Answer>)| values(pipeline, &key, &answers, text);
    let mut values: Vec<FoundValue> = effective.keys.into_iter().flat_map(found).collect();
    let has_more_values = keys.len() > MAX_KEYS || values.len() > MAX_VALUES;
    values.truncate(MAX_VALUES);
    Ok(Content::Found(Found {
        search: text.to_owned(),
        nodes: part(pipeline.fleet.iter().map(|(_, name)| name), text, None),
        keys: part(revision.keys.iter(), text, None),
        files: part(revision.data_files().iter(), text, None),
        values,
        has_more_values,
    }))
}

/// Returns the keys whose values may have a text: first those for which some data file has it, then those with anything
/// that is interpolated.
fn keys_with(revision: &Revision, text: &str) -> Vec<Arc<str>> {
    let wanted = text.to_lowercase();
    let (mut written, mut interpolated) = (BTreeSet::new(), BTreeSet::new());
    for read in revision.files_read(&|_, _| true).into_values() {
        for (root, value) in read.file.content().into_iter().flat_map(Hash::iter) {
            let Some(key) = root.as_str().and_then(|root| revision.keys.get(root)) else { continue };
            if !written.contains(key) && has(value, &wanted) {
                written.insert(key.clone());
            } else if !interpolated.contains(key) && has(value, "%{") {
                interpolated.insert(key.clone());
            }
        }
    }
    let rest = interpolated.difference(&written).cloned().collect::<Vec<_>>();
    written.into_iter().chain(rest).collect()
}

/// Returns true if a value has a text in it, in small letters.
fn has(value: &Value, text: &str) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| has(item, text)),
        Value::Hash(hash) => hash.iter().any(|(key, value)| has(key, text) || has(value, text)),
        other => other.to_s().to_lowercase().contains(text),
    }
}

/// Returns the values of a key that have a text as they are shown, with the number of nodes that have each.
fn values(pipeline: &Pipeline, key: &str, answers: &[Answer], text: &str) -> Vec<FoundValue> {
    let wanted = text.to_lowercase();
    let has_text = |shown: &Shown| matches!(shown, Shown::Value { line, .. } if line.to_lowercase().contains(&wanted));
    let value = |answer: &Answer| {
        let shown = answer.nodes.first().and_then(|node| shown(&answer.on(node), &pipeline.disclosure))?;
        has_text(&shown).then(|| FoundValue { key: key.to_owned(), nodes: answer.nodes.len(), shown })
    };
    answers.iter().filter_map(value).collect()
}
