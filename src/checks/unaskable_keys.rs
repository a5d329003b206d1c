//! Finds keys of data that no lookup can ask for.

use super::Fault;
use crate::diagnostic::{Place, Severity};
use crate::hiera::backend::DataFile;
use crate::hiera::key::asks_for;
use crate::value::{Hash, Value};

const UNASKABLE: &str = "unaskable-key";

/// Returns a note for each root key of the data file at `path` that no lookup finds.
pub(super) fn faults(path: &str, file: &DataFile) -> Vec<Fault> {
    let keys = file.content().into_iter().flat_map(Hash::keys).zip(0..);
    let fault = |(key, at): (&Value, usize)| {
        let line = file.lines().children.get(at).map(|marks| Place::line(path, marks.line));
        Some(Fault::new(Severity::Note, UNASKABLE, reason(key)?).at(line))
    };
    keys.filter_map(fault).collect()
}

/// Returns the reason why no lookup finds a key, or `None` if one may.
fn reason(key: &Value) -> Option<String> {
    match key {
        Value::String(text) if asks_for(&text.to_arc()).is_none() => {
            Some(format!("no lookup can ask for the key '{}': it has quotes of both kinds", text.visible()))
        }
        Value::Integer(_) | Value::BigInteger(_) | Value::Float(_) => {
            Some(format!("no lookup finds the key {}: it is a number, and lookups ask for text", key.to_s()))
        }
        _ => None,
    }
}
