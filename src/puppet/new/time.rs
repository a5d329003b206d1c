//! `Timestamp.new` and `Timespan.new`, and the times that a type may be bounded by.
//!
//! Source: `pops/types/p_timestamp_type.rb`, `p_timespan_type.rb`, `pops/time/timestamp.rb`.

use num_bigint::BigInt;

use super::function::Function;
use super::span;
use super::{Made, strptime};
use crate::puppet::Error;
use crate::value::rich::Rich;
use crate::value::rich::timestamp::SECOND;
use crate::value::{Hash, Value};

type Found = Result<&'static Function, Error>;
type Time = Result<i128, Error>;

const FORMATS: (&str, &str) = ("Formats", "Variant[String[2],Array[String[2], 1]]");

/// With a zone or without one.
const WITHOUT_ZONE: [&str; 5] = ["%FT%T.%N", "%FT%T", "%F %T.%N", "%F %T", "%F"];
const DEFAULTS: [&str; 10] =
    ["%FT%T.%N %Z", "%FT%T %Z", "%F %T.%N %Z", "%F %T %Z", "%F %Z", "%FT%T.%N", "%FT%T", "%F %T.%N", "%F %T", "%F"];

/// The most nanoseconds that hierad can tell apart.
pub(super) fn out_of_range() -> Error {
    Error::unknown("a time that many ages away")
}

pub(super) fn timestamp_function() -> Found {
    new_function!(
        "new_timestamp",
        &[FORMATS],
        &[
            &[],
            &[("seconds", "Variant[Integer,Float]")],
            &[("string", "String[1]"), ("format?", "Formats"), ("timezone?", "String[1]")],
            &[(
                "hash_arg",
                "Struct[{string => String[1], Optional[format] => Formats, Optional[timezone] => String[1]}]",
            )],
        ]
    )
}

/// `Timestamp.new(text, format, timezone)`.
pub(super) fn timestamp(args: &[Value]) -> Made {
    let function = timestamp_function()?;
    let time = match (function.pick(args)?, args) {
        (Some(0), _) => return Err(Error::unknown("the time that it is")),
        (Some(1), [seconds]) => of_seconds(seconds)?,
        (Some(2), [Value::String(text), rest @ ..]) => {
            parse_timestamp(text, rest.first(), rest.get(1).and_then(Value::as_str))?
        }
        (Some(3), [Value::Hash(hash)]) => timestamp_of_hash(hash)?,
        _ => return Err(function.mismatch(args)),
    };
    Ok(Value::Rich(Rich::Timestamp(time).into()))
}

fn timestamp_of_hash(hash: &Hash) -> Time {
    let text = hash.get("string").and_then(Value::as_str).unwrap_or_default();
    parse_timestamp(text, hash.get("format"), hash.get("timezone").and_then(Value::as_str))
}

pub(super) fn timespan_function() -> Found {
    new_function!(
        "new_timespan",
        &[FORMATS],
        &[
            &[("seconds", "Variant[Integer,Float]")],
            &[("string", "String[1]"), ("format?", "Formats")],
            &[
                ("days", "Integer"),
                ("hours", "Integer"),
                ("minutes", "Integer"),
                ("seconds", "Integer"),
                ("milliseconds?", "Integer"),
                ("microseconds?", "Integer"),
                ("nanoseconds?", "Integer"),
            ],
            &[("hash_arg", "Struct[{string => String[1], Optional[format] => Formats}]")],
            &[(
                "hash_arg",
                "Struct[{Optional[negative] => Boolean, Optional[days] => Integer, Optional[hours] => Integer, \
                 Optional[minutes] => Integer, Optional[seconds] => Integer, Optional[milliseconds] => Integer, \
                 Optional[microseconds] => Integer, Optional[nanoseconds] => Integer}]",
            )],
        ]
    )
}

/// `Timespan.new(text, format)`, of seconds or of fields.
pub(super) fn timespan(args: &[Value]) -> Made {
    let function = timespan_function()?;
    let span = match (function.pick(args)?, args) {
        (Some(0), [seconds]) => of_seconds(seconds)?,
        (Some(1), [Value::String(text), rest @ ..]) => span::parse(text, rest.first())?,
        (Some(2), fields) => of_fields(false, fields)?,
        (Some(_), [Value::Hash(hash)]) => timespan_of_hash(hash)?,
        _ => return Err(function.mismatch(args)),
    };
    Ok(Value::Rich(Rich::Timespan(span).into()))
}

/// The parts of a length of time.
const FIELDS: [&str; 7] = ["days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds"];

fn timespan_of_hash(hash: &Hash) -> Time {
    if let Some(Value::String(text)) = hash.get("string") {
        return span::parse(text, hash.get("format"));
    }
    let field = |name: &str| hash.get(name).filter(|n| n.is_truthy()).cloned().unwrap_or(Value::Integer(0));
    of_fields(hash.get("negative").is_some_and(Value::is_truthy), &FIELDS.map(field))
}

/// Days, hours, minutes, seconds, milliseconds, microseconds, nanoseconds; the last may be missing.
fn of_fields(negative: bool, fields: &[Value]) -> Time {
    const UNITS: [i64; 7] = [86_400_000_000_000, 3_600_000_000_000, 60_000_000_000, 1_000_000_000, 1_000_000, 1_000, 1];
    let amount = |(field, unit): (&Value, &i64)| big(field) * BigInt::from(*unit);
    let nanos: BigInt = fields.iter().zip(UNITS.iter()).map(amount).sum();
    i128::try_from(if negative { -nanos } else { nanos }).map_err(|_| out_of_range())
}

fn big(value: &Value) -> BigInt {
    match value.bare() {
        Value::Integer(n) => BigInt::from(*n),
        Value::BigInteger(n) => (**n).clone(),
        _ => BigInt::ZERO,
    }
}

/// Seconds, perhaps with a fraction, as nanoseconds.
fn of_seconds(seconds: &Value) -> Time {
    match seconds.bare() {
        Value::Float(f) => {
            let nanos = f * 1e9;
            if !nanos.is_finite() {
                return Err(Error::puppet(Value::Float(nanos).to_s()));
            }
            format!("{:.0}", nanos.trunc()).parse().map_err(|_| out_of_range())
        }
        other => i128::try_from(big(other) * BigInt::from(SECOND)).map_err(|_| out_of_range()),
    }
}

/// The whole seconds of a time, nothing for what is none.
pub(super) fn seconds(rich: &Rich) -> Option<Value> {
    match rich {
        Rich::Timestamp(time) | Rich::Timespan(time) => Some(Value::big(BigInt::from(time.div_euclid(SECOND)))),
        _ => None,
    }
}

/// The seconds of a time: Ruby's `fdiv` of its nanoseconds.
pub(super) fn seconds_float(rich: &Rich) -> f64 {
    let (Rich::Timestamp(time) | Rich::Timespan(time)) = rich else { return 0.0 };
    let (mut a, mut b) = (time.unsigned_abs(), SECOND.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let common = i128::try_from(a).unwrap_or(1).max(1);
    #[expect(clippy::cast_precision_loss, reason = "Ruby's own")]
    let quotient = (time / common) as f64 / (SECOND / common) as f64;
    quotient
}

/// What bounds a `Timestamp` type; nothing for an open end.
pub(crate) fn timestamp_bound(value: &Value) -> Result<Option<i128>, Error> {
    bound(value, "Timestamp", |text| parse_timestamp(text, None, None), timestamp_of_hash)
}

/// What bounds a `Timespan` type; nothing for an open end.
pub(crate) fn timespan_bound(value: &Value) -> Result<Option<i128>, Error> {
    bound(value, "Timespan", |text| span::parse(text, None), timespan_of_hash)
}

fn bound(
    value: &Value,
    name: &str,
    of_text: impl Fn(&str) -> Time,
    of_hash: impl Fn(&Hash) -> Time,
) -> Result<Option<i128>, Error> {
    match value {
        Value::Undef => Ok(None),
        Value::Symbol(symbol) if &**symbol == "default" => Ok(None),
        Value::String(text) => of_text(text).map(Some),
        Value::Hash(hash) => of_hash(hash).map(Some),
        Value::Integer(_) | Value::BigInteger(_) | Value::Float(_) => of_seconds(value).map(Some),
        other => {
            let class = match other.as_type() {
                Some(kind) => format!("Puppet::Pops::Types::P{}Type", kind.simple_name()),
                None => other.class_name().to_owned(),
            };
            Err(Error::puppet(format!("Unable to create a Puppet::Pops::Time::{name} from a {class}")))
        }
    }
}

/// The time that a text says in one of some formats.
fn parse_timestamp(text: &str, format: Option<&Value>, zone: Option<&str>) -> Time {
    let zone = zone.filter(|zone| !zone.is_empty());
    let formats = match format.map(Value::bare) {
        Some(Value::String(format)) => return parse_one(text, format, zone),
        Some(other @ (Value::Array(_) | Value::Bytes(_))) => span::several_formats(other)?,
        _ if zone.is_some() => WITHOUT_ZONE.map(str::to_owned).to_vec(),
        _ => DEFAULTS.map(str::to_owned).to_vec(),
    };
    for format in &formats {
        let Some(parsed) = strptime::parse(text, format)? else { continue };
        if !(parsed.has_leftover || zone.is_some() && parsed.zone.is_some()) {
            return at(&parsed, zone);
        }
    }
    let shown = formats.join(", ");
    Err(Error::puppet(format!("Unable to parse '{text}' using any of the formats {shown}")))
}

fn parse_one(text: &str, format: &str, zone: Option<&str>) -> Time {
    let parsed = strptime::parse(text, format)?.filter(|parsed| !parsed.has_leftover);
    let Some(parsed) = parsed else {
        return Err(Error::puppet(format!("Unable to parse '{text}' using format '{format}'")));
    };
    if zone.is_some() && parsed.zone.is_some() {
        let text = "Using a Timezone designator in format specification is mutually exclusive to providing an explicit timezone argument";
        return Err(Error::puppet(text));
    }
    at(&parsed, zone)
}

fn at(parsed: &strptime::Parsed, zone: Option<&str>) -> Time {
    let time = parsed.utc()?;
    match zone.or(parsed.zone.as_deref()) {
        Some(zone) => Ok(time - strptime::utc_offset(zone)? * SECOND),
        None => Ok(time),
    }
}
