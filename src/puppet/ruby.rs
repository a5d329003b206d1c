//! Ruby's methods of strings and numbers, for the texts that Puppet and its libraries read with them.
//!
//! They take and return plain texts and [`Value`]s. Ruby's way to write and compare values is part of [`Value`] itself.
//!
//! Source: Ruby 3.1, which the reference Puppet runs on.

use std::sync::LazyLock;

use num_bigint::BigInt;
use regex::Regex;

use super::Error;
use crate::value::Value;

/// Trims white space and NUL at both ends: `String#strip`.
pub fn strip(text: &str) -> &str {
    text.trim_matches(['\0', '\t', '\n', '\u{b}', '\u{c}', '\r', ' '])
}

/// Drops a byte order mark at the start of `content`, as the encoding `BOM|UTF-8` does.
pub fn without_byte_order_mark(content: &[u8]) -> &[u8] {
    content.strip_prefix("\u{feff}".as_bytes()).unwrap_or(content)
}

/// Returns the integer that the text starts with, 0 if there is none: `String#to_i`.
pub fn to_i(text: &str) -> Value {
    let text = text.trim_start_matches(['\t', '\n', '\u{b}', '\u{c}', '\r', ' ']);
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => ("-", &text[1..]),
        Some(b'+') => ("", &text[1..]),
        _ => ("", text),
    };
    let mut number = String::from(sign);
    let mut underscore = true;
    for c in digits.chars() {
        match c {
            '0'..='9' => number.push(c),
            '_' if !underscore => {}
            _ => break,
        }
        underscore = c == '_';
    }
    number.parse().map_or(Value::Integer(0), Value::big)
}

/// Converts a text of a sign, letters and digits as `Integer(text, radix)` does. If `radix` is 0, the text's prefix
/// decides. Returns `None` where Ruby raises an exception.
pub fn integer(text: &str, radix: i64) -> Option<Value> {
    let text = text.trim_start_matches(['\t', '\n', '\u{b}', '\u{c}', '\r', ' ']);
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let prefix = match lower.get(..2) {
        Some("0x") => Some(16),
        Some("0b") => Some(2),
        _ => None,
    };
    let (base, digits) = match (radix, prefix) {
        (0, Some(base)) => (base, &lower[2..]),
        (16, Some(16)) => (16, &lower[2..]),
        (2, Some(2)) => (2, &lower[2..]),
        (0, None) if lower.len() > 1 && lower.starts_with('0') => (8, lower.as_str()),
        (0, None) => (10, lower.as_str()),
        (radix, _) => (u32::try_from(radix).ok()?, lower.as_str()),
    };
    if !digits.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let n = BigInt::parse_bytes(digits.as_bytes(), base)?;
    Some(Value::big(if negative { -n } else { n }))
}

/// Converts a value to a float: `Float(value)`.
pub fn float(value: &Value) -> Result<f64, Error> {
    match value {
        Value::Float(f) => Ok(*f),
        Value::Integer(_) | Value::BigInteger(_) => Ok(value.to_s().parse().unwrap_or(f64::INFINITY)),
        Value::String(text) => {
            float_of(text).ok_or_else(|| Error::puppet(format!("invalid value for Float(): {}", value.inspect())))
        }
        other => {
            let text = format!("can't convert {} into Float", other.class_name());
            Err(Error::puppet(text))
        }
    }
}

/// Returns the float that a decimal or hexadecimal text stands for, or `None` where Ruby's `Float()` raises an
/// exception.
pub fn float_of(text: &str) -> Option<f64> {
    static DECIMAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"\A[+-]?[0-9]+(?:_[0-9]+)*(?:\.[0-9]+(?:_[0-9]+)*)?(?:[eE][+-]?[0-9]+(?:_[0-9]+)*)?\z").ok()
    });
    let text = strip(text);
    let unsigned = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    if let Some(hex) = unsigned.strip_prefix("0x") {
        let n = BigInt::parse_bytes(hex.as_bytes(), 16)?;
        let f: f64 = n.to_string().parse().unwrap_or(f64::INFINITY);
        return Some(if text.starts_with('-') { -f } else { f });
    }
    DECIMAL.as_ref()?.is_match(text).then(|| strtod(&text.replace('_', "")))
}

/// Decodes base 64: `unpack("m")`. Other bytes are skipped, and a `=` ends the data where padding is allowed.
pub fn unpack(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut group = Vec::with_capacity(4);
    for b in text {
        let six = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' if group.len() >= 2 => break,
            _ => continue,
        };
        group.push(six);
        if group.len() == 4 {
            push_group(&group, &mut bytes);
            group.clear();
        }
    }
    push_group(&group, &mut bytes);
    bytes
}

fn push_group(group: &[u8], bytes: &mut Vec<u8>) {
    for (pair, shift) in group.windows(2).zip([2, 4, 6]) {
        bytes.push(pair[0] << shift | pair[1] >> (6 - shift));
    }
}

/// Converts a decimal number: `strtod`. Only about 60 digits count, so a number half-way between two floats may be
/// rounded the other way.
pub fn strtod(text: &str) -> f64 {
    const DIGITS: usize = 60;
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let fraction = rest.find(['e', 'E']).map_or(rest, |at| &rest[..at]);
    let (mut seen, mut zeros, mut used) = (whole.trim_start_matches(['+', '-', '0']).len(), 0, 0);
    for digit in fraction.bytes() {
        if seen > DIGITS {
            break;
        }
        used += 1;
        if digit == b'0' {
            zeros += usize::from(seen > 0);
        } else {
            seen += zeros + 1;
            zeros = 0;
        }
    }
    let kept = if used == 0 { "0" } else { &fraction[..used] };
    let parsed = if used == fraction.len() {
        text.parse()
    } else {
        format!("{whole}.{kept}{}", &rest[fraction.len()..]).parse()
    };
    parsed.unwrap_or_default()
}
