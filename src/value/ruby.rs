//! Values as Ruby writes and compares them: `to_s`, `inspect`, `eql?`.
//!
//! Interpolation and merges show these texts and equalities to users. A text made of a secret is one, too: the caller sees to it. Source: Ruby 3.1, which the reference Puppet runs on.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash as _, Hasher};
use std::sync::LazyLock;

use num_bigint::BigInt;
use regex::Regex;

use super::{Value, symbol};

/// Ruby's `to_s`, as string interpolation uses it; `nil` is the empty text.
pub fn to_s(value: &Value) -> String {
    match value.bare() {
        Value::Undef => String::new(),
        Value::String(s) => s.as_str().to_owned(),
        Value::Symbol(s) => s.to_string(),
        Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
        Value::Rich(rich) => rich.to_text(),
        Value::Secret(secret) => to_s(&secret.1),
        other => inspect(other),
    }
}

/// Ruby's `inspect`.
pub fn inspect(value: &Value) -> String {
    let mut out = String::new();
    write_inspect(value, &mut out);
    out
}

fn write_inspect(value: &Value, out: &mut String) {
    match value {
        Value::Undef => out.push_str("nil"),
        Value::Boolean(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Integer(n) => _ = write!(out, "{n}"),
        Value::BigInteger(n) => _ = write!(out, "{n}"),
        Value::Float(f) => out.push_str(&float(*f)),
        Value::String(s) => inspect_text(s, out),
        Value::Bytes(b) => inspect_bytes(b, out),
        Value::Symbol(s) => inspect_symbol(s, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_inspect(item, out);
            }
            out.push(']');
        }
        Value::Hash(hash) => {
            out.push('{');
            for (i, (k, v)) in hash.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_inspect(k, out);
                out.push_str("=>");
                write_inspect(v, out);
            }
            out.push('}');
        }
        Value::Rich(rich) => out.push_str(&rich.inspect()),
        Value::Secret(secret) => write_inspect(&secret.1, out),
    }
}

/// Ruby's `Float#to_s`: `1.0`, `1.0e+20`, `1.0e-05`, `Infinity`, `NaN`.
pub fn float(f: f64) -> String {
    if f.is_nan() {
        return "NaN".into();
    }
    let sign = if f.is_sign_negative() { "-" } else { "" };
    if f.is_infinite() {
        return format!("{sign}Infinity");
    }
    let (digits, exponent) = shortest(f.abs());
    let count = digits.len();
    match usize::try_from(exponent + 1) {
        Ok(point @ 1..=16) if count > point => format!("{sign}{}.{}", &digits[..point], &digits[point..]),
        Ok(point @ 1..=15) => format!("{sign}{digits:0<point$}.0"),
        _ if (-4..0).contains(&exponent) => {
            let zeros = usize::try_from(-exponent - 1).unwrap_or_default();
            format!("{sign}0.{}{digits}", "0".repeat(zeros))
        }
        _ => {
            let rest = if count > 1 { &digits[1..] } else { "0" };
            let exponent_sign = if exponent < 0 { '-' } else { '+' };
            format!("{sign}{}.{rest}e{exponent_sign}{:02}", &digits[..1], exponent.abs())
        }
    }
}

/// The fewest digits that read back as `f`, and the power of ten of the first one.
fn shortest(f: f64) -> (String, i32) {
    let mut text = format!("{f:e}");
    let places = text.find('e').map_or(0, |at| at.saturating_sub(2));
    // Of two texts that are as short and as near, Ruby takes the even one.
    let exact = format!("{f:.places$e}");
    if exact.parse() == Ok(f) {
        text = exact;
    }
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or_default())
}

/// Ruby's `strtod` of a decimal number: it sees some 60 digits, so a float half way between two others may go the other way.
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

/// The characters that Ruby's `inspect` shows as they are: those its Unicode (13) knows, controls and separators aside.
fn is_printable(c: char) -> bool {
    static PRINTABLE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[\p{Age:13.0}\u{85}--[[\p{Cc}--\u{85}]\p{Zl}\p{Zp}\p{Cn}]]$").ok());
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    PRINTABLE.as_ref().is_none_or(|re| re.is_match(c.encode_utf8(&mut [0; 4])))
}

/// The escape of a character that has one of its own in every encoding; `next` follows it.
fn short_escape(c: char, next: Option<char>) -> Option<&'static str> {
    Some(match c {
        '"' => "\\\"",
        '\\' => "\\\\",
        '#' if matches!(next, Some('{' | '$' | '@')) => "\\#",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{c}' => "\\f",
        '\u{b}' => "\\v",
        '\u{8}' => "\\b",
        '\u{7}' => "\\a",
        '\u{1b}' => "\\e",
        _ => return None,
    })
}

fn inspect_text(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            c if let Some(escape) = short_escape(c, rest.peek().copied()) => out.push_str(escape),
            c if is_printable(c) => out.push(c),
            c if u32::from(c) > 0xffff => _ = write!(out, "\\u{{{:X}}}", u32::from(c)),
            c => _ = write!(out, "\\u{:04X}", u32::from(c)),
        }
    }
    out.push('"');
}

fn inspect_bytes(bytes: &[u8], out: &mut String) {
    out.push('"');
    for (at, b) in bytes.iter().enumerate() {
        let next = bytes.get(at + 1).copied().map(char::from);
        match short_escape(char::from(*b), next) {
            Some(escape) => out.push_str(escape),
            None if (b' '..=b'~').contains(b) => out.push(char::from(*b)),
            None => _ = write!(out, "\\x{b:02X}"),
        }
    }
    out.push('"');
}

/// A symbol that could be written in Ruby as it is is shown so; one of ASCII alone has no Unicode escapes.
fn inspect_symbol(symbol: &str, out: &mut String) {
    out.push(':');
    if symbol::kind(symbol).is_some() && symbol.chars().all(is_printable) {
        out.push_str(symbol);
    } else if symbol.is_ascii() {
        inspect_bytes(symbol.as_bytes(), out);
    } else {
        inspect_text(symbol, out);
    }
}

/// Ruby's `eql?`, by which `uniq` and the union of arrays compare: the order of hash entries does not count, the kinds of numbers do.
pub fn eql(a: &Value, b: &Value) -> bool {
    match (a.bare(), b.bare()) {
        (Value::Float(x), Value::Float(y)) => x == y || (x.is_nan() && y.is_nan()),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y.iter()).all(|(a, b)| eql(a, b)),
        (Value::Hash(x), Value::Hash(y)) => {
            x.len() == y.len() && x.iter().all(|(k, v)| y.get_value(k).is_some_and(|w| eql(v, w)))
        }
        _ => a == b,
    }
}

/// Ruby's `==`: as [`eql`], but `1 == 1.0`.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a.bare(), b.bare()) {
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y.iter()).all(|(a, b)| equal(a, b)),
        (Value::Hash(x), Value::Hash(y)) => {
            x.len() == y.len() && x.iter().all(|(k, v)| y.get_value(k).is_some_and(|w| equal(v, w)))
        }
        (Value::Float(x), Value::Float(y)) => x == y,
        (Value::Integer(_) | Value::BigInteger(_), Value::Float(_))
        | (Value::Float(_), Value::Integer(_) | Value::BigInteger(_)) => compare(a, b) == Some(Ordering::Equal),
        _ => a == b,
    }
}

/// Ruby's `<=>`; nothing where the two cannot be compared.
pub fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    let (a, b) = (a.bare(), b.bare());
    match (a, b) {
        (Value::String(_) | Value::Bytes(_), Value::String(_) | Value::Bytes(_)) => Some(raw(a).cmp(raw(b))),
        (Value::Symbol(x), Value::Symbol(y)) => Some(x.cmp(y)),
        (Value::Integer(x), Value::Integer(y)) => Some(x.cmp(y)),
        (Value::Float(x), Value::Float(y)) => x.partial_cmp(y),
        (Value::Float(x), _) => compare_float(*x, &big(b)?),
        (_, Value::Float(y)) => compare_float(*y, &big(a)?).map(Ordering::reverse),
        (Value::Array(x), Value::Array(y)) => {
            for (a, b) in x.iter().zip(y.iter()) {
                match compare(a, b) {
                    Some(Ordering::Equal) => {}
                    other => return other,
                }
            }
            Some(x.len().cmp(&y.len()))
        }
        (Value::Undef | Value::Boolean(_) | Value::Hash(_), _) => equal(a, b).then_some(Ordering::Equal),
        _ => Some(big(a)?.cmp(&big(b)?)),
    }
}

fn raw(value: &Value) -> &[u8] {
    match value {
        Value::String(s) => s.as_bytes(),
        Value::Bytes(b) => b,
        _ => &[],
    }
}

fn big(value: &Value) -> Option<BigInt> {
    match value {
        Value::Integer(n) => Some(BigInt::from(*n)),
        Value::BigInteger(n) => Some((**n).clone()),
        _ => None,
    }
}

fn compare_float(x: f64, n: &BigInt) -> Option<Ordering> {
    if x.is_nan() {
        return None;
    }
    if x.is_infinite() {
        return Some(if x > 0.0 { Ordering::Greater } else { Ordering::Less });
    }
    let whole: BigInt = format!("{:.0}", x.trunc()).parse().ok()?;
    Some(whole.cmp(n).then_with(|| x.fract().partial_cmp(&0.0).unwrap_or(Ordering::Equal)))
}

/// Tells which values are new by [`eql`]: Ruby's `uniq`.
#[derive(Debug, Default)]
pub struct Uniq {
    seen: HashMap<u64, Vec<Value>>,
}

impl Uniq {
    /// Whether no equal value was asked for before.
    pub fn is_new(&mut self, value: &Value) -> bool {
        let mut hasher = DefaultHasher::new();
        hash_loosely(value, &mut hasher);
        let same = self.seen.entry(hasher.finish()).or_default();
        let new = !same.iter().any(|other| eql(value, other));
        if new {
            same.push(value.clone());
        }
        new
    }
}

/// A hash that is equal for values that are [`eql`].
fn hash_loosely(value: &Value, state: &mut DefaultHasher) {
    match value.bare() {
        Value::Float(f) => (if *f == 0.0 { 0.0 } else { *f }).to_bits().hash(state),
        Value::Array(items) => items.iter().for_each(|item| hash_loosely(item, state)),
        // Whatever the order of the entries is.
        Value::Hash(hash) => {
            let entry = |(key, value): (&Value, &Value)| {
                let mut entry = DefaultHasher::new();
                key.hash(&mut entry);
                hash_loosely(value, &mut entry);
                entry.finish()
            };
            hash.iter().map(entry).fold(hash.len() as u64, u64::wrapping_add).hash(state);
        }
        other => other.hash(state),
    }
}

/// The name of a value's Ruby class.
pub fn class_name(value: &Value) -> &'static str {
    match value {
        Value::Undef => "NilClass",
        Value::Boolean(true) => "TrueClass",
        Value::Boolean(false) => "FalseClass",
        Value::Integer(_) | Value::BigInteger(_) => "Integer",
        Value::Float(_) => "Float",
        Value::String(_) | Value::Bytes(_) => "String",
        Value::Symbol(_) => "Symbol",
        Value::Array(_) => "Array",
        Value::Hash(_) => "Hash",
        Value::Rich(rich) => rich.type_name(),
        Value::Secret(secret) => class_name(&secret.1),
    }
}

/// Ruby's `String#strip`: white space and NUL at both ends.
pub fn strip(text: &str) -> &str {
    text.trim_matches(['\0', '\t', '\n', '\u{b}', '\u{c}', '\r', ' '])
}

/// Ruby's `String#to_i`: the integer that the text starts with, 0 if there is none.
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

/// Ruby's `unpack("m")`: what is no base 64 is passed over, a `=` ends the data where padding may stand.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_ruby_does() {
        let cases: [(f64, &str); 10] = [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1e14, "100000000000000.0"),
            (1e15, "1.0e+15"),
            (1.5e-7, "1.5e-07"),
            (0.0001, "0.0001"),
            (123e100, "1.23e+102"),
            (f64::INFINITY, "Infinity"),
            (f64::NAN, "NaN"),
        ];
        for (f, text) in cases {
            assert_eq!(float(f), text);
        }
    }
}
