//! Turns symbol keys into text, as Puppet does with the data of a YAML file.

use std::collections::HashMap;
use std::sync::Arc;

use crate::puppet::document::{Marks, put};
use crate::value::{Hash, Value};

/// Collections that were converted, by the address of their shared content. They are kept alive by the value.
type Seen = HashMap<*const u8, Option<(Value, Arc<[Marks]>)>, foldhash::fast::RandomState>;

/// Returns `value` with all symbols that are keys, at every depth, turned into text, and its marks.
///
/// If a symbol and a string become the same key, the later entry wins and the first keeps its position.
pub fn symkeys_to_string(value: Value, marks: Marks) -> (Value, Marks) {
    match convert(&value, &marks.children, &mut Seen::default()) {
        Some((value, children)) => (value, Marks { line: marks.line, children }),
        None => (value, marks),
    }
}

/// Returns the converted value, or `None` if it stays as it is.
fn convert(value: &Value, marks: &Arc<[Marks]>, seen: &mut Seen) -> Option<(Value, Arc<[Marks]>)> {
    let (address, shared) = match value {
        Value::Array(items) => (Arc::as_ptr(items).cast(), Arc::strong_count(items) > 1),
        Value::Hash(hash) => (Arc::as_ptr(hash).cast(), Arc::strong_count(hash) > 1),
        _ => return None,
    };
    if shared && let Some(known) = seen.get(&address) {
        return known.clone();
    }
    let converted = match value {
        Value::Array(items) => array(items, marks, seen),
        Value::Hash(hash) => entries(hash, marks, seen),
        _ => None,
    };
    if shared {
        seen.insert(address, converted.clone());
    }
    converted
}

fn child(value: &Value, marks: Option<&Marks>, seen: &mut Seen) -> Option<(Value, Marks)> {
    if !matches!(value, Value::Array(_) | Value::Hash(_)) {
        return None;
    }
    let marks = marks.cloned().unwrap_or_default();
    let (value, children) = convert(value, &marks.children, seen)?;
    Some((value, Marks { line: marks.line, children }))
}

fn array(items: &[Value], marks: &Arc<[Marks]>, seen: &mut Seen) -> Option<(Value, Arc<[Marks]>)> {
    let mut changed: Option<(Vec<Value>, Vec<Marks>)> = None;
    for (at, item) in items.iter().enumerate() {
        if let Some((value, mark)) = child(item, marks.get(at), seen) {
            let (values, lines) = changed.get_or_insert_with(|| (items.to_vec(), marks.to_vec()));
            values[at] = value;
            if let Some(line) = lines.get_mut(at) {
                *line = mark;
            }
        }
    }
    changed.map(|(values, lines)| (Value::array(values), lines.into()))
}

fn entries(hash: &Hash, marks: &Arc<[Marks]>, seen: &mut Seen) -> Option<(Value, Arc<[Marks]>)> {
    let change = |(at, value)| Some((at, child(value, marks.get(at), seen)?));
    let changed: Vec<(usize, (Value, Marks))> = hash.values().enumerate().filter_map(change).collect();
    if !hash.keys().any(|key| matches!(key, Value::Symbol(_))) && changed.is_empty() {
        return None;
    }
    let mut changed = changed.into_iter().peekable();
    let (mut out, mut lines) = (Hash::new(), Vec::with_capacity(hash.len()));
    for (at, (key, value)) in hash.iter().enumerate() {
        let key = match key {
            Value::Symbol(name) => Value::String(name.clone().into()),
            other => other.clone(),
        };
        let (value, mark) = match changed.next_if(|(place, _)| *place == at) {
            Some((_, converted)) => converted,
            None => (value.clone(), marks.get(at).cloned().unwrap_or_default()),
        };
        put(&mut out, &mut lines, key, value, mark);
    }
    Some((Value::hash(out), lines.into()))
}
