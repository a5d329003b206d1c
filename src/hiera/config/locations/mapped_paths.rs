//! `mapped_paths`: a variable with many values, the name for one value, and a template that makes a path of it.

use super::{Count, Finder, Form, LocationKind, Mapped};
use crate::hiera::LookupError;
use crate::hiera::config::PlacedText;
use crate::value::Value;

#[derive(Debug)]
pub(super) struct MappedPaths;

impl LocationKind for MappedPaths {
    fn keys(&self) -> &'static [(&'static str, Count)] {
        &[("mapped_paths", Count::Exactly(3))]
    }

    fn form(&self) -> Form {
        Form::Path
    }

    fn templates<'d>(&self, declared: &'d [PlacedText]) -> &'d [PlacedText] {
        declared.get(2..).unwrap_or_default()
    }

    fn mapped<'d>(&self, declared: &'d [PlacedText]) -> Option<Mapped<'d>> {
        let [variable, name, _] = declared else { return None };
        Some(Mapped { variable, name: &name.text })
    }

    fn resolve(&self, declared: &[PlacedText], finder: &mut dyn Finder) -> Result<(), LookupError> {
        let [mapped, name, template] = declared else { return Ok(()) };
        let found = finder.variable(mapped, "mapped_path[0]")?;
        let values: Vec<Value> = match &found {
            Value::Undef => Vec::new(),
            Value::String(text) if text.is_empty() => Vec::new(),
            Value::Symbol(text) if text.is_empty() => Vec::new(),
            Value::String(_) | Value::Bytes(_) => vec![found],
            Value::Array(items) => items.to_vec(),
            Value::Hash(hash) => hash.iter().map(|(k, v)| Value::array(vec![k.clone(), v.clone()])).collect(),
            other => {
                let method = if matches!(other, Value::Symbol(_)) { "map" } else { "empty?" };
                let (shown, class) = (other.inspect(), other.class_name());
                let text = format!("undefined method `{method}' for {shown}:{class}");
                return Err(LookupError::bare(text).at(mapped.place.clone()));
            }
        };
        values.into_iter().try_for_each(|value| finder.add(template, self.form(), Some((&name.text, value))))
    }
}
