//! Values as Ruby writes and compares them: `to_s`, `inspect`, `eql?`.
//!
//! Interpolation and merges show these texts and equalities to users. Source: Ruby 3.1, which the reference Puppet runs on.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash as _, Hasher};
use std::sync::LazyLock;

use num_bigint::BigInt;
use regex::Regex;

use super::Value;

/// Ruby's `to_s`, as string interpolation uses it; `nil` is the empty text.
pub fn to_s(value: &Value) -> String {
    match value {
        Value::Undef => String::new(),
        Value::String(s) | Value::Symbol(s) => s.to_string(),
        Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
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
    }
}

/// Ruby's `Float#to_s`: `1.0`, `1.0e+20`, `1.0e-05`, `Infinity`, `NaN`.
pub fn float(f: f64) -> String {
    if f.is_nan() {
        return "NaN".into();
    }
    if f.is_infinite() {
        return if f > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    let magnitude = f.abs();
    if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        let text = format!("{f:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let dot = if mantissa.contains('.') { "" } else { ".0" };
        let (sign, digits) = exponent.strip_prefix('-').map_or(("+", exponent), |d| ("-", d));
        return format!("{mantissa}{dot}e{sign}{digits:0>2}");
    }
    let text = format!("{f}");
    if text.contains('.') { text } else { text + ".0" }
}

/// The characters that Ruby's `inspect` shows as they are: those its Unicode (13) knows, controls and separators aside.
fn is_printable(c: char) -> bool {
    static PRINTABLE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[\p{Age:13.0}--[\p{Cc}\p{Zl}\p{Zp}\p{Cn}]]$").ok());
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    PRINTABLE.as_ref().is_none_or(|re| re.is_match(c.encode_utf8(&mut [0; 4])))
}

fn inspect_text(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '#' if matches!(rest.peek(), Some('{' | '$' | '@')) => out.push_str("\\#"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{c}' => out.push_str("\\f"),
            '\u{b}' => out.push_str("\\v"),
            '\u{8}' => out.push_str("\\b"),
            '\u{7}' => out.push_str("\\a"),
            '\u{1b}' => out.push_str("\\e"),
            c if is_printable(c) => out.push(c),
            c if u32::from(c) < 0x80 => _ = write!(out, "\\x{:02X}", u32::from(c)),
            c if u32::from(c) > 0xffff => _ = write!(out, "\\u{{{:X}}}", u32::from(c)),
            c => _ = write!(out, "\\u{:04X}", u32::from(c)),
        }
    }
    out.push('"');
}

fn inspect_bytes(bytes: &[u8], out: &mut String) {
    out.push('"');
    for b in bytes {
        if (b' '..=b'~').contains(b) && !matches!(b, b'"' | b'\\') {
            out.push(char::from(*b));
        } else {
            _ = write!(out, "\\x{b:02X}");
        }
    }
    out.push('"');
}

fn inspect_symbol(symbol: &str, out: &mut String) {
    static BARE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let operator = r"\+|-|\*|/|%|\*\*|==|===|=~|!|!=|!~|<|<=|<=>|>|>=|>>|<<|&|\||\^|~|\+@|-@|\[\]|\[\]=|`";
        let name = r"(?:@@|@|\$)?[A-Za-z_\u{80}-\u{10ffff}][A-Za-z0-9_\u{80}-\u{10ffff}]*|[A-Za-z_\u{80}-\u{10ffff}][A-Za-z0-9_\u{80}-\u{10ffff}]*[?!=]?";
        Regex::new(&format!("^(?:{operator}|{name})$")).ok()
    });
    out.push(':');
    if BARE.as_ref().is_some_and(|re| re.is_match(symbol)) { out.push_str(symbol) } else { inspect_text(symbol, out) }
}

/// Ruby's `eql?`, by which `uniq` and the union of arrays compare: the order of hash entries does not count, the kinds of numbers do.
pub fn eql(a: &Value, b: &Value) -> bool {
    match (a, b) {
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
    match (a, b) {
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
    match (a, b) {
        (Value::String(_) | Value::Bytes(_), Value::String(_) | Value::Bytes(_)) => Some(raw(a).cmp(raw(b))),
        (Value::Symbol(x), Value::Symbol(y)) => Some(x.cmp(y)),
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
    match value {
        Value::Float(f) => (if *f == 0.0 { 0.0 } else { *f }).to_bits().hash(state),
        Value::Array(items) => items.iter().for_each(|item| hash_loosely(item, state)),
        Value::Hash(hash) => hash.len().hash(state),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_ruby_does() {
        let cases: [(f64, &str); 10] = [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1.0e+16"),
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
