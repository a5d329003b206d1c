//! Values are written as YAML as Ruby did when `tests/puppet/record_emit.rb` ran.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hierad::puppet::{emit, json};
use hierad::value::Value;

/// The value that rich data form stands for.
fn plain(value: &Value) -> Value {
    let typed = |hash: &hierad::value::Hash| {
        let content = hash.get("__pvalue")?;
        Some(match (hash.get("__ptype")?.as_str()?, content.as_str()) {
            ("Symbol", Some(name)) => Value::Symbol(name.into()),
            ("Float", Some("NaN")) => Value::Float(f64::NAN),
            ("Float", Some("Infinity")) => Value::Float(f64::INFINITY),
            ("Float", Some(_)) => Value::Float(f64::NEG_INFINITY),
            ("BinaryString", Some(bytes)) => Value::bytes(STANDARD.decode(bytes).unwrap()),
            ("Hash", None) => {
                let entries = content.as_array()?.chunks(2).map(|pair| (plain(&pair[0]), plain(&pair[1])));
                Value::hash(entries.collect())
            }
            other => panic!("no type {other:?}"),
        })
    };
    match value {
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Hash(hash) => typed(hash)
            .unwrap_or_else(|| Value::hash(hash.iter().map(|(key, value)| (plain(key), plain(value))).collect())),
        other => other.clone(),
    }
}

fn difference(line: &str) -> Option<String> {
    let case = json::parse(line.as_bytes()).value;
    let (value, recorded) = (plain(case.get("value")?), case.get("yaml")?.as_str()?);
    let written = emit::document(&value);
    (written != recorded).then(|| format!("{line}\n  Ruby: {recorded:?}\n  here: {written:?}"))
}

/// `HIERAD_EMIT` names a file with more values, as `record_emit.rb --random` prints them.
#[test]
fn yaml_is_written_as_by_ruby() {
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/emit.ndjson");
    let path = std::env::var("HIERAD_EMIT").unwrap_or_else(|_| recorded.to_owned());
    let text = std::fs::read_to_string(path).unwrap();
    let count = text.lines().count();
    assert!(count > 4000, "only {count} values");
    let wrong: Vec<String> = text.lines().filter_map(difference).collect();
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}
