//! Formats a looked-up value, or the failure of a lookup, for `hierad lookup` and the HTTP interface.

use super::Failure;
use crate::blind_spots::suggestions::aliases;
use crate::diagnostic::Subject;
use crate::hiera::LookupError;
use crate::puppet::json;
use crate::value::Value;

/// Returns a value as `puppet lookup --render-as json` prints it.
pub fn to_json(value: &Value) -> String {
    json::compact(&with_text_keys(value))
}

/// Replaces symbols and the keys of hashes by texts, as Ruby's `to_json` does.
fn with_text_keys(value: &Value) -> Value {
    match value {
        Value::Symbol(name) => Value::from(&**name),
        Value::Array(items) => items.iter().map(with_text_keys).collect(),
        Value::Hash(hash) => {
            let name = |key: &Value| match key {
                Value::String(text) => Value::String(text.clone()),
                key if key.secrecy().is_some() => key.clone(),
                key => Value::from(key.to_s()),
            };
            Value::hash(hash.iter().map(|(key, value)| (name(key), with_text_keys(value))).collect())
        }
        other => other.clone(),
    }
}

/// Returns the failure of a lookup of `key`, with advice if there is any.
pub fn failure(key: &str, error: &LookupError) -> Failure {
    let hint = match error.subject.as_deref() {
        Some(Subject::Function(name)) => Some(format!("declare what '{name}' finds under 'backends' in hierad.yaml")),
        Some(Subject::Alias) => Some(aliases().to_string()),
        _ => None,
    };
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("lookup of '{key}' failed: {error}{hint}").into()
}
