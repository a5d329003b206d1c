//! `String.new`: values as text, in formats for their types.
//!
//! [`convert`] is the entry. A `Format` is one directive, `Formats` has one per type; containers and scalars are
//! written separately. It knows the types of values, but not how `new` was called.
//!
//! Source: `pops/types/string_converter.rb`.

mod container;
mod map;
mod rounding;
mod scalar;
mod sprintf;

use super::types::assignable;
use super::types::inference::infer::infer_set;
use crate::puppet::{Error, Ruby};
use crate::value::{Type, Value};

use container::Setting;
use map::Formats;

/// The maximum width of a format.
const WIDTH_LIMIT: usize = 1 << 20;

type Formatted = Result<String, Error>;

/// One format: `%#10.3f`.
#[derive(Debug, Clone)]
pub(super) struct Format {
    /// The flags as they are written.
    flags: String,
    letter: char,
    width: Option<usize>,
    precision: Option<usize>,
    /// `#`
    alternative: bool,
    /// `-`
    left: bool,
    /// The separator between the items of a container.
    separator: Option<String>,
    /// The separator between key and value.
    separator2: Option<String>,
    /// The formats of the parts of a container.
    contained: Option<Formats>,
}

impl Format {
    fn parse(text: &str) -> Result<Format, Error> {
        let wrong = || {
            let form = "%<flags><width>.<prec><format>";
            Error::puppet(format!("The format '{text}' is not a valid format on the form '{form}'"))
        };
        if text.contains('\n') {
            return Err(Error::unknown("a format of several lines"));
        }
        let rest = text.strip_prefix('%').ok_or_else(wrong)?;
        let is_flag = |c: char| c.is_ascii_whitespace() || c == '\u{b}' || "[+#0{<(|-".contains(c);
        let (flags, rest) = rest.split_at(rest.find(|c| !is_flag(c)).unwrap_or(rest.len()));
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (width, rest) = rest.split_at(digits(rest));
        let (precision, rest) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits(rest)),
            None => ("none", rest),
        };
        let mut letters = rest.chars();
        let letter = letters.next().filter(char::is_ascii_alphabetic).ok_or_else(wrong)?;
        if !letters.as_str().is_empty() || precision.is_empty() {
            return Err(wrong());
        }
        check_flags(text, flags)?;
        Ok(Format {
            letter,
            width: size(width)?,
            precision: if precision == "none" { None } else { size(precision)? },
            alternative: flags.contains('#'),
            left: flags.contains('-'),
            flags: flags.to_owned(),
            separator: None,
            separator2: None,
            contained: None,
        })
    }

    /// Returns the format of a single letter.
    fn of(letter: char) -> Format {
        Format {
            flags: String::new(),
            letter,
            width: None,
            precision: None,
            alternative: false,
            left: false,
            separator: None,
            separator2: None,
            contained: None,
        }
    }

    fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// Returns true if the format is only a letter.
    fn is_plain(&self) -> bool {
        self.flags.is_empty() && self.width.is_none() && self.precision.is_none()
    }

    fn delimiters(&self, usual: [&'static str; 2]) -> [&'static str; 2] {
        let pairs = [("[", ["[", "]"]), ("{", ["{", "}"]), ("(", ["(", ")"]), ("<", ["<", ">"]), ("|", ["|", "|"])];
        let pair = pairs.into_iter().find(|(flag, _)| self.flags.contains(flag));
        pair.map_or(if self.has(' ') { ["", ""] } else { usual }, |(_, pair)| pair)
    }
}

fn size(digits: &str) -> Result<Option<usize>, Error> {
    if digits.is_empty() {
        return Ok(None);
    }
    let size = digits.parse().ok().filter(|size| *size <= WIDTH_LIMIT);
    let size: usize = size.ok_or_else(|| Error::unknown(format!("a text wider than {WIDTH_LIMIT} characters")))?;
    Ok(Some(size))
}

fn check_flags(text: &str, flags: &str) -> Result<(), Error> {
    let mut seen = String::new();
    for flag in flags.chars() {
        if seen.contains(flag) {
            return Err(Error::puppet(format!("The same flag can only be used once, got '{text}'")));
        }
        seen.push(flag);
    }
    if flags.chars().filter(|flag| "[{(<|".contains(*flag)).count() > 1 {
        let text = format!("Only one of the delimiters [ {{ ( < | can be given in the format flags, got '{text}'");
        return Err(Error::puppet(text));
    }
    Ok(())
}

/// Returns the text of a value as `ruby` writes it, by a format for its type or by formats for several types.
pub fn convert(value: &Value, formats: Option<&Value>, ruby: Ruby) -> Result<Vec<u8>, Error> {
    let kind = infer_set(value)?;
    let defaults = Formats::defaults();
    let formats = match formats.map(Value::bare) {
        Some(Value::String(format)) => {
            let wide = [Type::array(Type::Any, None), Type::hash(Type::Any, Type::Any, None)];
            let key = wide.into_iter().find(|wide| assignable(wide, &kind)).unwrap_or_else(|| kind.clone());
            defaults.merged(&Formats::single(key, Format::parse(format)?))
        }
        Some(Value::Bytes(_)) => return Err(Error::unknown("a format that is not UTF-8")),
        Some(Value::Hash(hash)) => defaults.merged(&Formats::of_hash(hash)?),
        _ => defaults,
    };
    if let Value::Bytes(bytes) = value.bare() {
        let format = formats.for_type(&kind);
        let plain = format.letter == 's' && format.is_plain();
        return if plain { Ok(bytes.to_vec()) } else { Err(Error::unknown("a format of a text that is not UTF-8")) };
    }
    let text = text(&kind, value, &formats, Setting::outermost(ruby))?;
    if text.len() > WIDTH_LIMIT * 16 {
        return Err(Error::unknown("a text of many megabytes"));
    }
    Ok(text.into_bytes())
}

/// Returns the text of a value of a type.
fn text(kind: &Type, value: &Value, formats: &Formats, setting: Setting) -> Formatted {
    match value.bare() {
        Value::Array(items) => container::array(kind, items, formats, setting),
        Value::Hash(hash) => container::hash(kind, hash, formats, setting),
        value => scalar::text(&formats.for_type(kind), value, setting.ruby),
    }
}

/// Returns Puppet's error for a letter that a type has no format for.
fn illegal(kind: &str, letter: char, known: &str) -> Error {
    let text = format!(
        "Illegal format '{letter}' specified for value of {kind} type - expected one of the characters '{known}'"
    );
    Error::puppet(text)
}
