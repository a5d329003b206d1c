//! Ruby's `Kernel.format` for a single directive.
//!
//! Source: Ruby 3.1's `sprintf.c`.

use num_bigint::{BigInt, Sign};

use super::rounding::{Digits, Precision, has_exponent, int, rounded};
use super::{Format, Formatted};
use crate::puppet::{Error, Ruby};
use crate::value::Value;

/// Refuses the flags that Puppet allows for containers only.
fn check(format: &Format) -> Result<(), Error> {
    let wrong = format.flags.chars().find(|c| !matches!(c, ' ' | '+' | '#' | '0' | '-'));
    match wrong {
        None => Ok(()),
        Some('<' | '{') => Err(Error::puppet("malformed name - unmatched parenthesis")),
        Some(c) => Err(Error::puppet(format!("malformed format string - %{c}"))),
    }
}

/// Formats a text with width and precision: `%s`.
pub(super) fn text(format: &Format, text: &str) -> Formatted {
    check(format)?;
    Ok(fitted(format, text))
}

/// Formats a value as `inspect` shows it, with width and precision: `%p`.
pub(super) fn inspected(format: &Format, value: &Value) -> Formatted {
    text(format, &value.inspect())
}

/// Fits a text into width and precision, whatever the other flags are.
pub(super) fn fitted(format: &Format, text: &str) -> String {
    let cut: String = match format.precision {
        Some(most) => text.chars().take(most).collect(),
        None => text.to_owned(),
    };
    padded(cut, format.width.unwrap_or(0), format.left)
}

fn padded(text: String, width: usize, left: bool) -> String {
    let missing = " ".repeat(width.saturating_sub(text.chars().count()));
    if left { text + &missing } else { missing + &text }
}

/// Formats an integer: `%d`, `%x`, `%X`, `%o`, `%b`, `%B`.
pub(super) fn integer(format: &Format, n: &BigInt) -> Formatted {
    check(format)?;
    let base = match format.letter {
        'x' | 'X' => 16,
        'o' => 8,
        'b' | 'B' => 2,
        _ => 10,
    };
    let is_signed = base == 10 || format.has('+') || format.has(' ');
    let dots = !is_signed && n.sign() == Sign::Minus;
    let mut digits = if dots { complement(n, base) } else { n.magnitude().to_str_radix(base) };
    if format.letter == 'X' {
        digits.make_ascii_uppercase();
    }
    let sign = match (n.sign() == Sign::Minus, dots) {
        (true, false) => "-",
        (false, _) if format.has('+') => "+",
        (false, _) if format.has(' ') => " ",
        _ => "",
    };
    let precision = format.precision.map(|p| p.saturating_sub(if dots { 2 } else { 0 }));
    let prefix = prefix(format, &mut digits, dots, precision);
    let prefix_width = sign.len() + prefix.len() + if dots { 2 } else { 0 };
    let room = format.width.unwrap_or(0).saturating_sub(prefix_width);
    let zeros = format.has('0') && !format.left && precision.is_none();
    let min_digits = if zeros { room } else { precision.unwrap_or(0) };
    if precision == Some(0) && prefix.is_empty() && digits == "0" {
        digits.clear();
    }
    let fill = match (dots, base, format.letter) {
        (true, 8, _) => "7",
        (true, 2, _) => "1",
        (true, _, 'X') => "F",
        (true, ..) => "f",
        _ => "0",
    };
    let filled = fill.repeat(min_digits.saturating_sub(digits.len())) + &digits;
    let all = format!("{sign}{prefix}{}{filled}", if dots { ".." } else { "" });
    Ok(padded(all, format.width.unwrap_or(0), format.left))
}

/// Returns the prefix of the digits in the alternative form.
fn prefix(format: &Format, digits: &mut String, dots: bool, precision: Option<usize>) -> &'static str {
    if !format.alternative {
        return "";
    }
    match format.letter {
        'o' if dots || precision.is_some_and(|p| p > digits.len()) => "",
        'o' => {
            if digits == "0" {
                digits.clear();
            }
            "0"
        }
        _ if digits == "0" => "",
        'x' => "0x",
        'X' => "0X",
        'b' => "0b",
        'B' => "0B",
        _ => "",
    }
}

/// Returns the digits of a negative number in two's complement, with one leading digit in place of all its
/// repetitions.
fn complement(n: &BigInt, base: u32) -> String {
    let digits = n.magnitude().to_str_radix(base).len() + 1;
    let all = BigInt::from(base).pow(u32::try_from(digits).unwrap_or(u32::MAX));
    let text = (all + n).to_str_radix(base);
    let first = char::from_digit(base - 1, base).unwrap_or('f');
    let rest = text.trim_start_matches(first);
    format!("{first}{rest}")
}

/// Formats a float: `%f`, `%e`, `%g`, `%a` and those with capitals.
pub(super) fn float(format: &Format, f: f64, ruby: Ruby) -> Formatted {
    check(format)?;
    let letter = format.letter.to_ascii_lowercase();
    if letter == 'a' && ruby == Ruby::JRuby9_3 {
        return Err(Error::puppet(format!("malformed format string - %{}", format.letter)));
    }
    let sign = match f.is_sign_negative() && !f.is_nan() {
        true => "-",
        false if format.has('+') => "+",
        false if format.has(' ') => " ",
        false => "",
    };
    let width = format.width.unwrap_or(0);
    if !f.is_finite() {
        let name = if f.is_nan() { "NaN" } else { "Inf" };
        return Ok(padded(format!("{sign}{name}"), width, format.left));
    }
    let precision = format.precision.unwrap_or(6);
    let mut digits = match letter {
        'f' => fixed(&rounded(f.abs(), Precision::Places(precision), ruby)?, precision, format.alternative),
        'e' => exponential(&rounded(f.abs(), Precision::Digits(precision + 1), ruby)?, precision, format.alternative),
        'g' => general(f.abs(), format, ruby)?,
        _ => hexadecimal(f.abs(), format, ruby),
    };
    if ruby.is_jruby() && format.left && digits.contains("e-") && f.abs() < 1e-99 {
        return Err(Error::unknown("a text that JRuby pads wrongly, of a float below 1e-99"));
    }
    if format.letter.is_ascii_uppercase() {
        digits.make_ascii_uppercase();
    }
    let (prefix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => digits.split_at(2),
        _ => ("", digits.as_str()),
    };
    let zeros = if format.has('0') && !format.left { width } else { 0 };
    let missing = zeros.saturating_sub(sign.len() + prefix.len() + digits.len());
    Ok(padded(format!("{sign}{prefix}{}{digits}", "0".repeat(missing)), width, format.left))
}

fn fixed((digits, exponent): &Digits, places: usize, point: bool) -> String {
    let before = usize::try_from(exponent + 1).unwrap_or_default();
    let zeros = usize::try_from(-exponent - 1).unwrap_or_default();
    let (whole, decimals) = digits.split_at(before.min(digits.len()));
    let dot = if places > 0 || point { "." } else { "" };
    format!("{:0<1$}{dot}{2:0<places$}", if before == 0 { "0" } else { whole }, before, "0".repeat(zeros) + decimals)
}

fn exponential((digits, exponent): &Digits, places: usize, point: bool) -> String {
    let (first, rest) = digits.split_at(1);
    let dot = if places > 0 || point { "." } else { "" };
    let sign = if *exponent < 0 { '-' } else { '+' };
    format!("{first}{dot}{rest:0<places$}e{sign}{:02}", exponent.abs())
}

fn general(f: f64, format: &Format, ruby: Ruby) -> Formatted {
    let count = format.precision.unwrap_or(6).max(1);
    let digits = rounded(f, Precision::General(count), ruby)?;
    if ruby.is_jruby() && format.alternative {
        return Err(Error::unknown(format!("the format '%#{}' of a float on JRuby", format.letter)));
    }
    let shown = if format.alternative { count } else { digits.0.len() };
    Ok(if has_exponent(digits.1, count) {
        exponential(&digits, shown - 1, format.alternative)
    } else {
        fixed(&digits, usize::try_from(int(shown) - 1 - digits.1).unwrap_or_default(), format.alternative)
    })
}

fn hexadecimal(f: f64, format: &Format, ruby: Ruby) -> String {
    const BITS: u32 = 52;
    let bits = f.to_bits();
    let (mut mantissa, mut exponent) =
        (bits & ((1 << BITS) - 1), i64::try_from(bits >> BITS).unwrap_or_default() - 1023);
    if f == 0.0 {
        exponent = 0;
    } else if exponent == -1023 {
        let shift = mantissa.leading_zeros() - (63 - BITS);
        mantissa <<= shift;
        exponent = -1022 - i64::from(shift);
    } else {
        mantissa |= 1 << BITS;
    }
    let places = format.precision.unwrap_or(13);
    if places < 13 {
        let cut = u32::try_from((13 - places) * 4).unwrap_or_default();
        let (kept, rest, half) = (mantissa >> cut, mantissa & ((1 << cut) - 1), 1 << (cut - 1));
        // JRuby truncates.
        let up = !ruby.is_jruby() && (rest > half || rest == half && kept & 1 == 1);
        mantissa = (kept + u64::from(up)) << cut;
        if mantissa >> (BITS + 1) > 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let mut digits = format!("{:013x}", mantissa & ((1 << BITS) - 1));
    match format.precision {
        None => digits.truncate(digits.trim_end_matches('0').len()),
        Some(places) if places < 13 => digits.truncate(places),
        Some(places) => digits += &"0".repeat(places - 13),
    }
    let point = if digits.is_empty() && !format.alternative { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("0x{}{point}{digits}p{sign}{}", mantissa >> BITS, exponent.abs())
}
