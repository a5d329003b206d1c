//! No bytes make the YAML reader panic, and marks always have the shape of the value.
#![no_main]

use hierad::puppet::document::Marks;
use hierad::puppet::{json, yaml};
use hierad::value::Value;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let parsed = yaml::parse(content);
    let (value, marks) = yaml::symkeys_to_string(parsed.value, parsed.marks);
    let mut text = String::new();
    json::write(&value, &mut text);
    assert!(json::parse(text.as_bytes()).fault.is_none_or(|f| f.text.contains("nesting") || f.text.contains("digits")));
    if text.len() < 1 << 16 {
        check(&value, &marks);
    }
});

fn check(value: &Value, marks: &Marks) {
    let children: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Hash(hash) => hash.values().collect(),
        _ => Vec::new(),
    };
    assert_eq!(children.len(), marks.children.len());
    children.into_iter().zip(marks.children.iter()).for_each(|(value, marks)| check(value, marks));
}
