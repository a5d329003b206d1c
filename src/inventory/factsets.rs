//! Files of facts whose nodes are named after the files: those of `FacterDB` and onceover. Their machines all have
//! the same name, or a meaningless one.

use std::path::Path;
use std::sync::Arc;

use crate::node::{NodeProfile, trusted_names};
use crate::value::{Hash, Value};

/// The entries of trusted data that are not extensions.
const STANDARD_ENTRIES: [&str; 6] = ["authenticated", "certname", "hostname", "domain", "extensions", "external"];

/// Names a node after the file at `path`, without its extension.
pub(super) fn named_by_file(mut profile: NodeProfile, path: &str) -> NodeProfile {
    let Some(name) = Path::new(path).file_stem().and_then(|name| name.to_str()) else { return profile };
    profile.name = name.into();
    if !profile.trusted.is_empty() {
        let trusted = Arc::make_mut(&mut profile.trusted);
        move_into_extensions(trusted);
        trusted.extend(trusted_names(name).map(|(entry, value)| (Value::from(entry), value)));
    }
    profile
}

/// Moves entries next to `extensions`, where onceover accepts them, into it.
fn move_into_extensions(trusted: &mut Hash) {
    let is_standard = |key: &Value| key.as_str().is_some_and(|key| STANDARD_ENTRIES.contains(&key));
    let others: Vec<(Value, Value)> =
        trusted.iter().filter(|(key, _)| !is_standard(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
    if others.is_empty() {
        return;
    }
    let mut extensions = trusted.get("extensions").and_then(Value::as_hash).cloned().unwrap_or_default();
    extensions.extend(others);
    *trusted =
        trusted.iter().filter(|(key, _)| is_standard(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
    trusted.insert("extensions", Value::hash(extensions));
}
