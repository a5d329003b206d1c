//! `Timestamp.new` and `Timespan.new`.
//!
//! Source: `pops/types/p_timestamp_type.rb`, `p_timespan_type.rb`.

use super::NewValue;
use crate::puppet::Error;
use crate::puppet::time::{of_seconds, timespan, timestamp};
use crate::puppet::types::constructors;
use crate::value::Value;
use crate::value::rich::Rich;

/// Evaluates `Timestamp.new(text, format, timezone)`.
pub(super) fn timestamp(args: &[Value]) -> NewValue {
    let function = constructors::timestamp()?;
    let time = match (function.pick(args)?, args) {
        (Some(0), _) => return Err(Error::unknown("the time that it is")),
        (Some(1), [seconds]) => of_seconds(seconds)?,
        (Some(2), [Value::String(text), rest @ ..]) => {
            timestamp::parse(text, rest.first(), rest.get(1).and_then(Value::as_str))?
        }
        (Some(3), [Value::Hash(hash)]) => timestamp::of_hash(hash)?,
        _ => return Err(function.mismatch(args)),
    };
    Ok(Value::Rich(Rich::Timestamp(time).into()))
}

/// Evaluates `Timespan.new(text, format)`, or the same with seconds or fields.
pub(super) fn timespan(args: &[Value]) -> NewValue {
    let function = constructors::timespan()?;
    let span = match (function.pick(args)?, args) {
        (Some(0), [seconds]) => of_seconds(seconds)?,
        (Some(1), [Value::String(text), rest @ ..]) => timespan::parse(text, rest.first())?,
        (Some(2), fields) => timespan::of_fields(false, fields)?,
        (Some(_), [Value::Hash(hash)]) => timespan::of_hash(hash)?,
        _ => return Err(function.mismatch(args)),
    };
    Ok(Value::Rich(Rich::Timespan(span).into()))
}
