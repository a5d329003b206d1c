//! Floats as text: Ruby's `Float#to_s`, and JRuby's.
//!
//! Source: Ruby 3.1; JRuby 9.4's `RubyFloat` and `Sprintf`, and Java's `FloatingDecimal`, which gives JRuby its digits.

use num_bigint::BigUint;

/// The way in which a Ruby finds the digits of a float.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Floats {
    /// The fewest that read back as the float.
    #[default]
    Ruby,
    /// The digits of Java, which may be more or fewer, and no exponent below 1e20.
    JRuby,
}

/// Returns `Float#to_s`: `1.0`, `1.0e+20`, `1.0e-05`, `Infinity`, `NaN`.
pub(super) fn text(f: f64, floats: Floats) -> String {
    if f.is_nan() {
        return "NaN".into();
    }
    let sign = if f.is_sign_negative() { "-" } else { "" };
    if f.is_infinite() {
        return format!("{sign}Infinity");
    }
    let ((digits, exponent), most) = match floats {
        Floats::Ruby => (shortest(f.abs()), 15),
        Floats::JRuby => (shown_on_jruby(f.abs()), 19),
    };
    let count = digits.len();
    match usize::try_from(exponent + 1) {
        Ok(point @ 1..=16) if count > point => format!("{sign}{}.{}", &digits[..point], &digits[point..]),
        Ok(point) if (1..=most).contains(&point) => format!("{sign}{digits:0<point$}.0"),
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

/// Returns the fewest digits that read back as `f`, and the power of ten of the first one.
fn shortest(f: f64) -> (String, i32) {
    let mut text = format!("{f:e}");
    let places = text.find('e').map_or(0, |at| at.saturating_sub(2));
    // If two texts are equally short and near, Ruby takes the even one.
    let exact = format!("{f:.places$e}");
    if exact.parse() == Ok(f) {
        text = exact;
    }
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or_default())
}

/// Returns the digits of JRuby's `Float#to_s`, which are only 15 if they would exactly fill the places before the
/// point.
fn shown_on_jruby(f: f64) -> (String, i32) {
    let (digits, exponent) = jruby_digits(f);
    if exponent != 19 {
        return (digits, exponent);
    }
    let (kept, rest) = digits.split_at_checked(15).unwrap_or((&digits, ""));
    let (digits, carry) = if rest > "5" { next_digits(kept) } else { (kept.to_owned(), 0) };
    (without_zeros(digits), exponent + carry)
}

fn without_zeros(mut digits: String) -> String {
    digits.truncate(digits.trim_end_matches('0').len().max(1));
    digits
}

/// Adds one to the last digit. Returns the digits, and by how much the power of ten of the first one grows.
pub(crate) fn next_digits(digits: &str) -> (String, i32) {
    let stem = digits.trim_end_matches('9');
    let zeros = "0".repeat(digits.len() - stem.len());
    match stem.as_bytes().split_last() {
        Some((last, before)) => (format!("{}{}{zeros}", String::from_utf8_lossy(before), char::from(last + 1)), 0),
        None => (format!("1{}", zeros.get(1..).unwrap_or_default()), 1),
    }
}

/// Returns Java's digits for a float that is not negative, and the power of ten of the first one.
pub(crate) fn jruby_digits(f: f64) -> (String, i32) {
    const BITS: u32 = 52;
    let bits = f.to_bits();
    let (fraction, biased) = (bits & ((1 << BITS) - 1), i32::try_from(bits >> BITS).unwrap_or_default());
    if f == 0.0 {
        return ("0".into(), 0);
    }
    let (fraction, biased, significant) = if biased == 0 {
        let shift = fraction.leading_zeros() - (63 - BITS);
        (fraction << shift, 1 - shift.cast_signed(), 53 - shift.cast_signed())
    } else {
        (fraction | 1 << BITS, biased, 53)
    };
    let exponent = biased - 1023;
    let tail = fraction.trailing_zeros().cast_signed();
    // The bits of the fraction up to the last one that is set, and those of them after the point.
    let (used, tiny) = (53 - tail, (53 - tail - exponent - 1).max(0));
    if tiny == 0 && (0..=62).contains(&exponent) {
        return integer_digits(if exponent >= 52 { fraction << (exponent - 52) } else { fraction >> (52 - exponent) });
    }
    let mantissa = f64::from_bits(1023 << BITS | fraction & ((1 << BITS) - 1));
    #[expect(clippy::approx_constant, reason = "these are Java's")]
    let guess = (mantissa - 1.5) * 0.289_529_654 + 0.176_091_259 + f64::from(exponent) * 0.301_029_995_663_981;
    // The float is B / S * 10^guess; M is half of the distance to its neighbours.
    #[expect(clippy::cast_possible_truncation, reason = "a power of ten of a float is small")]
    let guess = guess.floor() as i32;
    let fives = ((-guess).max(0), guess.max(0));
    let mut twos = (fives.0 + tiny + exponent, fives.1 + tiny);
    let mut margin = twos.0 - significant;
    twos.0 -= used - 1;
    let common = twos.0.min(twos.1);
    twos = (twos.0 - common, twos.1 - common);
    margin -= common + i32::from(used == 1);
    let lift = (-margin).max(0);
    let twos = (twos.0 + lift, twos.1 + lift);
    let b = scaled(fraction >> tail, fives.0, twos.0);
    let s = scaled(1, fives.1, twos.1);
    let m = scaled(1, fives.0, margin + lift);
    // Java treats small and large numbers differently: the digits of large ones end even if the margin is only just
    // met.
    let small = used + twos.0 + bits_of_five(fives.0) < 64 && twos.1 + 1 + bits_of_five(fives.1 + 1) < 64;
    loop_digits(b, &s, m, (guess, small))
}

/// Returns the number of bits of a power of five, as Java estimates it.
fn bits_of_five(power: i32) -> i32 {
    if power < 27 { i32::try_from(scaled(1, power, 0).bits()).unwrap_or_default() } else { power * 3 }
}

/// Returns `n * 5^fives * 2^twos`.
fn scaled(n: u64, fives: i32, twos: i32) -> BigUint {
    (BigUint::from(n) * BigUint::from(5u8).pow(fives.unsigned_abs())) << twos.unsigned_abs()
}

/// Returns the digits of `b / s` up to the margin `m`.
fn loop_digits(mut b: BigUint, s: &BigUint, mut m: BigUint, (guess, small): (i32, bool)) -> (String, i32) {
    let tens = s * 10u8;
    let mut exponent = guess;
    let mut digits: Vec<u8> = Vec::new();
    loop {
        let digit = u8::try_from(&b / s).unwrap_or_default();
        b = (b % s) * 10u8;
        m *= 10u8;
        let (low, sum) = (b < m, &b + &m);
        let high = if small { sum > tens } else { sum >= tens };
        if digits.is_empty() && digit == 0 && exponent == guess && !high {
            exponent -= 1;
            continue;
        }
        digits.push(digit);
        // A text with an exponent has at least two digits.
        let needs_second_digit = digits.len() == 1 && exponent == guess && !(-3..8).contains(&exponent);
        if needs_second_digit || !low && !high {
            continue;
        }
        let doubled = b * 2u8;
        let is_up = high && (!low || doubled > tens || doubled == tens && digit % 2 == 1);
        let text: String = digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        let (text, carry) = if is_up { next_digits(&text) } else { (text, 0) };
        return (without_zeros(text), exponent + carry);
    }
}

/// Returns the digits of an integer. Java rounds digits that a float cannot tell apart.
fn integer_digits(integer: u64) -> (String, i32) {
    let insignificant = match integer.ilog2() {
        58..=60 => 10,
        61.. => 100,
        _ => 1,
    };
    let shown = (integer / insignificant
        + u64::from(insignificant > 1 && integer % insignificant >= insignificant / 2))
        * insignificant;
    let digits = shown.to_string();
    let exponent = i32::try_from(digits.len()).unwrap_or_default() - 1;
    (without_zeros(digits), exponent)
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
        for (f, expected) in cases {
            assert_eq!(text(f, Floats::Ruby), expected);
        }
    }
}
