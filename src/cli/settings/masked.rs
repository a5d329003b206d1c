//! Masks possible secrets in settings.

use serde_json::Value;

use crate::disclosure::is_secret_name;

/// The text in place of what is masked.
const MASK: &str = "***";

/// Returns the value of a setting with possible secrets masked: users and queries of addresses, paths of webhooks,
/// values of headers, arguments of programs, and texts under names such as `token`. The names of files with secrets
/// stay.
pub(super) fn masked(name: &str, value: Value) -> Value {
    match value {
        Value::Object(entries) if name == "headers" => {
            entries.into_iter().map(|(name, _)| (name, Value::from(MASK))).collect()
        }
        Value::Object(entries) => entries
            .into_iter()
            .map(|(name, value)| {
                let value = masked(&name, value);
                (name, value)
            })
            .collect(),
        Value::Array(words) if name == "command" => {
            words.into_iter().enumerate().map(|(at, word)| if at == 0 { word } else { Value::from(MASK) }).collect()
        }
        Value::Array(items) => items.into_iter().map(|item| masked(name, item)).collect(),
        Value::String(text) => masked_text(name, &text).into(),
        _ if is_secret_name(name) => MASK.into(),
        other => other,
    }
}

fn masked_text(name: &str, text: &str) -> String {
    if is_secret_name(name) {
        return MASK.to_owned();
    }
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host.to_owned(), |(_, host)| format!("{MASK}@{host}"));
    let plain = path.split(['?', '#']).next().unwrap_or_default();
    match path {
        "" | "/" => format!("{scheme}://{host}{path}"),
        _ if name == "webhook" => format!("{scheme}://{host}/{MASK}"),
        _ if plain.len() < path.len() => format!("{scheme}://{host}{plain}?{MASK}"),
        _ => format!("{scheme}://{host}{path}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::masked;

    #[test]
    fn secrets_are_left_out() {
        for (name, written, shown) in [
            ("sinks", json!({"s": {"webhook": "https://h/T0KEN"}}), json!({"s": {"webhook": "https://h/***"}})),
            ("sinks", json!({"s": {"webhook": "https://u:T0KEN@h"}}), json!({"s": {"webhook": "https://***@h"}})),
            ("sinks", json!({"s": {"headers": {"X": "T0KEN"}}}), json!({"s": {"headers": {"X": "***"}}})),
            ("sinks", json!({"s": {"command": ["x", "T0KEN"]}}), json!({"s": {"command": ["x", "***"]}})),
            (
                "profiles",
                json!([{"puppetdb": {"url": "https://h/a?T0KEN"}}]),
                json!([{"puppetdb": {"url": "https://h/a?***"}}]),
            ),
            ("http", json!({"token": "T0KEN", "token_file": "f"}), json!({"token": "***", "token_file": "f"})),
            ("profiles", json!(["a/b", "https://h/p"]), json!(["a/b", "https://h/p"])),
        ] {
            assert_eq!(masked(name, written), shown);
        }
    }
}
