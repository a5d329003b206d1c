//! The entries of a struct.
//!
//! Source: `struct` in `pops/types/type_factory.rb`, `PStructElement` in `types.rb`.

use crate::puppet::Error;
use crate::value::rich::types::{Element, Texts};
use crate::value::{Text, Type, Value};

/// Returns the entry of a key, which may declare itself optional. Fails if Puppet does not accept the key.
pub(super) fn element(key: &Value, value: Type) -> Result<Element, Error> {
    let text = |text: &Text| Type::String(Texts::Value(text.clone()));
    let key = match key {
        Value::String(name) if name.is_empty() => {
            return Err(Error::puppet("Struct element key cannot be an empty String"));
        }
        Value::String(name) if value.accepts_undef() => Type::Optional(Some(text(name).into())),
        Value::String(name) => text(name),
        other => match other.as_type() {
            Some(Type::NotUndef(Some(inner))) => (**inner).clone(),
            Some(kind @ (Type::Optional(_) | Type::String(_) | Type::Enum(..))) => kind.clone(),
            _ => {
                let text = "Illegal Struct member key type. Expected NotUndef, Optional, String, or Enum. Got: ";
                return Err(Error::puppet(format!("{text}{}", other.class_name())));
            }
        },
    };
    let name = match &key {
        Type::Optional(Some(inner)) => inner,
        Type::Enum(values, _) if values.len() == 1 => return Ok(Element { key: text(&values[0]), value }),
        other => other,
    };
    if !matches!(name, Type::String(Texts::Value(_))) {
        return Err(Error::puppet("Unable to extract a non-empty literal string from Struct member key type"));
    }
    Ok(Element { key, value })
}
