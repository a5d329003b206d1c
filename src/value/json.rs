//! JSON: data files read as Ruby's `json` reads them, and values written canonically.

use super::yaml::Parsed;

/// Reads a JSON document.
pub fn parse(_content: &[u8]) -> Parsed {
    Parsed::default()
}

/// A text as a JSON string.
pub fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A value on one line.
pub fn compact(_value: &super::Value) -> String {
    String::new()
}

/// A value over several lines, each but the first indented by `depth` times two spaces.
pub fn pretty(_value: &super::Value, _depth: usize) -> String {
    String::new()
}
