//! A length of time as text.
//!
//! Source: `pops/time/timespan.rb`, its first default format.

use super::timestamp::SECOND;

/// `1-02:03:04.5`. The nanoseconds after the point have neither trailing nor leading zeros.
pub fn text(span: i128) -> String {
    let sign = if span < 0 { "-" } else { "" };
    let nanos = span.unsigned_abs();
    let seconds = nanos / SECOND.unsigned_abs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let fraction = without_zeros(nanos % SECOND.unsigned_abs());
    format!("{sign}{days}-{hours:02}:{minutes:02}:{:02}.{fraction}", seconds % 60)
}

/// Returns a number without the zeros at its end.
pub fn without_zeros(mut n: u128) -> u128 {
    while n != 0 && n.is_multiple_of(10) {
        n /= 10;
    }
    n
}
