//! Encrypted texts that cannot be opened, in a merge: two of them may or may not be equal.
//!
//! Such a text may be any text, so whether it equals another one, starts with a knock-out prefix or comes before
//! another in order is unknown, and with it which items the merged array has. A value that is merged in whole stays
//! what it is.

use crate::hiera::LookupError;
use crate::value::Value;

/// Returns true if a part of `value` is an encrypted text that cannot be opened.
pub(super) fn is_opaque(value: &Value) -> bool {
    value.secrecy().is_some_and(|secrecy| secrecy.opaque)
}

/// Refuses items of which nobody here can tell whether they are equal.
pub(in crate::hiera) fn check_distinct<'v>(
    items: &(impl Iterator<Item = &'v Value> + Clone),
) -> Result<(), LookupError> {
    for opaque in items.clone().filter(|item| is_opaque(item)) {
        if items.clone().any(|other| is_open(opaque, other)) {
            return Err(unknown("which of the merged items are equal"));
        }
    }
    Ok(())
}

/// Returns true if nobody here can tell if two values are equal.
pub(super) fn is_open(a: &Value, b: &Value) -> bool {
    !a.eql(b) && may_be_equal(a, b)
}

fn may_be_equal(a: &Value, b: &Value) -> bool {
    match (a.bare(), b.bare()) {
        (Value::String(_) | Value::Bytes(_), Value::String(_) | Value::Bytes(_)) if is_opaque(a) || is_opaque(b) => {
            true
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| may_be_equal(a, b))
        }
        (Value::Hash(a), Value::Hash(b)) => {
            let same =
                |(key, value): (&Value, &Value)| b.get_value(key).is_some_and(|other| may_be_equal(value, other));
            a.len() == b.len() && a.iter().all(same)
        }
        _ => a.eql(b),
    }
}

/// Returns the error of an answer that depends on what cannot be decrypted.
pub(super) fn unknown(what: &str) -> LookupError {
    LookupError::unknown(format!("{what} depends on a text that cannot be decrypted here"))
}
