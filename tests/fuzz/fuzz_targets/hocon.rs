//! No bytes make the HOCON reader panic or run away, and its marks have the shape of its values.
#![no_main]

use hierad::puppet::document::Marks;
use hierad::puppet::hocon;
use hierad::value::Value;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let parsed = hocon::parse(content);
    assert!(parsed.value.as_hash().is_some() || parsed.fault.is_some());
    if parsed.fault.is_none() {
        same_shape(&parsed.value, &parsed.marks);
    }
});

fn same_shape(value: &Value, marks: &Marks) {
    let values: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Hash(hash) => hash.values().collect(),
        _ => Vec::new(),
    };
    assert_eq!(values.len(), marks.children.len());
    values.iter().zip(marks.children.iter()).for_each(|(value, marks)| same_shape(value, marks));
}
