//! Secrets that are not open, in a merge: two of them may or may not be equal.
//!
//! Such a text may be any text. So it is unknown if it equals another one, starts with a knock-out prefix, or sorts
//! before another one, and thus which items the merged array has: a single stand-in replaces all of it. A value that
//! is merged in whole is kept.

use crate::diagnostic::Subject;
use crate::hiera::LookupError;
use crate::hiera::budget::Budget;
use crate::hiera::stand_in::made;
use crate::value::{Secrecy, Value};

/// Returns true if a part of `value` is a secret that is not open.
pub(super) fn is_opaque(value: &Value) -> bool {
    value.secrecy().is_some_and(Secrecy::is_opaque)
}

/// Returns an error if it cannot be known here which of the items are equal.
pub(in crate::hiera) fn check_distinct<'v>(
    items: &(impl Iterator<Item = &'v Value> + Clone),
    budget: &Budget,
) -> Result<(), LookupError> {
    for opaque in items.clone().filter(|item| is_opaque(item)) {
        budget.spend(items.clone().count())?;
        if items.clone().any(|other| is_undecided(opaque, other)) {
            return Err(depends_on_secret("which of the merged items are equal"));
        }
    }
    Ok(())
}

/// Returns true if it cannot be known here whether two values are equal.
pub(super) fn is_undecided(a: &Value, b: &Value) -> bool {
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

/// Returns the error for an answer that depends on something unknown here.
pub(super) fn depends_on_secret(what: &str) -> LookupError {
    LookupError::unknown(format!("{what} depends on a secret that is not open here")).about(Subject::Secret)
}

/// Returns the value that a merge by `strategy` made of `values`, or a single stand-in for all possible results if
/// they depend on something unknown here.
pub(in crate::hiera) fn or_made(
    merged: Result<Value, LookupError>,
    strategy: &str,
    values: &[&Value],
) -> Result<Value, LookupError> {
    match merged {
        Err(error) if error.subject.as_deref() == Some(&Subject::Secret) => Ok(made(strategy, values)),
        merged => merged,
    }
}
