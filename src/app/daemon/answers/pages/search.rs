//! Finds nodes, keys and files by a text in their names, and keys by a text in their values.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Result, part, shown};
use crate::app::daemon::answers::{RequestedRevision, broken};
use crate::fleet::{Answer, Revision};
use crate::page::content::{Content, Found, FoundValue, Shown};
use crate::pipeline::Pipeline;
use crate::value::{Hash, Value};

/// The length in bytes of a text from which on values are searched for it: shorter ones are everywhere.
const MIN_TEXT: usize = 3;

/// The maximum number of keys whose values are looked at.
const MAX_KEYS: usize = 50;

/// Returns what has a text.
pub(super) fn content(pipeline: &Pipeline, requested: &RequestedRevision, text: &str) -> Result<Content> {
    let revision = pipeline.cached_revision(requested.point()).map_err(broken)?;
    let keys = if text.len() < MIN_TEXT { Vec::new() } else { keys_with(&revision, text) };
    let effective = pipeline.effective(&revision, keys.iter().take(MAX_KEYS));
    let found = |(key, answers): (Arc<str>, Vec<Answer>)| value(pipeline, &key, &answers, text);
    Ok(Content::Found(Found {
        search: text.to_owned(),
        nodes: part(pipeline.fleet.iter().map(|(_, name)| name), text, None),
        keys: part(revision.keys.iter(), text, None),
        files: part(revision.data_files().iter(), text, None),
        values: effective.keys.into_iter().filter_map(found).collect(),
        has_more_values: keys.len() > MAX_KEYS,
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

/// Returns a value of a key that has a text as it is shown, and the number of nodes with such values.
fn value(pipeline: &Pipeline, key: &str, answers: &[Answer], text: &str) -> Option<FoundValue> {
    let wanted = text.to_lowercase();
    let has_text = |shown: &Shown| matches!(shown, Shown::Value { line, .. } if line.to_lowercase().contains(&wanted));
    let mut nodes = 0;
    let mut first = None;
    for answer in answers {
        let shown = answer.nodes.first().and_then(|node| shown(&answer.on(node), &pipeline.disclosure));
        if let Some(shown) = shown.filter(has_text) {
            nodes += answer.nodes.len();
            first.get_or_insert(shown);
        }
    }
    Some(FoundValue { key: key.to_owned(), nodes, shown: first? })
}
