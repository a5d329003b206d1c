//! No type expression, value or argument makes a conversion or a check panic or go on without end, and what a type is
//! written as is that type (but for backslashes and ranges of versions, which Puppet too writes in ways that it reads
//! otherwise).
//!
//! The input is a value in JSON and, with zero bytes between, what it is converted to, one after the other: a type
//! expression, or an array in JSON of one and arguments for `new`.
#![no_main]

use hierad::hiera::convert::convert;
use hierad::puppet::Ruby;
use hierad::puppet::json;
use hierad::puppet::types::{check_type, parse};
use hierad::value::Value;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let mut parts = content.split(|byte| *byte == 0);
    let mut value = json::parse(parts.next().unwrap_or_default()).value;
    for part in parts.take(4) {
        let convert_to = conversion(part);
        if let Some(text) = expression(&convert_to) {
            types(text, &value);
        }
        match convert(value.clone(), &convert_to, "k", Ruby::V3_1) {
            Ok(made) => value = made,
            Err(error) => assert!(!error.text.is_empty()),
        }
        _ = value.inspect();
    }
});

fn conversion(part: &[u8]) -> Value {
    let parsed = json::parse(part);
    match parsed.value {
        value @ Value::Array(_) if parsed.fault.is_none() => value,
        _ => String::from_utf8_lossy(part).as_ref().into(),
    }
}

fn expression(convert_to: &Value) -> Option<&str> {
    convert_to.as_array().map_or(Some(convert_to), |items| items.first())?.as_str()
}

fn types(text: &str, value: &Value) {
    let Ok(kind) = parse(text) else { return };
    _ = check_type("Found value", value, &kind);
    let shown = kind.to_string();
    if let Ok(again) = parse(&shown)
        && !shown.contains('\\')
        && !shown.contains("SemVer")
    {
        assert_eq!(again.to_string(), shown, "of {text:?}");
    }
}
