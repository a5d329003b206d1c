//! Points in time and lengths of time, as Puppet reads them from texts, numbers and hashes.
//!
//! All times are nanoseconds. [`timestamp`] and [`timespan`] read texts in formats; those of a timestamp are the
//! formats of Ruby's `strptime`.
//!
//! Source: `pops/time/*.rb`.

mod strptime;
pub mod timespan;
pub mod timestamp;
mod zones;

use num_bigint::BigInt;

use super::Error;
use crate::value::rich::Rich;
use crate::value::rich::timestamp::SECOND;
use crate::value::{Hash, Value};

/// A number of nanoseconds, or an error if it cannot be read or is out of range.
pub type Time = Result<i128, Error>;

/// Returns the error for a time of more nanoseconds than hierad can count.
fn out_of_range() -> Error {
    Error::unknown("a time that many ages away")
}

/// Returns the time of a number of seconds, perhaps with a fraction.
pub fn of_seconds(seconds: &Value) -> Time {
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

fn big(value: &Value) -> BigInt {
    match value.bare() {
        Value::Integer(n) => BigInt::from(*n),
        Value::BigInteger(n) => (**n).clone(),
        _ => BigInt::ZERO,
    }
}

/// Returns the whole seconds of a time, or `None` for another value.
pub fn seconds(rich: &Rich) -> Option<Value> {
    match rich {
        Rich::Timestamp(time) | Rich::Timespan(time) => Some(Value::big(BigInt::from(time.div_euclid(SECOND)))),
        _ => None,
    }
}

/// Returns the seconds of a time: Ruby's `fdiv` of its nanoseconds.
pub fn seconds_float(rich: &Rich) -> f64 {
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

/// Returns the bound of a `Timestamp` type that `value` stands for, or `None` for an open end.
pub fn timestamp_bound(value: &Value) -> Result<Option<i128>, Error> {
    bound(value, "Timestamp", |text| timestamp::parse(text, None, None), timestamp::of_hash)
}

/// Returns the bound of a `Timespan` type that `value` stands for, or `None` for an open end.
pub fn timespan_bound(value: &Value) -> Result<Option<i128>, Error> {
    bound(value, "Timespan", |text| timespan::parse(text, None), timespan::of_hash)
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
            let class = other.class_name();
            Err(Error::puppet(format!("Unable to create a Puppet::Pops::Time::{name} from a {class}")))
        }
    }
}

/// Returns the formats in an array. Fails if one is not UTF-8.
fn several_formats(formats: &Value) -> Result<Vec<String>, Error> {
    let items = formats.as_array().unwrap_or_else(|| std::slice::from_ref(formats));
    if items.iter().any(|item| matches!(item.bare(), Value::Bytes(_))) {
        return Err(Error::unknown("a format that is not UTF-8"));
    }
    Ok(items.iter().filter_map(|format| format.as_str().map(str::to_owned)).collect())
}
