//! Floats rounded to some digits, as each Ruby does it: not always to the nearest.
//!
//! Source: David Gay's `dtoa` as in Ruby's `missing/dtoa.c`; JRuby's `Sprintf`.

use crate::puppet::{Error, Ruby};
use crate::value::{jruby_digits, next_digits};

/// The digits that are kept.
#[derive(Debug, Clone, Copy)]
pub(super) enum Precision {
    /// This many digits after the point.
    Places(usize),
    /// This many digits in all.
    Digits(usize),
    /// This many digits in all, with an exponent only if one is needed.
    General(usize),
}

/// Digits, and the power of ten of the first one.
pub(super) type Digits = (String, i32);

/// Rounds a float that is not negative. There may be fewer digits than are kept; the others are zeros. Zeros at the
/// end that a general text shows are included.
pub(super) fn rounded(f: f64, precision: Precision, ruby: Ruby) -> Result<Digits, Error> {
    if f == 0.0 {
        return Ok(("0".into(), 0));
    }
    if ruby.is_jruby() {
        return on_jruby(f, precision);
    }
    let near = nearest(f, precision);
    Ok(half_by_ruby(f, precision, &near).unwrap_or(near))
}

fn without_zeros(digits: &str) -> &str {
    digits.trim_end_matches('0')
}

/// Returns true if a general text of `count` digits has an exponent.
pub(super) fn has_exponent(exponent: i32, count: usize) -> bool {
    exponent < -4 || usize::try_from(exponent).is_ok_and(|exponent| exponent >= count)
}

fn nearest(f: f64, precision: Precision) -> Digits {
    let text = match precision {
        Precision::Places(places) => {
            let text = format!("{f:.places$}").replace('.', "");
            let digits = text.trim_start_matches('0');
            let exponent = int(digits.len()) - int(places) - 1;
            return if digits.is_empty() { ("0".into(), 0) } else { (without_zeros(digits).to_owned(), exponent) };
        }
        Precision::Digits(count) | Precision::General(count) => format!("{f:.*e}", count.saturating_sub(1)),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (without_zeros(&mantissa.replace('.', "")).to_owned(), exponent.parse().unwrap_or_default())
}

/// Returns Ruby's result for a float that Ruby cannot distinguish from the midpoint of two results: the even one.
///
/// For few digits Ruby computes with floats, and so takes a float near the midpoint for the midpoint: 2.675, which as
/// a float is less, becomes 2.68. Otherwise the result is the nearest.
fn half_by_ruby(f: f64, precision: Precision, near: &Digits) -> Option<Digits> {
    const MAX_DIGITS: i32 = 14;
    let (mut k, is_sure) = power(f)?;
    let (mut count, is_places) = match precision {
        Precision::Places(places) => (int(places) + k + 1, true),
        Precision::Digits(count) | Precision::General(count) => (int(count).max(1), false),
    };
    if !(1..=MAX_DIGITS).contains(&count) {
        return None;
    }
    let (mut rest, mut steps) = scaled(f, k)?;
    if !is_sure && rest < 1.0 {
        count -= i32::from(is_places);
        if count < 1 {
            return None;
        }
        (k, rest, steps) = (k - 1, rest * 10.0, steps + 1);
    }
    let error = (f64::from(steps) * rest + 7.0) * f64::EPSILON * TENS.get(usize::try_from(count - 1).ok()?)?;
    let mut digits = String::new();
    loop {
        let digit = char::from_digit(format!("{:.0}", rest.trunc()).parse().ok()?, 10)?;
        digits.push(digit);
        rest -= rest.trunc();
        if rest == 0.0 {
            return None;
        }
        if int(digits.len()) == count {
            break;
        }
        rest *= 10.0;
    }
    if rest > 0.5 + error || rest < 0.5 - error {
        return None;
    }
    if digits.ends_with(['1', '3', '5', '7', '9']) {
        let (digits, carry) = next_digits(&digits);
        return Some((without_zeros(&digits).to_owned(), k + carry));
    }
    let is_small_integer = f.fract() == 0.0 && k <= MAX_DIGITS;
    (!is_small_integer && without_zeros(&digits) != near.0).then_some((digits, k))
}

const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Returns the power of ten of the first digit as Ruby estimates it, and true if the estimate is certain; `None` for
/// floats that are too small for it.
fn power(f: f64) -> Option<(i32, bool)> {
    if !f.is_normal() {
        return None;
    }
    let bits = f.to_bits();
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    let exponent = i32::try_from(bits >> 52).ok()? - 1023;
    #[expect(clippy::approx_constant, reason = "these are Ruby's")]
    let estimate =
        (mantissa - 1.5) * 0.289_529_654_602_168 + 0.176_091_259_055_8 + f64::from(exponent) * 0.301_029_995_663_981;
    let k: i32 = format!("{:.0}", estimate.floor()).parse().ok()?;
    Some(match usize::try_from(k).ok().and_then(|k| TENS.get(k)) {
        Some(ten) => (k - i32::from(f < *ten), true),
        None => (k, false),
    })
}

/// Returns `f / 10^k` as Ruby computes it, and a measure of the error of the result.
fn scaled(mut f: f64, k: i32) -> Option<(f64, i32)> {
    const SQUARES: [f64; 5] = [1e16, 1e32, 1e64, 1e128, 1e256];
    let power = usize::try_from(k.unsigned_abs()).ok()?;
    let mut factor = if k > 0 { *TENS.get(power & 15)? } else { 1.0 };
    let mut steps = 2;
    let mut squares = power >> 4;
    if k > 0 && squares & 16 != 0 {
        squares &= 15;
        f /= SQUARES[4];
        steps += 1;
    }
    if k < 0 {
        f *= TENS.get(power & 15)?;
    }
    for square in SQUARES.iter().enumerate().filter(|(at, _)| squares >> at & 1 == 1).map(|(_, square)| square) {
        steps += 1;
        if k > 0 {
            factor *= square;
        } else {
            f *= square;
        }
    }
    Some((f / factor, steps))
}

/// Rounds Java's digits as JRuby does: a five with nothing after it to the even side, or down if decimals of an `%e`
/// or `%g` remain.
fn on_jruby(f: f64, precision: Precision) -> Result<Digits, Error> {
    let (digits, exponent) = jruby_digits(f);
    let count = match precision {
        Precision::Places(places) => int(places) + exponent + 1,
        Precision::Digits(count) | Precision::General(count) => int(count).max(1),
    };
    let Ok(count) = usize::try_from(count) else { return Ok(("0".into(), 0)) };
    let Some((left, rest)) = digits.split_at_checked(count).filter(|(_, rest)| !rest.is_empty()) else {
        return Ok((digits, exponent));
    };
    let is_even = left.ends_with(['0', '2', '4', '6', '8']);
    let has_decimals = match precision {
        Precision::Places(_) => false,
        Precision::Digits(count) => count > 1,
        Precision::General(count) if has_exponent(exponent, count) => count > 1,
        Precision::General(count) => int(count) > exponent + 1,
    };
    let is_up = rest > "5" || rest == "5" && !has_decimals && !is_even;
    let (left, carry) = if is_up { next_digits(left) } else { (left.to_owned(), 0) };
    if carry > 0 && !matches!(precision, Precision::Places(_)) {
        return Err(Error::unknown("a text that JRuby gets wrong, of a float that is rounded to a power of ten"));
    }
    let is_cut = matches!(precision, Precision::General(count) if has_exponent(exponent, count));
    let left = if is_cut { without_zeros(&left).to_owned() } else { left };
    Ok(if left.is_empty() { ("0".into(), 0) } else { (left, exponent + carry) })
}

/// Returns a number of digits as a signed integer, for sums.
pub(super) fn int(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX / 2)
}
