//! Reads numbers as Ruby's `Integer()` and `Float()` do, from the characters that the tokenizer passes to them.
//!
//! Source: `pull_number` in `tokenizer.rb`, `config_number.rb`.

use num_bigint::BigInt;

use super::{Refusal, Result};
use crate::puppet::ruby;
use crate::value::Value;

/// The maximum number of digits of an integer, since reading takes more than linear time.
const MAX_DIGITS: usize = 20_000;

/// The characters of numbers.
pub(super) const CHARACTERS: &[u8] = b"0123456789eE+-.";

/// Parses a number; returns `None` if `text` is not one.
pub(super) fn read(text: &str) -> Result<Option<Value>> {
    if text.contains(['.', 'e', 'E']) {
        return if is_float(text) { whole_or_float(ruby::strtod(text)).map(Some) } else { Ok(None) };
    }
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let radix = if digits.len() > 1 && digits.starts_with('0') { 8 } else { 10 };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Ok(None);
    }
    if digits.len() > MAX_DIGITS {
        return Err(Refusal::Limit(format!("an integer of more than {MAX_DIGITS} digits")));
    }
    let number = BigInt::parse_bytes(digits.as_bytes(), radix).unwrap_or_default();
    Ok(Some(Value::big(if negative { -number } else { number })))
}

fn is_float(text: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(m, e)| (m, Some(e)));
    let mantissa_fits = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole.is_empty() || is_digits(whole)) && is_digits(fraction),
        None => is_digits(mantissa),
    };
    mantissa_fits && exponent.is_none_or(|e| is_digits(e.strip_prefix(['+', '-']).unwrap_or(e)))
}

/// Returns a float, or an integer if it is whole, as the gem does.
fn whole_or_float(float: f64) -> Result<Value> {
    if float.is_infinite() {
        return Err(Refusal::Ruby(if float > 0.0 { "Infinity" } else { "-Infinity" }.into()));
    }
    Ok(if float.fract() == 0.0 { Value::big(integer(float)) } else { Value::Float(float) })
}

/// Converts a whole float to an integer.
fn integer(float: f64) -> BigInt {
    let bits = float.to_bits();
    let exponent = (bits >> 52) & 0x7ff;
    if exponent == 0 {
        return BigInt::default();
    }
    let mantissa = BigInt::from((bits & ((1 << 52) - 1)) | (1 << 52));
    let magnitude = if exponent >= 1075 { mantissa << (exponent - 1075) } else { mantissa >> (1075 - exponent) };
    if float.is_sign_negative() { -magnitude } else { magnitude }
}
