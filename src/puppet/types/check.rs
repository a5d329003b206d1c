//! Checks of values against types, worded as Puppet words them.

use super::describe::{describe_mismatch, describe_place};
use super::infer::{infer, infer_set};
use super::{is_instance, parse};
use crate::puppet::Error;
use crate::value::{Type, Value, ValuePath};

/// How Puppet says that `value` is not of the type `kind`, an expression.
pub fn mismatch(subject: &str, kind: &str, value: &Value) -> Error {
    let described = |kind: Type| {
        let actual = infer_set(value)?;
        Ok(describe_mismatch(&format!("{subject} has wrong type,"), &kind, &actual))
    };
    parse(kind).and_then(described).map_or_else(|error| error, Error::puppet)
}

/// Why `value` is not of the type `kind`, in Puppet's words, and the place of the first mismatch; nothing if it is.
pub fn misfit(subject: &str, kind: &Type, value: &Value) -> Result<Option<(Error, ValuePath)>, Error> {
    if is_instance(kind, value)? {
        return Ok(None);
    }
    let actual = infer_set(value)?;
    let (text, path) = describe_place(&format!("{subject} has wrong type,"), kind, &actual);
    // At times Puppet finds nothing to say.
    let text = if text.is_empty() { format!("{subject} has wrong type") } else { text };
    Ok(Some((Error::puppet(text), path)))
}

/// The type that Puppet infers for `value`, as it writes it.
pub fn inferred(value: &Value) -> Result<String, Error> {
    Ok(infer(value)?.to_string())
}
