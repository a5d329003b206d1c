//! Puppet's function `new`: makes a value of a type.
//!
//! [`call`] picks the function of the type, whose signatures are in [`types`](super::types). The result is always of
//! the type that was asked for.
//!
//! Source: `puppet/functions/new.rb`, the `new_function` methods of `pops/types/*.rb`.

mod collection;
mod init;
mod number;
mod scalar;
mod time;
mod version;

use super::types::inference::generalize::generalize;
use super::types::inference::infer::infer;
use super::types::signature::Function;
use super::types::{assert_instance, constructors, is_instance, parse};
use crate::puppet::{Error, Ruby};
use crate::value::rich::Rich;
use crate::value::{Type, Value};

/// A new value.
pub type NewValue = Result<Value, Error>;

/// Evaluates `new(type, value, more...)` as this Ruby does.
pub fn call(args: &[Value], ruby: Ruby) -> NewValue {
    match args.split_first() {
        Some((kind, args)) if let Some(kind) = kind.as_type() => instance(kind, args, ruby),
        _ => Err(constructors::new()?.mismatch(&args[..1])),
    }
}

/// Returns a value of the type, made of `args`.
pub(super) fn instance(kind: &Type, args: &[Value], ruby: Ruby) -> NewValue {
    if let ([value], false) = (args, matches!(kind, Type::Init(..)))
        && is_instance(kind, value)?
    {
        return Ok(value.clone());
    }
    let value = make(kind, args, ruby)?;
    assert_instance(&format!("Converted value from {kind}.new()"), kind, value)
}

/// Converts `args` by the type's own function.
pub(super) fn make(kind: &Type, args: &[Value], ruby: Ruby) -> NewValue {
    let is_bytes = |arg: &Value| matches!(arg.bare(), Value::Bytes(_));
    match make_by_kind(kind, args, ruby) {
        Err(_) if args.iter().any(is_bytes) => {
            Err(Error::unknown(format!("what '{kind}' makes of a text that is not UTF-8")))
        }
        Ok(_) if matches!(kind, Type::String(_)) && args.iter().any(Value::has_surrogates) => {
            Err(Error::unknown("the text of a text with surrogates"))
        }
        made => made,
    }
}

fn make_by_kind(kind: &Type, args: &[Value], ruby: Ruby) -> NewValue {
    match kind {
        Type::Integer(_) => number::integer(args),
        Type::Float(_) => number::float(args),
        Type::Numeric => number::numeric(args),
        Type::Boolean(_) => scalar::boolean(args),
        Type::String(_) => scalar::string(args, ruby),
        Type::Regexp(_) => scalar::regexp(args),
        Type::Binary => scalar::binary(args),
        Type::Uri(_) => scalar::uri(args, ruby),
        Type::Sensitive(_) => scalar::sensitive(args),
        Type::Array(..) | Type::Tuple(..) => collection::array(args),
        Type::Hash(..) | Type::Struct(_) => collection::hash(args),
        Type::Timestamp(_) => time::timestamp(args),
        Type::Timespan(_) => time::timespan(args),
        Type::SemVer(_) => version::version(args),
        Type::SemVerRange => version::range(args),
        Type::Type(_) => type_of_text(args),
        Type::Unit | Type::NotUndef(None) => unit(args),
        Type::NotUndef(Some(inner)) | Type::Optional(Some(inner)) => make(inner, args, ruby),
        Type::Alias(alias) => make(alias.resolved(), args, ruby),
        Type::Init(Some(inner), more) => init::make(inner, more, args, ruby),
        Type::Optional(None) => Err(Error::bare("undefined method `new_function' for nil:NilClass")),
        Type::Object => Err(Error::bare("undefined method `sub' for nil:NilClass")),
        _ => Err(unsupported(kind)),
    }
}

/// Returns Puppet's error for a type that has no `new`.
pub(super) fn unsupported(kind: &Type) -> Error {
    Error::puppet(format!("Creation of new instance of type '{kind}' is not supported"))
}

/// Returns Puppet's error for a value that cannot be converted.
fn refused(function: &Function, args: &[Value], to: &str) -> Error {
    match &args[0] {
        Value::String(text) => function.refuse(&format!("The string '{}' cannot be converted to {to}", &**text)),
        other => match infer(other) {
            Ok(kind) => function.refuse(&format!("Value of type {} cannot be converted to {to}", generalize(&kind))),
            Err(unknown) => unknown,
        },
    }
}

fn type_of_text(args: &[Value]) -> NewValue {
    let function = constructors::type_text()?;
    match (function.pick(args)?, args) {
        (Some(_), [Value::String(text)]) => Ok(Value::Rich(Rich::Type(parse(text)?).into())),
        _ => Err(function.mismatch(args)),
    }
}

fn unit(args: &[Value]) -> NewValue {
    let function = constructors::unit()?;
    match args {
        [value] => Ok(value.clone()),
        _ => Err(function.mismatch(args)),
    }
}
