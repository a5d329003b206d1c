//! Numbers as Psych finds them in plain scalars, and Ruby's `Float()` for `!!float`.

use num_bigint::BigInt;

use super::{Psych, Refusal};
use crate::puppet::ruby;
use crate::value::Value;

/// The maximum number of digits of an integer, more than any sane one has; reading takes more than linear time.
const MAX_DIGITS: usize = 20_000;

/// Ruby copies a float with underscores into this many bytes, and loses the rest.
const RUBY_BUFFER: usize = 60;

/// Returns the number that `text` stands for, or `None` if it stands for none.
pub(super) fn read(text: &str, psych: Psych) -> Option<Result<Value, Refusal>> {
    if let Some(number) = plain_integer(text) {
        return Some(Ok(number));
    }
    // Any other character shows at once that it is not a number, which is true of most texts that start with a digit.
    if !text.bytes().all(|b| b.is_ascii_hexdigit() || b"+-.,_:xXiInN".contains(&b)) {
        return None;
    }
    special(text)
        .map(|f| Ok(Value::Float(f)))
        .or_else(|| base60(text))
        .or_else(|| float(text))
        .or_else(|| integer(text, psych))
}

/// The maximum number of digits that surely fit into 64 bits.
const FITTING: usize = 18;

/// Reads an integer that consists only of digits, without a leading zero, as nearly every number does: `17`.
fn plain_integer(text: &str) -> Option<Value> {
    let [b'1'..=b'9', rest @ ..] = text.as_bytes() else { return None };
    let is_plain = rest.len() < FITTING && rest.iter().all(u8::is_ascii_digit);
    if is_plain { text.parse().ok().map(Value::Integer) } else { None }
}

fn special(text: &str) -> Option<f64> {
    if text.eq_ignore_ascii_case(".inf") || text.eq_ignore_ascii_case("+.inf") {
        Some(f64::INFINITY)
    } else if text.eq_ignore_ascii_case("-.inf") {
        Some(f64::NEG_INFINITY)
    } else {
        text.eq_ignore_ascii_case(".nan").then_some(f64::NAN)
    }
}

/// Returns the sign, if any, and what follows it.
fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// Reads a number in base 60, whose first part Psych takes for hours: `1:30` is 5400.
fn base60(text: &str) -> Option<Result<Value, Refusal>> {
    let (negative, unsigned) = sign(text);
    let mut parts = unsigned.split(':');
    let first = parts.next().filter(|p| is_digits_with(p, b"_"))?;
    let rest: Vec<&str> = parts.collect();
    if rest.is_empty() || rest.len() > 2 {
        return None;
    }
    let last = rest.len() - 1;
    let (whole, fraction) = rest[last].split_once('.').map_or((rest[last], None), |(w, f)| (w, Some(f)));
    if !rest[..last].iter().chain(&[whole]).all(|p| is_sixty(p)) {
        return None;
    }
    match fraction {
        None => Some(base60_integer(negative, first, &rest)),
        Some(f) if f.bytes().all(|b| b.is_ascii_digit() || b == b'_') => {
            Some(Ok(Value::Float(base60_float(negative, first, &rest))))
        }
        Some(_) => None,
    }
}

fn base60_integer(negative: bool, first: &str, rest: &[&str]) -> Result<Value, Refusal> {
    let mut sum: BigInt = big(&leading_digits(first), 10)? * 3600;
    if negative {
        sum = -sum;
    }
    for (part, unit) in rest.iter().zip([60, 1]) {
        sum += part.parse::<i64>().unwrap_or(0) * unit;
    }
    Ok(Value::big(sum))
}

fn base60_float(negative: bool, first: &str, rest: &[&str]) -> f64 {
    let first = leading_digits(first).parse::<f64>().unwrap_or(0.0);
    let mut sum = 0.0 + if negative { -first } else { first } * 3600.0;
    for (part, unit) in rest.iter().zip([60.0, 1.0]) {
        sum += leading_float(part) * unit;
    }
    sum
}

/// Converts digits, a dot and digits as Ruby's `to_f` does: skips single underscores between digits, but stops at
/// others.
fn leading_float(text: &str) -> f64 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = leading_digits(fraction);
    format!("{}.{}", leading_digits(whole), if fraction.is_empty() { "0" } else { &fraction }).parse().unwrap_or(0.0)
}

fn leading_digits(text: &str) -> String {
    let mut digits = String::new();
    let mut previous = b'_';
    for b in text.bytes() {
        match b {
            b'_' if previous != b'_' => {}
            b'0'..=b'9' => digits.push(char::from(b)),
            _ => break,
        }
        previous = b;
    }
    digits
}

fn is_sixty(part: &str) -> bool {
    matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'])
}

/// Returns true for a digit, followed by digits and the bytes of `others`.
fn is_digits_with(text: &str, others: &[u8]) -> bool {
    text.as_bytes().first().is_some_and(u8::is_ascii_digit)
        && text.bytes().all(|b| b.is_ascii_digit() || others.contains(&b))
}

/// Reads a float, which has a dot, and a sign in its exponent: `1_000.5e+3`, `.5`, `1.`.
fn float(text: &str) -> Option<Result<Value, Refusal>> {
    let (_, unsigned) = sign(text);
    let (whole, rest) = unsigned.split_once('.')?;
    if !whole.is_empty() && !is_digits_with(whole, b"_,") {
        return None;
    }
    let (fraction, exponent) = rest.find(['e', 'E']).map_or((rest, None), |at| (&rest[..at], Some(&rest[at + 1..])));
    if !fraction.bytes().all(|b| b.is_ascii_digit()) || exponent.is_some_and(|e| !is_signed_digits(e)) {
        return None;
    }
    if unsigned == "." {
        return Some(Ok(Value::from(text)));
    }
    let mut cleaned = text.replace([',', '_'], "");
    if fraction.is_empty() {
        cleaned = cleaned.replace('.', "");
    }
    Some(to_float(&cleaned).map(Value::Float))
}

fn is_signed_digits(text: &str) -> bool {
    text.strip_prefix(['+', '-']).is_some_and(|d| is_digits_with(d, b""))
}

/// Reads an integer: `017`, `0x1f`, `0b101`, `1_000`, `1,000`.
fn integer(text: &str, psych: Psych) -> Option<Result<Value, Refusal>> {
    let (negative, unsigned) = sign(text);
    let bytes = unsigned.as_bytes();
    let (radix, shape, prefix) = match bytes {
        [b'0', b'b', rest @ ..] => {
            (2, !rest.is_empty() && rest.iter().all(|b| matches!(b, b'0' | b'1' | b'_' | b',')), 2)
        }
        [b'0', b'x', rest @ ..] => {
            (16, !rest.is_empty() && rest.iter().all(|b| b.is_ascii_hexdigit() || matches!(b, b'_' | b',')), 2)
        }
        [b'0'] => (10, true, 0),
        [b'0', rest @ ..] => (8, rest.iter().all(|b| matches!(b, b'0'..=b'7' | b'_' | b',')), 1),
        _ => (10, is_grouped(bytes), 0),
    };
    if !shape {
        return None;
    }
    let digits = unsigned[prefix..].replace([',', '_'], "");
    if digits.is_empty() {
        if psych >= Psych::V5_2 {
            return None;
        }
        // `0_` is zero, `0x_` is an error in Ruby.
        let all = text.replace([',', '_'], "");
        return Some(if radix == 8 { Ok(0.into()) } else { Err(invalid("Integer", &all)) });
    }
    Some(integer_of_digits(&digits, radix, negative))
}

/// Returns true for a digit that is not zero, followed by digits with single separators between them.
fn is_grouped(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(b'1'..=b'9'))
        && bytes.last().is_some_and(u8::is_ascii_digit)
        && bytes.iter().all(|b| b.is_ascii_digit() || matches!(b, b',' | b'_'))
        && bytes.windows(2).all(|pair| pair.iter().any(u8::is_ascii_digit))
}

fn integer_of_digits(digits: &str, radix: u32, negative: bool) -> Result<Value, Refusal> {
    if let Ok(n) = i64::from_str_radix(digits, radix) {
        return Ok(Value::Integer(if negative { -n } else { n }));
    }
    let n = big(digits, radix)?;
    Ok(Value::big(if negative { -n } else { n }))
}

fn big(digits: &str, radix: u32) -> Result<BigInt, Refusal> {
    if digits.len() > MAX_DIGITS {
        return Err(Refusal::Limit(format!("an integer of more than {MAX_DIGITS} digits")));
    }
    Ok(BigInt::parse_bytes(digits.as_bytes(), radix).unwrap_or_default())
}

/// Returns Ruby's error, which shows text that is not ASCII by its bytes.
fn invalid(kind: &str, text: &str) -> Refusal {
    Refusal::Error(format!("invalid value for {kind}(): {}", Value::binary(text.as_bytes().into()).inspect()))
}

/// Converts a text as Ruby's `Float(text)` does.
pub(super) fn to_float(text: &str) -> Result<f64, Refusal> {
    if text.contains('\0') {
        return Err(Refusal::Error("string for Float contains null byte".into()));
    }
    let trimmed = text.trim_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let (negative, unsigned) = sign(trimmed);
    if unsigned.starts_with("0x") || unsigned.starts_with("0X") {
        return Err(Refusal::Limit("a hexadecimal float".into()));
    }
    if trimmed.contains('_') && trimmed.len() >= RUBY_BUFFER {
        return Err(Refusal::Limit("a long float with underscores".into()));
    }
    decimal_float(unsigned).map(|f| if negative { -f } else { f }).ok_or_else(|| invalid("Float", text))
}

fn decimal_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.find(['e', 'E']).map_or((text, None), |at| (&text[..at], Some(&text[at + 1..])));
    let (whole, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(w, f)| (w, Some(f)));
    let fits = (is_in_groups(whole) || (whole.is_empty() && fraction.is_some()))
        && fraction.is_none_or(is_in_groups)
        && exponent.is_none_or(|e| is_in_groups(sign(e).1));
    fits.then(|| ruby::strtod(&text.replace('_', "")))
}

/// Returns true for digits with single underscores between them.
fn is_in_groups(text: &str) -> bool {
    is_digits_with(text, b"_") && !text.ends_with('_') && !text.contains("__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_integer_is_what_the_rules_make_of_it() {
        let digits = "7".repeat(FITTING + 3);
        let lengths = (1..digits.len()).map(|len| digits[..len].to_owned());
        let texts = (0..2_000)
            .flat_map(|n: u32| [format!("{n}"), format!("0{n}"), format!("-{n}"), format!("{n}_1"), format!("{n}.")]);
        let mut plain = 0;
        for text in lengths.chain(texts) {
            if let Some(value) = plain_integer(&text) {
                assert_eq!((special(&text), base60(&text), float(&text)), (None, None, None), "{text}");
                assert_eq!(integer(&text, Psych::V4), Some(Ok(value)), "{text}");
                plain += 1;
            }
        }
        assert_eq!(plain, FITTING + 1_999);
    }
}
