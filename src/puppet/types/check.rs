//! Checks of values against types, worded as Puppet words them.

use super::describe::describe_place;
use super::inference::generalize::generalize;
use super::inference::infer::{infer, infer_set};
use super::inference::normalize::fault;
use super::{assignable, is_instance, parse};
use crate::puppet::Error;
use crate::value::{Secrecy, Type, Value, ValuePath};

/// Returns Puppet's error for a `value` that is not of the type that the expression `kind` stands for.
pub fn mismatch(subject: &str, kind: &str, value: &Value) -> Error {
    let described = |kind: Type| describe(subject, &kind, value);
    parse(kind).and_then(described).map_or_else(|error| error, |(text, _)| Error::puppet(text))
}

/// Returns Puppet's description of a `value` that is not of a type, and the place of the first mismatch.
fn describe(subject: &str, kind: &Type, value: &Value) -> Result<(String, ValuePath), Error> {
    let actual = infer_set(value)?;
    if let Some(fault) = fault(kind) {
        return Err(fault);
    }
    if fault(&actual).is_some() {
        return Err(Error::unknown(format!("whether Puppet can shorten {actual}")));
    }
    Ok(describe_place(&format!("{subject} has wrong type,"), kind, &actual))
}

/// Returns Puppet's error for a `value` that is not of the type `kind`, with the place of the first mismatch; `None`
/// if it is of that type.
pub fn misfit(subject: &str, kind: &Type, value: &Value) -> Result<Option<(Error, ValuePath)>, Error> {
    if is_instance(kind, value)? {
        return Ok(None);
    }
    let (text, path) = describe(subject, kind, value)?;
    // Sometimes Puppet's description is empty.
    let text = if text.is_empty() { format!("{subject} has wrong type") } else { text };
    Ok(Some((Error::puppet(text), path)))
}

/// Returns the type that Puppet infers for `value`, as Puppet writes it.
pub fn inferred(value: &Value) -> Result<String, Error> {
    Ok(infer(value)?.to_string())
}

/// Checks a value as `puppet lookup --type` does. `subject` is Puppet's name for the value in the error.
pub fn check_type(subject: &str, value: &Value, kind: &Type) -> Result<(), Error> {
    let secrecy = value.secrecy();
    if secrecy.is_some_and(Secrecy::is_opaque) {
        // The type has to accept the value whatever texts it contains.
        let of_any_text = generalize(&infer_set(value)?);
        return if assignable(kind, &of_any_text) {
            Ok(())
        } else {
            Err(Error::unknown(format!("the value is encrypted, so it may or may not be of the type {kind}")))
        };
    }
    assert_instance(subject, kind, value.clone()).map(|_| ()).map_err(|error| error.sealed(secrecy))
}

/// Returns the value. Fails if it is not of the type.
pub(crate) fn assert_instance(subject: &str, kind: &Type, value: Value) -> Result<Value, Error> {
    if is_instance(kind, &value)? {
        return Ok(value);
    }
    match describe(subject, kind, &value)?.0 {
        text if text.is_empty() => Err(Error::unknown(format!("how a value is not of the type {kind}"))),
        text => Err(Error::puppet(text)),
    }
}
