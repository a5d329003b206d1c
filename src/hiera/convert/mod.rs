//! `convert_to` in `lookup_options`: Puppet's data types, and the values that `new` makes of others.
//!
//! `types` knows which values a type has, `new` makes values of them, `format` texts.
//! Source: `convert_result` in `pops/lookup/lookup_adapter.rb`.

mod format;
mod new;
mod types;

use super::LookupError;
use super::error::ErrorKind;
use crate::value::rich::Rich;
use crate::value::types::Texts;
use crate::value::{Secrecy, Text, Type, Value, ValuePath};

pub use types::{parse, parse_flag};

/// What `convert_to` makes of the value of `key`.
pub fn convert(value: Value, convert_to: &Value, key: &str) -> Result<Value, LookupError> {
    if convert_to.is_undef() {
        return Ok(value);
    }
    let secrecy = Secrecy::join(value.secrecy(), convert_to.secrecy());
    let args = arguments(value, convert_to, key)?;
    if secrecy.is_some_and(|secrecy| secrecy.opaque) && !keeps_whole(&args) {
        return Err(LookupError::unknown(format!("the value of '{key}' is encrypted, so it cannot be converted")));
    }
    let made = new::call(&args).map_err(|error| match error.kind {
        ErrorKind::Puppet => {
            let text = format!("The convert_to lookup_option for key '{key}' raised error: {}", &*error.text);
            LookupError { text: Text::with(text, error.text.secrecy()), ..error }
        }
        ErrorKind::Unknown => error,
    });
    // What is in the value is as secret as it was; what is made of it is, too.
    match made {
        Ok(made) => Ok(if made == args[1] { args[1].clone() } else { made.sealed(secrecy) }),
        Err(error) => Err(error.sealed(secrecy)),
    }
}

/// What an explanation says of a conversion that was made.
pub(super) fn applying(convert_to: &Value) -> Text {
    let arguments = arguments(Value::Undef, convert_to, "").map(|mut arguments| {
        arguments.remove(1);
        Value::array(arguments)
    });
    let shown = arguments.and_then(|arguments| format::convert(&arguments, None)).unwrap_or_default();
    let text = format!("Applying convert_to lookup_option with arguments {}", String::from_utf8_lossy(&shown));
    Text::with(text, convert_to.secrecy())
}

/// The type, the value and the other arguments.
fn arguments(value: Value, convert_to: &Value, key: &str) -> Result<Vec<Value>, LookupError> {
    let one = [convert_to.clone()];
    let (kind, more) = match convert_to {
        Value::Array(items) => items.split_first().map_or((Value::Undef, &[][..]), |(kind, more)| (kind.clone(), more)),
        _ => (one[0].clone(), &[][..]),
    };
    let kind = match kind {
        Value::String(text) => {
            let parsed = types::parse(&text).map_err(|error| unparsable(&text, key, error))?;
            Value::Rich(Rich::Type(parsed).into())
        }
        other => other,
    };
    Ok([kind, value].into_iter().chain(more.iter().cloned()).collect())
}

fn unparsable(text: &Text, key: &str, error: LookupError) -> LookupError {
    if error.kind == ErrorKind::Unknown {
        return error;
    }
    let shown = format!(
        "Invalid data type in lookup_options for key '{key}' could not parse '{}', error: '{}",
        text.as_str(),
        &*error.text
    );
    LookupError { text: Text::with(shown, text.secrecy()), ..error }
}

/// Whether a conversion leaves a value as it is, whatever it is: hierad need not know an encrypted one.
fn keeps_whole(args: &[Value]) -> bool {
    let Some(kind) = args.first().and_then(Value::as_type) else { return false };
    match (kind.resolved(), args) {
        (Type::Sensitive(inner), [_, _]) => matches!(**inner, Type::Any),
        (Type::Any | Type::String(Texts::All) | Type::Scalar | Type::ScalarData, [_, Value::String(_)])
        | (Type::Array(..), [_, Value::String(_), Value::Boolean(true)]) => true,
        _ => false,
    }
}

/// How Puppet says that `value` is not of the type `kind`, an expression.
pub(super) fn mismatch(subject: &str, kind: &str, value: &Value) -> LookupError {
    let described = |kind: Type| {
        let actual = types::infer::infer_set(value)?;
        Ok(types::describe::describe_mismatch(&format!("{subject} has wrong type,"), &kind, &actual))
    };
    types::parse(kind).and_then(described).map_or_else(|error| error, LookupError::puppet)
}

/// Why `value` is not of the type `kind`, in Puppet's words, and the place of the first mismatch; nothing if it is.
pub(super) fn misfit(
    subject: &str,
    kind: &Type,
    value: &Value,
) -> Result<Option<(LookupError, ValuePath)>, LookupError> {
    if types::is_instance(kind, value)? {
        return Ok(None);
    }
    let actual = types::infer::infer_set(value)?;
    let (text, path) = types::describe::describe_place(&format!("{subject} has wrong type,"), kind, &actual);
    // At times Puppet finds nothing to say.
    let text = if text.is_empty() { format!("{subject} has wrong type") } else { text };
    Ok(Some((LookupError::puppet(text), path)))
}

/// The type that Puppet infers for `value`, as it writes it.
pub(super) fn inferred(value: &Value) -> Result<String, LookupError> {
    Ok(types::infer::infer(value)?.to_string())
}

/// What `puppet lookup --type` says of a value: nothing, or that it is of another type. `subject` is what it calls the value.
pub fn check_type(subject: &str, value: &Value, kind: &Type) -> Result<(), LookupError> {
    let secrecy = value.secrecy();
    if secrecy.is_some_and(|secrecy| secrecy.opaque) {
        // Whatever the texts in it are.
        let of_any_text = types::infer::generalize(&types::infer::infer_set(value)?);
        return if types::assignable(kind, &of_any_text) {
            Ok(())
        } else {
            Err(LookupError::unknown(format!("the value is encrypted, so it may or may not be of the type {kind}")))
        };
    }
    new::assert_instance(subject, kind, value.clone()).map(|_| ()).map_err(|error| error.sealed(secrecy))
}
