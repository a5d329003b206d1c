//! Conditions on values.

use crate::pattern::Pattern;
use crate::report::type_name;
use crate::value::Value;

/// A condition on a value. Each part that is given must be true.
#[derive(Debug, Clone, Default)]
pub struct ValueTest {
    /// The value must be this one.
    pub equals: Option<Value>,
    /// Its text must match one of these; all do if there are none.
    pub matches: Vec<Pattern>,
    /// The name of its type.
    pub type_name: Option<String>,
}

impl ValueTest {
    /// Returns true if a value is there and meets the condition.
    pub(super) fn is_met_by(&self, value: Option<&Value>) -> bool {
        let Some(value) = value else { return false };
        let is_type = |wanted: &String| {
            let name = type_name(value);
            name == wanted || (wanted == "Numeric" && matches!(name, "Integer" | "Float"))
        };
        self.equals.as_ref().is_none_or(|wanted| wanted == value)
            && self.type_name.as_ref().is_none_or(is_type)
            && (self.matches.is_empty()
                || text(value).is_some_and(|text| self.matches.iter().any(|pattern| pattern.matches(&text))))
    }
}

/// Returns the text of a scalar. Collections have none, and nothing is to be learnt of a secret.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Array(_) | Value::Hash(_) | Value::Rich(_) | Value::Secret(_) | Value::Bytes(_) => None,
        Value::String(text) => Some(text.visible().to_owned()),
        scalar => Some(scalar.to_s()),
    }
}
