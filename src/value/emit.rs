//! Values as YAML that Psych and every YAML 1.2 reader read back alike: texts that could be anything else are quoted.

use std::fmt::Write;

use super::{Hash, Value, json};

/// A document: `--- value`, in block style.
pub fn document(value: &Value) -> String {
    match value {
        Value::Hash(hash) if !hash.is_empty() && is_plain(hash) => format!("---\n{}\n", block(value, 0)),
        Value::Array(items) if !items.is_empty() => format!("---\n{}\n", block(value, 0)),
        _ => format!("--- {}\n", scalar(value)),
    }
}

/// An entry `key: value` of a map, at a depth of `depth` times two spaces, without a line end.
pub fn entry(name: &str, value: &Value, depth: usize) -> String {
    format!("{}{}:{}", "  ".repeat(depth), key(name), tail(value, depth + 1))
}

/// A text as a key.
pub fn key(text: &str) -> String {
    if is_safe(text) { text.to_owned() } else { json::string(text) }
}

/// What stands behind `key:` or `-`.
fn tail(value: &Value, depth: usize) -> String {
    match value {
        Value::Hash(hash) if !hash.is_empty() && is_plain(hash) => format!("\n{}", block(value, depth)),
        Value::Array(items) if !items.is_empty() => format!("\n{}", block(value, depth)),
        _ => format!(" {}", scalar(value)),
    }
}

fn block(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let mut out = String::new();
    let mut line = |text: &str| {
        let separator = if out.is_empty() { "" } else { "\n" };
        _ = write!(out, "{separator}{text}");
    };
    match value {
        Value::Hash(hash) => {
            for (name, value) in hash.iter() {
                line(&entry(name.as_str().unwrap_or_default(), value, depth));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| line(&format!("{indent}-{}", tail(item, depth + 1)))),
        _ => line(&format!("{indent}{}", scalar(value))),
    }
    out
}

/// Whether all keys are texts; other hashes are written in rich data form.
fn is_plain(hash: &Hash) -> bool {
    hash.keys().all(|key| key.as_str().is_some())
}

/// JSON is YAML: what is no plain text is written as JSON.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if text.secrecy().is_none() && is_safe(text) => text.as_str().to_owned(),
        other => json::compact(other),
    }
}

/// Whether a text means itself in every YAML, unquoted.
fn is_safe(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@' | '+' | ' ');
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let reserved = ["y", "n", "yes", "no", "true", "false", "on", "off", "null", "nan", "inf"];
    starts
        && !text.ends_with(' ')
        && text.chars().all(|c| word(c) || c == ':')
        && !text.ends_with(':')
        && !text.contains(": ")
        && !reserved.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::yaml;

    #[test]
    fn what_is_written_is_read_back() {
        let source =
            b"a: 'yes'\nb: [1, '1', 1.5, null, true, {x: {}}, [], [[1]]]\nc::d: \"l1\\nl2 %{x}\"\n'1': x\nz: 'a: b'\n";
        let value = yaml::parse(source).value;
        let written = document(&value);
        assert_eq!(yaml::parse(written.as_bytes()).value, value, "{written}");
    }
}
