//! Puppet's function `new`: makes a value of a type.
//!
//! Source: `puppet/functions/new.rb`, the `new_function` methods of `pops/types/*.rb`.

/// A function that is made at first use.
macro_rules! new_function {
    ($name:expr, $own:expr, $signatures:expr) => {{
        static MADE: std::sync::LazyLock<$crate::puppet::new::function::Made> =
            std::sync::LazyLock::new(|| $crate::puppet::new::function::Function::new($name, $own, $signatures));
        MADE.as_ref().map_err(Clone::clone)
    }};
}

mod collection;
pub(super) mod function;
pub(super) mod init;
pub(super) mod number;
mod scalar;
mod span;
mod strptime;
pub(super) mod time;
mod version;
mod zones;

pub(super) use scalar::encoded;

use function::Function;

use super::types::describe::describe_mismatch;
use super::types::infer::{generalize, infer_set};
use super::types::{assignable, is_instance, parse};
use crate::puppet::Error;
use crate::value::rich::Rich;
use crate::value::{Type, Value};

/// What a conversion gives.
pub type Made = Result<Value, Error>;

/// `new(type, value, more...)`.
pub fn call(args: &[Value]) -> Made {
    match args.split_first() {
        Some((kind, args)) if let Some(kind) = kind.as_type() => instance(kind, args),
        _ => Err(new_function!("new", &[], &[&[("type", "Type")]])?.mismatch(&args[..1])),
    }
}

/// A value of the type, made of `args`.
pub(super) fn instance(kind: &Type, args: &[Value]) -> Made {
    if let ([value], false) = (args, matches!(kind, Type::Init(..)))
        && is_instance(kind, value)?
    {
        return Ok(value.clone());
    }
    let value = make(kind, args)?;
    assert_instance(&format!("Converted value from {kind}.new()"), kind, value)
}

/// The value, or why it is not of the type.
pub(super) fn assert_instance(subject: &str, kind: &Type, value: Value) -> Made {
    if is_instance(kind, &value)? {
        return Ok(value);
    }
    match describe_mismatch(&format!("{subject} has wrong type,"), kind, &infer_set(&value)?) {
        text if text.is_empty() => Err(Error::unknown(format!("how a value is not of the type {kind}"))),
        text => Err(Error::puppet(text)),
    }
}

/// What `puppet lookup --type` says of a value: nothing, or that it is of another type. `subject` is what it calls the value.
pub fn check_type(subject: &str, value: &Value, kind: &Type) -> Result<(), Error> {
    let secrecy = value.secrecy();
    if secrecy.is_some_and(|secrecy| secrecy.opaque) {
        // Whatever the texts in it are.
        let of_any_text = generalize(&infer_set(value)?);
        return if assignable(kind, &of_any_text) {
            Ok(())
        } else {
            Err(Error::unknown(format!("the value is encrypted, so it may or may not be of the type {kind}")))
        };
    }
    assert_instance(subject, kind, value.clone()).map(|_| ()).map_err(|error| error.sealed(secrecy))
}

/// What the type's own function makes of `args`.
pub(super) fn make(kind: &Type, args: &[Value]) -> Made {
    let is_bytes = |arg: &Value| matches!(arg.bare(), Value::Bytes(_));
    match made(kind, args) {
        Err(_) if args.iter().any(is_bytes) => {
            Err(Error::unknown(format!("what '{kind}' makes of a text that is not UTF-8")))
        }
        Ok(_) if matches!(kind, Type::String(_)) && args.iter().any(Value::has_surrogates) => {
            Err(Error::unknown("the text of a text with surrogates"))
        }
        made => made,
    }
}

fn made(kind: &Type, args: &[Value]) -> Made {
    match kind {
        Type::Integer(_) => number::integer(args),
        Type::Float(_) => number::float(args),
        Type::Numeric => number::numeric(args),
        Type::Boolean(_) => scalar::boolean(args),
        Type::String(_) => scalar::string(args),
        Type::Regexp(_) => scalar::regexp(args),
        Type::Binary => scalar::binary(args),
        Type::Uri(_) => scalar::uri(args),
        Type::Sensitive(_) => scalar::sensitive(args),
        Type::Array(..) | Type::Tuple(..) => collection::array(args),
        Type::Hash(..) | Type::Struct(_) => collection::hash(args),
        Type::Timestamp(_) => time::timestamp(args),
        Type::Timespan(_) => time::timespan(args),
        Type::SemVer(_) => version::version(args),
        Type::SemVerRange => version::range(args),
        Type::Type(_) => type_of_text(args),
        Type::Unit | Type::NotUndef(None) => unit(args),
        Type::NotUndef(Some(inner)) | Type::Optional(Some(inner)) => make(inner, args),
        Type::Alias(alias) => make(alias.resolved(), args),
        Type::Init(Some(inner), more) => init::make(inner, more, args),
        Type::Optional(None) => Err(Error::puppet("undefined method `new_function' for nil:NilClass")),
        Type::Object => Err(Error::puppet("undefined method `sub' for nil:NilClass")),
        _ => Err(unsupported(kind)),
    }
}

/// The function of a type, for those that say what they take.
pub(super) fn signatures(kind: &Type) -> Result<Option<&'static Function>, Error> {
    Ok(Some(match kind {
        Type::Integer(_) => number::integer_function()?,
        Type::Float(_) => number::float_function()?,
        Type::Numeric => number::numeric_function()?,
        Type::Boolean(_) => scalar::boolean_function()?,
        Type::String(_) => scalar::string_function()?,
        Type::Regexp(_) => scalar::regexp_function()?,
        Type::Binary => scalar::binary_function()?,
        Type::Uri(_) => scalar::uri_function()?,
        Type::Sensitive(_) => scalar::sensitive_function()?,
        Type::Array(..) | Type::Tuple(..) => collection::array_function()?,
        Type::Hash(..) | Type::Struct(_) => collection::hash_function()?,
        Type::Timestamp(_) => time::timestamp_function()?,
        Type::Timespan(_) => time::timespan_function()?,
        Type::SemVer(_) => version::version_function()?,
        Type::SemVerRange => version::range_function()?,
        Type::Type(_) => type_function()?,
        Type::Alias(alias) => return signatures(alias.resolved()),
        _ => return Ok(None),
    }))
}

/// What Puppet says of a type that nothing can be made of.
pub(super) fn unsupported(kind: &Type) -> Error {
    Error::puppet(format!("Creation of new instance of type '{kind}' is not supported"))
}

fn type_function() -> Result<&'static Function, Error> {
    new_function!("new_type", &[], &[&[("type_string", "String[1]")]])
}

fn type_of_text(args: &[Value]) -> Made {
    let function = type_function()?;
    match (function.pick(args)?, args) {
        (Some(_), [Value::String(text)]) => Ok(Value::Rich(Rich::Type(parse(text)?).into())),
        _ => Err(function.mismatch(args)),
    }
}

fn unit(args: &[Value]) -> Made {
    let function = new_function!("new_unit", &[], &[&[("from", "Any")]])?;
    match args {
        [value] => Ok(value.clone()),
        _ => Err(function.mismatch(args)),
    }
}
