//! `Integer.new`, `Float.new`, `Numeric.new`.
//!
//! Source: `PNumericType`, `PIntegerType`, `PFloatType` in `pops/types/types.rb`; Ruby's `Integer()` and `Float()`.

use std::sync::LazyLock;

use num_bigint::BigInt;
use regex::Regex;

use super::{NewValue, refused};
use crate::puppet::types::signature::Function;
use crate::puppet::types::{assert_instance, constructors, is_instance};
use crate::puppet::{Error, ruby, time};
use crate::value::Value;

/// Returns an entry of the first argument, or `None` if it is not a hash or the entry is undef.
fn entry(args: &[Value], name: &str) -> Option<Value> {
    args.first()?.as_hash()?.get(name).filter(|value| !value.is_undef()).cloned()
}

/// Evaluates `Integer.new(from, radix, abs)`.
pub(super) fn integer(args: &[Value]) -> NewValue {
    let function = constructors::integer()?;
    let (from, radix, abs) = match function.pick(args)? {
        Some(0) => (args[0].clone(), args.get(1).cloned(), is_true(args.get(2))),
        Some(_) => {
            (entry(args, "from").unwrap_or_default(), entry(args, "radix"), is_true(entry(args, "abs").as_ref()))
        }
        None => return Err(refused_integer(function, args)?),
    };
    let radix = match radix {
        Some(Value::Integer(radix)) => Some(radix),
        _ => None,
    };
    let n = to_integer(&from, radix)?;
    Ok(if abs { absolute(n) } else { n })
}

fn is_true(value: Option<&Value>) -> bool {
    value.is_some_and(|value| matches!(value, Value::Boolean(true)))
}

/// Returns the error for arguments of which no integer can be made. A hash is checked more closely.
fn refused_integer(function: &Function, args: &[Value]) -> Result<Error, Error> {
    if let [Value::Hash(hash)] = args {
        if let Some(from) = hash.get("from")
            && !is_instance(&function.local_type("Convertible")?, from)?
        {
            let text = refused(function, std::slice::from_ref(from), "Integer");
            // The inner error is reported without repeating the name of the function.
            return Ok(text);
        }
        if let Some(radix) = hash.get("radix").filter(|radix| !radix.is_undef()) {
            check_radix(radix)?;
        }
        let error = assert_instance("Integer.new", &function.local_type("NamedArgs")?, args[0].clone());
        return Ok(error.err().unwrap_or_else(|| function.mismatch(args)));
    }
    let numbers = |arg: &Value| matches!(arg, Value::Integer(_) | Value::BigInteger(_));
    let fits = match args {
        [_] => true,
        [_, radix] => numbers(radix),
        [_, radix, abs] => numbers(radix) && matches!(abs, Value::Boolean(_)),
        _ => false,
    };
    if !fits {
        return Ok(function.mismatch(args));
    }
    if let Some(radix) = args.get(1) {
        check_radix(radix)?;
    }
    Ok(refused(function, args, "Integer"))
}

fn check_radix(radix: &Value) -> Result<(), Error> {
    match radix {
        Value::Integer(2 | 8 | 10 | 16) => Ok(()),
        Value::Symbol(name) if &**name == "default" => Ok(()),
        other => {
            let text = format!("Illegal radix: {}, expected 2, 8, 10, 16, or default", other.to_s());
            Err(Error::puppet(text))
        }
    }
}

/// Returns the error for a value that cannot be converted, unless an argument other than the first is wrong.
fn refused_with_abs(function: &Function, args: &[Value], to: &str) -> Error {
    match args {
        [_] | [_, Value::Boolean(_)] => refused(function, args, to),
        _ => function.mismatch(args),
    }
}

fn to_integer(from: &Value, radix: Option<i64>) -> NewValue {
    match from {
        Value::Integer(_) | Value::BigInteger(_) => Ok(from.clone()),
        Value::Float(f) => float_to_integer(*f),
        Value::Boolean(b) => Ok(Value::Integer(i64::from(*b))),
        Value::Rich(rich) => Ok(time::seconds(rich).unwrap_or_default()),
        Value::String(text) => {
            let parse = |text: &str| match radix {
                Some(radix) => ruby::integer(text, radix),
                None => ruby::integer(text, 0),
            };
            let spaced = || without_space(text).and_then(|text| parse(&text));
            let error = || Error::puppet(format!("invalid value for Integer(): {}", from.inspect()));
            parse(text).or_else(spaced).ok_or_else(error)
        }
        _ => Ok(Value::Undef),
    }
}

/// Converts a float as Ruby's `Float#to_i` does.
fn float_to_integer(f: f64) -> NewValue {
    if !f.is_finite() {
        return Err(Error::puppet(Value::Float(f).to_s()));
    }
    let whole = format!("{:.0}", f.trunc());
    Ok(whole.parse::<BigInt>().map_or(Value::Integer(0), Value::big))
}

/// Removes the space between a sign and its number; returns `None` for any other text.
fn without_space(text: &str) -> Option<String> {
    static APART: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\A([+-])[\p{Zs}\t]+(.*)\z").ok());
    let found = APART.as_ref()?.captures(text)?;
    Some(format!("{}{}", &found[1], &found[2]))
}

fn absolute(n: Value) -> Value {
    match n {
        Value::Integer(n) => Value::big(BigInt::from(n).magnitude().clone().into()),
        Value::BigInteger(n) => Value::big(n.magnitude().clone().into()),
        Value::Float(f) => Value::Float(f.abs()),
        other => other,
    }
}

/// Evaluates `Float.new(from, abs)`.
pub(super) fn float(args: &[Value]) -> NewValue {
    let function = constructors::float()?;
    let (from, abs) = match function.pick(args)? {
        Some(0) => (args[0].clone(), is_true(args.get(1))),
        Some(_) => (entry(args, "from").unwrap_or_default(), is_true(entry(args, "abs").as_ref())),
        None => return Err(refused_with_abs(function, args, "Float")),
    };
    let f = to_float(&from)?;
    Ok(Value::Float(if abs { f.abs() } else { f }))
}

fn to_float(from: &Value) -> Result<f64, Error> {
    match from {
        Value::Boolean(b) => Ok(f64::from(u8::from(*b))),
        Value::Rich(rich) => Ok(time::seconds_float(rich)),
        Value::String(text) => {
            if text.starts_with('0') && text.len() == 1 {
                return Err(Error::bare("undefined method `casecmp' for nil:NilClass"));
            }
            if let Some("0b" | "0B") = text.get(..2) {
                return ruby::float(&ruby::integer(text, 0).unwrap_or_default());
            }
            match (ruby::float_of(text), without_space(text).map(|text| ruby::float_of(&text))) {
                (Some(f), _) | (None, Some(Some(f))) => Ok(f),
                _ => Err(Error::puppet(format!("invalid value for Float(): {}", from.inspect()))),
            }
        }
        other => ruby::float(other),
    }
}

/// Evaluates `Numeric.new(from, abs)`.
pub(super) fn numeric(args: &[Value]) -> NewValue {
    let function = constructors::numeric()?;
    let (from, abs) = match function.pick(args)? {
        Some(0) => (args[0].clone(), is_true(args.get(1))),
        Some(_) => (entry(args, "from").unwrap_or_default(), is_true(entry(args, "abs").as_ref())),
        None => return Err(refused_with_abs(function, args, "Numeric")),
    };
    let n = to_numeric(&from);
    match (abs, &n) {
        (true, Value::Undef) => Err(Error::bare("undefined method `abs' for nil:NilClass")),
        (true, _) => Ok(absolute(n)),
        (false, _) => Ok(n),
    }
}

/// Returns the number that a value stands for, or undef for a text that is not a number in Puppet's language.
fn to_numeric(from: &Value) -> Value {
    static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let blank = r"[\p{Zs}\t]*";
        Regex::new(&format!(
            r"\A{blank}([-+]?){blank}((0[xX][0-9A-Fa-f]+)|(0?[0-9]+)((?:\.[0-9]+)?(?:[eE]-?[0-9]+)?)){blank}\z"
        ))
        .ok()
    });
    let text = match from {
        Value::Boolean(b) => return Value::Integer(i64::from(*b)),
        Value::Rich(rich) => return Value::Float(time::seconds_float(rich)),
        Value::String(text) => text,
        other => return other.clone(),
    };
    if let Some("0b" | "0B" | "0x" | "0X") = text.get(..2) {
        return ruby::integer(text, 0).unwrap_or_default();
    }
    let Some(found) = NUMBER.as_ref().and_then(|number| number.captures(text)) else { return Value::Undef };
    let group = |n: usize| found.get(n).map_or("", |part| part.as_str());
    let negative = group(1) == "-";
    if group(5).is_empty() {
        let signed = format!("{}{}", group(1), group(2));
        return ruby::integer(&signed, 0).unwrap_or_default();
    }
    let is_zero = ruby::integer(group(4), 0) == Some(Value::Integer(0));
    let exponent_of_zero = group(5).trim_start_matches('.').trim_start_matches('0').starts_with(['e', 'E']);
    let f = ruby::strtod(group(2));
    if ruby::integer(group(4), 0).is_none() || is_zero && exponent_of_zero || f.is_infinite() {
        return Value::Undef;
    }
    Value::Float(if negative { -f } else { f })
}
