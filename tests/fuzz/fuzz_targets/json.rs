//! No bytes make the JSON reader panic, and what it reads is read again from what is written.
#![no_main]

use hierad::puppet::json;
use hierad::value::Value;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let parsed = json::parse(content);
    let (mut compact, mut pretty) = (String::new(), String::new());
    json::write(&parsed.value, &mut compact);
    json::pretty(&parsed.value, &mut pretty);
    let (again, pretty) = (json::parse(compact.as_bytes()), json::parse(pretty.as_bytes()));
    assert!(again.value == pretty.value);
    if is_plain(&parsed.value) && again.fault.is_none() {
        assert!(again.value == parsed.value);
    }
});

/// Returns true if JSON holds the value as it is.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Bytes(_) => false,
        Value::Float(f) => f.is_finite(),
        Value::Array(items) => items.iter().all(is_plain),
        Value::Hash(hash) => hash.iter().all(|(key, value)| key.as_str().is_some() && is_plain(value)),
        _ => true,
    }
}
