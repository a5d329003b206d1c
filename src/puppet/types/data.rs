//! The types of Puppet that decide what a data file or a merge accepts.
//!
//! Source: `pops/loader/static_loader.rb` (`Data`, `RichData`) and `pops/types/types.rb`.

use crate::value::{Rich, Value};

/// Returns true for `Data`: nil, text, numbers, booleans, arrays of these, and hashes of these with text keys.
pub fn is_data(value: &Value) -> bool {
    match value {
        Value::Symbol(s) => &**s == "undef",
        Value::Array(items) => items.iter().all(is_data),
        Value::Hash(hash) => hash.iter().all(|(k, v)| is_text(k) && is_data(v)),
        Value::Rich(_) => false,
        Value::Secret(secret) => is_data(&secret.1),
        _ => true,
    }
}

/// Returns true for `RichData`, which a data file may hold. It adds to `Data` rich values, numbers as keys of hashes,
/// and Puppet's own symbols `:default` and `:undef`.
pub fn is_rich_data(value: &Value) -> bool {
    match value {
        Value::Symbol(s) => matches!(&**s, "undef" | "default"),
        Value::Rich(rich) => !matches!(**rich, Rich::Ruby("Encoding", _)),
        Value::Array(items) => items.iter().all(is_rich_data),
        Value::Hash(hash) => hash.iter().all(|(k, v)| (is_text(k) || is_number(k)) && is_rich_data(v)),
        _ => true,
    }
}

/// Returns true for `Hash[String, Data]`, the only type that a hash merge accepts.
pub fn is_data_hash(value: &Value) -> bool {
    matches!(value, Value::Hash(_)) && is_data(value)
}

/// Returns true for `Variant[Scalar, Array[Data]]`, the type that a unique merge accepts.
pub fn is_scalar_or_data_array(value: &Value) -> bool {
    match value {
        Value::Array(_) => is_data(value),
        Value::Undef | Value::Hash(_) | Value::Symbol(_) => false,
        Value::Rich(rich) => rich.is_scalar(),
        Value::Secret(secret) => is_scalar_or_data_array(&secret.1),
        _ => true,
    }
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Bytes(_))
}

fn is_number(value: &Value) -> bool {
    matches!(value.bare(), Value::Integer(_) | Value::BigInteger(_) | Value::Float(_))
}

/// Returns Puppet's name for the type of a value in a message about a mismatch.
pub fn short_name(value: &Value) -> &'static str {
    match value {
        Value::Undef => "Undef",
        Value::Boolean(_) => "Boolean",
        Value::Integer(_) | Value::BigInteger(_) => "Integer",
        Value::Float(_) => "Float",
        Value::String(_) | Value::Bytes(_) => "String",
        Value::Symbol(s) if &**s == "default" => "Default",
        Value::Symbol(_) => "Runtime",
        Value::Array(items) if items.is_empty() => "Array",
        Value::Array(_) => "Tuple",
        Value::Hash(hash) if !hash.is_empty() && hash.keys().all(is_text) => "Struct",
        Value::Hash(_) => "Hash",
        Value::Rich(rich) => match &**rich {
            Rich::Ruby("Class", _) => "Type",
            Rich::Ruby(..) => "Runtime",
            rich => rich.type_name(),
        },
        Value::Secret(secret) => short_name(&secret.1),
    }
}
