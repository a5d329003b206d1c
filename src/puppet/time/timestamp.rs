//! Points in time.
//!
//! Source: `pops/time/timestamp.rb`.

use super::{Time, several_formats, strptime};
use crate::puppet::Error;
use crate::value::rich::timestamp::SECOND;
use crate::value::{Hash, Value};

/// The formats that are tried if a zone is given, and if none is.
const WITHOUT_ZONE: [&str; 5] = ["%FT%T.%N", "%FT%T", "%F %T.%N", "%F %T", "%F"];
const DEFAULTS: [&str; 10] =
    ["%FT%T.%N %Z", "%FT%T %Z", "%F %T.%N %Z", "%F %T %Z", "%F %Z", "%FT%T.%N", "%FT%T", "%F %T.%N", "%F %T", "%F"];

/// Parses a time by `format`, by the first of several that fits, or by one of the defaults.
pub fn parse(text: &str, format: Option<&Value>, zone: Option<&str>) -> Time {
    let zone = zone.filter(|zone| !zone.is_empty());
    let formats = match format.map(Value::bare) {
        Some(Value::String(format)) => return parse_one(text, format, zone),
        Some(other @ (Value::Array(_) | Value::Bytes(_))) => several_formats(other)?,
        _ if zone.is_some() => WITHOUT_ZONE.map(str::to_owned).to_vec(),
        _ => DEFAULTS.map(str::to_owned).to_vec(),
    };
    for format in &formats {
        let Some(parsed) = strptime::parse(text, format)? else { continue };
        if !(parsed.has_leftover || zone.is_some() && parsed.zone.is_some()) {
            return time_in_zone(&parsed, zone);
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
    time_in_zone(&parsed, zone)
}

fn time_in_zone(parsed: &strptime::Parsed, zone: Option<&str>) -> Time {
    let time = parsed.utc()?;
    match zone.or(parsed.zone.as_deref()) {
        Some(zone) => Ok(time - strptime::utc_offset(zone)? * SECOND),
        None => Ok(time),
    }
}

/// Returns the time that a hash of `string`, `format` and `timezone` stands for.
pub fn of_hash(hash: &Hash) -> Time {
    let text = hash.get("string").and_then(Value::as_str).unwrap_or_default();
    parse(text, hash.get("format"), hash.get("timezone").and_then(Value::as_str))
}
