//! Conditions on values.

use crate::pattern::Pattern;
use crate::report::type_name;
use crate::value::{Rich, Value};

/// A condition on a value. Each part that is given must be true.
#[derive(Debug, Clone, Default)]
pub struct ValueTest {
    /// The value must be this one.
    pub equals: Option<Value>,
    /// Its text must match one of these, if there are any.
    pub matches: Vec<Pattern>,
    /// The name of its type.
    pub type_name: Option<String>,
}

/// The value that a condition is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Seen<'a> {
    /// This one.
    Value(&'a Value),
    /// There is no value.
    Nothing,
    /// There may be any value.
    Unknown,
}

impl Seen<'_> {
    /// Returns true if the value cannot or must not be looked at.
    pub(super) fn is_hidden(self) -> bool {
        match self {
            Seen::Value(value) => is_hidden(value),
            Seen::Nothing => false,
            Seen::Unknown => true,
        }
    }
}

impl ValueTest {
    /// Returns true if a value exists and meets the condition, or `None` if that is unknown: nothing must be revealed
    /// about secrets.
    pub(super) fn is_met_by(&self, value: Seen<'_>) -> Option<bool> {
        let value = match value {
            Seen::Value(value) => value,
            Seen::Nothing => return Some(false),
            Seen::Unknown => return None,
        };
        let is_type = |wanted: &String| {
            let name = type_name(value);
            let is_so = name == wanted || (wanted == "Numeric" && matches!(name, "Integer" | "Float"));
            (is_so || !is_hidden(value)).then_some(is_so)
        };
        all([
            self.equals.as_ref().map_or(Some(true), |wanted| is_equal(wanted, value)),
            self.type_name.as_ref().map_or(Some(true), is_type),
            if self.matches.is_empty() { Some(true) } else { self.is_matched_by(value) },
        ])
    }
}

impl ValueTest {
    /// Returns true if the text of a value matches, or `None` if that is unknown: the text of a converted value (a
    /// URI, bytes, a length of time) may differ from the one in the data. The contents of a collection are tested
    /// separately.
    fn is_matched_by(&self, value: &Value) -> Option<bool> {
        let text = match value {
            Value::Array(_) | Value::Hash(_) => return Some(false),
            Value::Rich(_) | Value::Secret(_) | Value::Bytes(_) => return None,
            Value::String(text) => text.visible().to_owned(),
            scalar => scalar.to_s(),
        };
        Some(self.matches.iter().any(|pattern| pattern.matches(&text)))
    }
}

/// Returns true if a value is a stand-in for one that must not be looked at.
fn is_hidden(value: &Value) -> bool {
    match value {
        Value::Secret(_) => true,
        Value::Rich(rich) => matches!(**rich, Rich::Hidden(_) | Rich::Sensitive(_)),
        _ => false,
    }
}

/// Returns true if all answers are yes, false if any is no, and `None` otherwise.
fn all(answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut is_known = true;
    for answer in answers {
        match answer {
            Some(true) => {}
            Some(false) => return Some(false),
            None => is_known = false,
        }
    }
    is_known.then_some(true)
}

/// Returns true if a value is the `wanted` one, or `None` if it may be, judging by its visible part.
fn is_equal(wanted: &Value, value: &Value) -> Option<bool> {
    match (wanted, value) {
        (_, value) if is_hidden(value) => None,
        (Value::Array(wanted), Value::Array(items)) if wanted.len() == items.len() => {
            all(wanted.iter().zip(items.iter()).map(|(wanted, item)| is_equal(wanted, item)))
        }
        (Value::Hash(wanted), Value::Hash(entries)) if wanted.len() == entries.len() => {
            let part = |(key, value)| wanted.get_value(key).map_or(Some(false), |wanted| is_equal(wanted, value));
            all(entries.iter().map(part))
        }
        _ => Some(wanted == value),
    }
}
