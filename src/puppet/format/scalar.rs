//! Single values as text.
//!
//! Source: the `string_P...Type` methods of `pops/types/string_converter.rb`.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use num_bigint::BigInt;

use super::sprintf::{self, fitted};
use super::{Format, Formatted, illegal};
use crate::puppet::{Error, Ruby, ruby};
use crate::value::Value;
use crate::value::rich::types::puppet_quote;
use crate::value::rich::{Rich, regexp};

/// Returns the text of a value that is not a container.
pub(super) fn text(format: &Format, value: &Value, ruby: Ruby) -> Formatted {
    match value {
        Value::Undef => undef(format),
        Value::Boolean(b) => boolean(format, *b, ruby),
        Value::Integer(n) => integer(format, &BigInt::from(*n), ruby),
        Value::BigInteger(n) => integer(format, n, ruby),
        Value::Float(f) => float(format, *f, ruby),
        Value::String(text) => string(format, text),
        Value::Symbol(name) if &**name == "default" => default(format),
        Value::Symbol(name) if &**name == "undef" => undef(format),
        Value::Symbol(name) => match format.letter {
            's' => Ok(name.to_string()),
            'p' => Ok(puppet_quote(name, false)),
            'q' => Ok(value.inspect()),
            other => Err(illegal("Runtime", other, "spq")),
        },
        Value::Rich(rich) => self::rich(format, value, rich),
        _ => Err(Error::unknown("the text of a text that is not UTF-8")),
    }
}

fn undef(format: &Format) -> Formatted {
    let alternative = format.alternative;
    let text = match format.letter {
        'n' => ["nil", "null"],
        'u' => ["undef", "undefined"],
        'd' | 'x' | 'X' | 'o' | 'b' | 'B' | 'e' | 'E' | 'f' | 'g' | 'G' | 'a' | 'A' => ["NaN", "NaN"],
        'v' => ["n/a", "n/a"],
        'V' => ["N/A", "N/A"],
        's' => ["", "\"\""],
        'p' => ["undef", "\"undef\""],
        other => return Err(illegal("Undef", other, "nudxXobBeEfgGaAvVsp")),
    };
    Ok(fitted(format, text[usize::from(alternative)]))
}

fn default(format: &Format) -> Formatted {
    let text = match format.letter {
        'd' | 's' | 'p' => ["default", "\"default\""],
        'D' => ["Default", "\"Default\""],
        other => return Err(illegal("Default", other, "dDsp")),
    };
    Ok(fitted(format, text[usize::from(format.alternative)]))
}

fn boolean(format: &Format, b: bool, ruby: Ruby) -> Formatted {
    let word = |word: &str| fitted(format, if format.alternative { &word[..1] } else { word });
    match format.letter {
        't' => Ok(word(if b { "true" } else { "false" })),
        'T' => Ok(word(if b { "True" } else { "False" })),
        'y' => Ok(word(if b { "yes" } else { "no" })),
        'Y' => Ok(word(if b { "Yes" } else { "No" })),
        'd' | 'x' | 'X' | 'o' | 'b' | 'B' => sprintf::integer(format, &BigInt::from(u8::from(b))),
        'e' | 'E' | 'f' | 'g' | 'G' | 'a' | 'A' => sprintf::float(format, f64::from(u8::from(b)), ruby),
        's' | 'p' => Ok(fitted(format, if b { "true" } else { "false" })),
        other => Err(illegal("Boolean", other, "tTyYdxXobBeEfgGaAsp")),
    }
}

fn integer(format: &Format, n: &BigInt, ruby: Ruby) -> Formatted {
    match format.letter {
        'd' | 'x' | 'X' | 'o' | 'b' | 'B' => sprintf::integer(format, n),
        'e' | 'E' | 'f' | 'g' | 'G' | 'a' | 'A' => {
            sprintf::float(format, n.to_string().parse().unwrap_or(f64::INFINITY), ruby)
        }
        'c' => {
            let c = u32::try_from(n).ok().and_then(char::from_u32);
            let c = c.ok_or_else(|| match n.sign() {
                _ if i64::try_from(n).is_err() => Error::puppet("bignum too big to convert into `long'"),
                num_bigint::Sign::Minus => Error::puppet("pack(U): value out of range"),
                _ => Error::unknown("a character that is none of Unicode"),
            })?;
            sprintf::text(format, &if format.alternative { format!("\"{c}\"") } else { c.to_string() })
        }
        's' if format.alternative => sprintf::inspected(format, &n.to_string().into()),
        's' | 'p' => sprintf::text(format, &n.to_string()),
        other => Err(illegal("Integer", other, "dxXobBeEfgGaAspc")),
    }
}

fn float(format: &Format, f: f64, ruby: Ruby) -> Formatted {
    let text = || Value::Float(f).text_in(ruby.notation());
    match format.letter {
        'd' | 'x' | 'X' | 'o' | 'b' | 'B' => {
            if !f.is_finite() {
                return Err(Error::puppet(text()));
            }
            sprintf::integer(format, &format!("{:.0}", f.trunc()).parse().unwrap_or_default())
        }
        'e' | 'E' | 'f' | 'g' | 'G' | 'a' | 'A' => sprintf::float(format, f, ruby),
        's' if format.alternative => sprintf::text(format, &format!("\"{}\"", text())),
        's' | 'p' => sprintf::text(format, &text()),
        other => Err(illegal("Float", other, "dxXobBeEfgGaAsp")),
    }
}

fn string(format: &Format, text: &str) -> Formatted {
    let changed = match format.letter {
        's' => return sprintf::text(format, text),
        'p' => return Ok(fitted(format, &puppet_quote(text, format.alternative))),
        'c' => capitalized(text),
        'C' => {
            let mut parts: Vec<&str> = text.split("::").collect();
            while parts.last().is_some_and(|part| part.is_empty()) {
                parts.pop();
            }
            parts.into_iter().map(capitalized).collect::<Vec<_>>().join("::")
        }
        'u' => text.to_uppercase(),
        'd' => text.to_lowercase(),
        't' => ruby::strip(text).to_owned(),
        other => return Err(illegal("String", other, "cCudspt")),
    };
    if format.alternative {
        Ok(fitted(format, &puppet_quote(&changed, false)))
    } else {
        sprintf::text(format, &changed)
    }
}

/// Capitalizes as Ruby's `capitalize` does.
fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| match c {
        'ǆ' | 'ǅ' | 'Ǆ' => "ǅ".to_owned(),
        c => c.to_uppercase().take(1).chain(c.to_uppercase().skip(1).flat_map(char::to_lowercase)).collect(),
    });
    first.unwrap_or_default() + &chars.as_str().to_lowercase()
}

fn rich(format: &Format, value: &Value, rich: &Rich) -> Formatted {
    match rich {
        Rich::Binary(bytes) => binary(format, bytes),
        Rich::Regexp(pattern) => match format.letter {
            'p' if format.is_plain() => Ok(regexp::slashed(pattern)),
            'p' => sprintf::text(format, &regexp::slashed(pattern)),
            's' if format.alternative => sprintf::text(format, &puppet_quote(&regexp::text(pattern), false)),
            's' => sprintf::text(format, &regexp::text(pattern)),
            other => Err(illegal("Regexp", other, "sp")),
        },
        Rich::Type(kind) => match format.letter {
            's' if format.alternative => sprintf::text(format, &format!("\"{kind}\"")),
            's' | 'p' => sprintf::text(format, &kind.to_string()),
            other => Err(illegal("Type", other, "sp")),
        },
        Rich::Uri(uri) => match format.letter {
            'p' => Ok(format!("URI({})", puppet_quote(&uri.to_string(), false))),
            's' if format.alternative => sprintf::text(format, &puppet_quote(&uri.to_string(), false)),
            's' => sprintf::text(format, &uri.to_string()),
            other => Err(illegal("URI", other, "sp")),
        },
        _ => match format.letter {
            's' => sprintf::text(format, &rich.to_text()),
            'p' if !rich.has_address() => sprintf::inspected(format, value),
            _ => Err(Error::unknown(format!("the format '%{}' of a {}", format.letter, rich.type_name()))),
        },
    }
}

fn binary(format: &Format, bytes: &[u8]) -> Formatted {
    let quoted = |text: &str| {
        if format.alternative { sprintf::inspected(format, &text.into()) } else { sprintf::text(format, text) }
    };
    match format.letter {
        's' if format.alternative => sprintf::inspected(format, &Value::Bytes(bytes.into())),
        's' => match std::str::from_utf8(bytes) {
            Ok(text) => sprintf::text(format, text),
            Err(e) => {
                let wrong = bytes.get(e.valid_up_to()).copied().unwrap_or_default();
                Err(Error::puppet(format!("\"\\x{wrong:02X}\" from ASCII-8BIT to UTF-8")))
            }
        },
        'p' => Ok(format!("Binary(\"{}\")", sprintf::text(format, &encoded(bytes, 'B'))?)),
        'b' | 'B' | 'u' => quoted(&encoded(bytes, format.letter)),
        't' => quoted("Binary"),
        'T' => quoted("BINARY"),
        other => Err(illegal("Binary", other, "bButTsp")),
    }
}

/// Returns bytes in base 64 as the letter of a format asks: `b` for lines, `u` for URLs, else one line.
fn encoded(bytes: &[u8], format: char) -> String {
    match format {
        'b' => bytes.chunks(45).fold(String::new(), |out, line| out + &STANDARD.encode(line) + "\n"),
        'u' => URL_SAFE.encode(bytes),
        _ => STANDARD.encode(bytes),
    }
}
