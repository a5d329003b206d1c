//! `convert_to` in `lookup_options`: a found value is converted as Puppet's function `new` does it.
//!
//! Source: `convert_result` in `pops/lookup/lookup_adapter.rb`.

use super::LookupError;
use super::stand_in::{holds_made, made};
use crate::puppet::{Error, Ruby, format, new, types};
use crate::value::rich::Rich;
use crate::value::rich::types::Texts;
use crate::value::{Secrecy, Text, Type, Value};

/// Converts the value of `key` as `convert_to` says, with the behaviour of a version of Ruby.
pub fn convert(value: Value, convert_to: &Value, key: &str, ruby: Ruby) -> Result<Value, LookupError> {
    if convert_to.is_undef() {
        return Ok(value);
    }
    let secrecy = Secrecy::join(value.secrecy(), convert_to.secrecy());
    let args = arguments(value, convert_to, key)?;
    if secrecy.is_some_and(Secrecy::is_opaque) && (holds_made(&args[1]) || !keeps_whole(&args)) {
        return Ok(made("a conversion", &[&args[1], convert_to]));
    }
    let raised = |text: &Text| {
        let shown = format!("The convert_to lookup_option for key '{key}' raised error: {}", &**text);
        Error::puppet(Text::with(shown, text.secrecy()))
    };
    let made =
        new::call(&args, ruby).map_err(|error| if error.kind.is_unknown() { error } else { raised(&error.text) });
    // Parts of the value remain as secret as they were, and so do values derived from it.
    match made {
        Ok(made) => Ok(if made == args[1] { args[1].clone() } else { made.sealed(secrecy) }),
        Err(error) => Err(error.sealed(secrecy).into()),
    }
}

/// Returns the line about a conversion in an explanation.
pub(super) fn conversion_line(convert_to: &Value, ruby: Ruby) -> Text {
    let arguments = arguments(Value::Undef, convert_to, "").map(|mut arguments| {
        arguments.remove(1);
        Value::array(arguments)
    });
    let shown = arguments.and_then(|arguments| format::convert(&arguments, None, ruby)).unwrap_or_default();
    let text = format!("Applying convert_to lookup_option with arguments {}", String::from_utf8_lossy(&shown));
    Text::with(text, convert_to.secrecy())
}

/// Returns the type, the value and the other arguments.
fn arguments(value: Value, convert_to: &Value, key: &str) -> Result<Vec<Value>, Error> {
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

fn unparsable(text: &Text, key: &str, error: Error) -> Error {
    if error.kind.is_unknown() {
        return error;
    }
    let shown = format!(
        "Invalid data type in lookup_options for key '{key}' could not parse '{}', error: '{}",
        text.as_str(),
        &*error.text
    );
    Error::puppet(Text::with(shown, text.secrecy()))
}

/// Returns true if a conversion never changes its value, so that an encrypted value need not be known.
fn keeps_whole(args: &[Value]) -> bool {
    let Some(kind) = args.first().and_then(Value::as_type) else { return false };
    match (kind.resolved(), args) {
        (Type::Sensitive(inner), [_, _]) => matches!(**inner, Type::Any),
        (Type::Any | Type::String(Texts::All) | Type::Scalar | Type::ScalarData, [_, Value::String(_)])
        | (Type::Array(..), [_, Value::String(_), Value::Boolean(true)]) => true,
        _ => false,
    }
}
