//! Values that JSON cannot hold, as `src/verify/resolve.rb` writes them: `{"__ptype": TYPE, "__pvalue": TEXT}`.

use hierad::hiera::convert::convert;
use hierad::puppet::Ruby;
use hierad::value::rich::Rich;
use hierad::value::{Hash, Value};

/// The value that was written.
pub(crate) fn decode(written: &Value) -> Value {
    match written {
        Value::Array(items) => items.iter().map(decode).collect(),
        Value::Hash(hash) => match (hash.get("__ptype").and_then(Value::as_str), hash.get("__pvalue")) {
            (Some(kind), Some(content)) => typed(kind, content),
            _ => Value::hash(hash.iter().map(|(key, value)| (key.clone(), decode(value))).collect()),
        },
        other => other.clone(),
    }
}

fn typed(kind: &str, content: &Value) -> Value {
    let text = || content.as_str().expect("a text");
    match kind {
        "Hash" => {
            let entries = content.as_array().expect("a list").chunks(2);
            Value::hash(entries.map(|entry| (decode(&entry[0]), decode(&entry[1]))).collect::<Hash>())
        }
        "Float" => Value::Float(text().replace("Infinity", "inf").parse().expect("a float")),
        "Symbol" => Value::Symbol(text().into()),
        "BinaryString" => match &*as_rich(&made("Binary", content)) {
            Rich::Binary(bytes) => Value::bytes(bytes.to_vec()),
            other => panic!("{other:?}"),
        },
        "Sensitive" => Value::Rich(Rich::Sensitive(decode(content)).into()),
        _ => made(kind, content),
    }
}

fn made(kind: &str, content: &Value) -> Value {
    convert(content.clone(), &kind.into(), "k", Ruby::V3_1).expect("a value")
}

fn as_rich(value: &Value) -> std::sync::Arc<Rich> {
    match value {
        Value::Rich(rich) => rich.clone(),
        other => panic!("{other:?}"),
    }
}

/// The value without a secret: what may not be seen is compared, too.
pub(crate) fn revealed(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::from(text.as_str()),
        Value::Secret(secret) => revealed(&secret.1),
        Value::Array(items) => items.iter().map(revealed).collect(),
        Value::Hash(hash) => {
            Value::hash(hash.iter().map(|(key, value)| (revealed(key), revealed(value))).collect::<Hash>())
        }
        Value::Rich(rich) => match &**rich {
            Rich::Sensitive(inner) => Value::Rich(Rich::Sensitive(revealed(inner)).into()),
            _ => value.clone(),
        },
        other => other.clone(),
    }
}
