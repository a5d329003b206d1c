//! Lengths of time and their formats.
//!
//! Source: `Timespan::Format` and `FormatParser` in `pops/time/timespan.rb`.

use num_bigint::BigInt;
use regex::Regex;

use super::{Time, big, out_of_range, several_formats};
use crate::puppet::Error;
use crate::value::{Hash, Value};

const DEFAULTS: [&str; 8] =
    ["%D-%H:%M:%S.%-N", "%H:%M:%S.%-N", "%M:%S.%-N", "%S.%-N", "%D-%H:%M:%S", "%H:%M:%S", "%D-%H:%M", "%S"];

/// The maximum width of a field.
const WIDTH_LIMIT: u32 = 1000;

/// A parsed format.
struct Format {
    text: String,
    segments: Vec<Segment>,
}

enum Segment {
    Literal(String),
    Field(Field),
}

/// One number: of days, hours, minutes, seconds, milliseconds or nanoseconds.
struct Field {
    letter: char,
    /// `0`, a blank, or nothing.
    pad: Option<char>,
    width: Option<u32>,
    /// True for the field that also includes the amount of all greater units.
    is_total: bool,
}

/// Parses a length of time by `format`, by the first of several that fits, or by one of the defaults.
pub fn parse(text: &str, format: Option<&Value>) -> Time {
    let formats: Vec<String> = match format.map(Value::bare) {
        Some(Value::String(format)) => return Format::new(format)?.parse(text),
        Some(other @ (Value::Array(_) | Value::Bytes(_))) => several_formats(other)?,
        _ => DEFAULTS.map(str::to_owned).to_vec(),
    };
    for format in &formats {
        match Format::new(format)?.parse(text) {
            Err(error) if !error.kind.is_unknown() => {}
            found => return found,
        }
    }
    let shown = formats.join(", ");
    Err(Error::puppet(format!("Unable to parse '{text}' using any of the formats {shown}")))
}

impl Format {
    fn new(text: &str) -> Result<Format, Error> {
        let mut segments: Vec<Segment> = Vec::new();
        let mut field: Option<(usize, Field, bool)> = None;
        let bad = |start: usize, at: usize| {
            let shown: String = text.chars().skip(start).take(at - start).collect();
            Error::puppet(format!("Bad format specifier '{shown}' in '{text}', at position {at}"))
        };
        for (at, c) in text.chars().enumerate() {
            let Some((start, mut open, is_first)) = field.take() else {
                if c == '%' {
                    field = Some((at, Field { letter: ' ', pad: Some('0'), width: None, is_total: false }, true));
                } else {
                    append(&mut segments, c);
                }
                continue;
            };
            match c {
                '%' => append(&mut segments, c),
                '-' | '_' if is_first => {
                    open.pad = (c == '_').then_some(' ');
                    field = Some((start, open, false));
                }
                'D' | 'H' | 'M' | 'S' | 'L' | 'N' => segments.push(Segment::Field(Field { letter: c, ..open })),
                '0' if is_first => field = Some((start, open, false)),
                '0'..='9' => {
                    let width = open.width.unwrap_or(0).saturating_mul(10).saturating_add(c.to_digit(10).unwrap_or(0));
                    if width > WIDTH_LIMIT {
                        return Err(Error::unknown(format!("a field of a time wider than {WIDTH_LIMIT}")));
                    }
                    open.width = Some(width);
                    field = Some((start, open, false));
                }
                _ => return Err(bad(start, at)),
            }
        }
        if let Some((start, ..)) = field {
            return Err(bad(start, text.chars().count() - 1));
        }
        give_rest_to_highest(&mut segments);
        Ok(Format { text: text.to_owned(), segments })
    }

    fn parse(&self, text: &str) -> Time {
        let wrong = || Error::puppet(format!("Unable to parse '{text}' using format '{}'", self.text));
        let pattern: String = self.segments.iter().map(Segment::pattern).collect();
        let regex = Regex::new(&format!(r"\A-?{pattern}\z"))
            .map_err(|_| Error::unknown(format!("the format '{}' of a time", self.text)))?;
        let found = regex.captures(text).ok_or_else(wrong)?;
        let mut nanos = BigInt::ZERO;
        for (at, segment) in self.segments.iter().enumerate() {
            let Segment::Field(field) = segment else { continue };
            let group = found.get(at + 1).map_or("", |group| group.as_str());
            let digits = group.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\0' || c == '\u{b}');
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err(wrong());
            }
            nanos += field.nanoseconds(digits)?;
        }
        let nanos = i128::try_from(nanos).map_err(|_| out_of_range())?;
        Ok(if text.starts_with('-') { -nanos } else { nanos })
    }
}

fn append(segments: &mut Vec<Segment>, c: char) {
    match segments.last_mut() {
        Some(Segment::Literal(text)) => text.push(c),
        _ => segments.push(Segment::Literal(c.into())),
    }
}

/// Lets the first field of the greatest unit include the amount of all greater units.
fn give_rest_to_highest(segments: &mut [Segment]) {
    let rank = |letter: char| "NLSMHD".find(letter);
    let highest = segments.iter().filter_map(|s| match s {
        Segment::Field(field) => rank(field.letter),
        Segment::Literal(_) => None,
    });
    let highest = highest.max();
    let first = segments.iter_mut().find_map(|s| match s {
        Segment::Field(field) if rank(field.letter) == highest => Some(field),
        _ => None,
    });
    if let Some(field) = first {
        field.is_total = true;
    }
}

impl Segment {
    fn pattern(&self) -> String {
        match self {
            Segment::Literal(text) => format!("({})", regex::escape(text)),
            Segment::Field(field) => field.pattern(),
        }
    }
}

impl Field {
    fn default_width(&self) -> u32 {
        match self.letter {
            'D' => 1,
            'L' => 3,
            'N' => 9,
            _ => 2,
        }
    }

    fn pattern(&self) -> String {
        let width = self.default_width();
        let blank = r"[0-9 \t\r\n\x0b\x0c]";
        match (self.width, self.pad) {
            (None, None | Some('0')) if self.is_total => "([0-9]+)".into(),
            (None, None | Some('0')) => format!("([0-9]{{1,{width}}})"),
            (None, _) if self.is_total => r"[ \t\r\n\x0b\x0c]*([0-9]+)".into(),
            (None, _) => format!("({blank}{{1,{width}}})"),
            (Some(width), None) => format!("([0-9]{{1,{width}}})"),
            (Some(width), Some('0')) => format!("([0-9]{{{width}}})"),
            (Some(width), _) => format!("({blank}{{{width}}})"),
        }
    }

    fn nanoseconds(&self, digits: &str) -> Result<BigInt, Error> {
        let n = BigInt::parse_bytes(digits.as_bytes(), 10).unwrap_or_default();
        let unit: i64 = match self.letter {
            'D' => 86_400_000_000_000,
            'H' => 3_600_000_000_000,
            'M' => 60_000_000_000,
            'S' => 1_000_000_000,
            _ if self.is_total => {
                let text = "Format specifiers %L and %N denotes fractions and must be used together with a specifier of higher magnitude";
                return Err(Error::puppet(text));
            }
            _ => {
                let missing = u32::try_from(9usize.saturating_sub(digits.len())).unwrap_or_default();
                10i64.pow(missing)
            }
        };
        Ok(n * unit)
    }
}

/// The units in the hash of a length of time.
const FIELDS: [&str; 7] = ["days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds"];

/// Returns the length of time that a hash stands for: one of `string` and `format`, or of numbers of units.
pub fn of_hash(hash: &Hash) -> Time {
    if let Some(Value::String(text)) = hash.get("string") {
        return parse(text, hash.get("format"));
    }
    let field = |name: &str| hash.get(name).filter(|n| n.is_truthy()).cloned().unwrap_or(Value::Integer(0));
    of_fields(hash.get("negative").is_some_and(Value::is_truthy), &FIELDS.map(field))
}

/// Returns the sum of days, hours, minutes, seconds, milliseconds, microseconds and nanoseconds. The last may be
/// missing.
pub fn of_fields(negative: bool, fields: &[Value]) -> Time {
    const UNITS: [i64; 7] = [86_400_000_000_000, 3_600_000_000_000, 60_000_000_000, 1_000_000_000, 1_000_000, 1_000, 1];
    let amount = |(field, unit): (&Value, &i64)| big(field) * BigInt::from(*unit);
    let nanos: BigInt = fields.iter().zip(UNITS.iter()).map(amount).sum();
    i128::try_from(if negative { -nanos } else { nanos }).map_err(|_| out_of_range())
}
