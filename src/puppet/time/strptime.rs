//! Ruby's `DateTime._strptime`: reads the fields of a time from a text by a format.
//!
//! Source: Ruby 3.1's `ext/date/date_strptime.c`, and `Time.utc`.

use std::sync::LazyLock;

use regex::Regex;

use super::zones;
use crate::puppet::Error;
use crate::value::rich::timestamp::{DAY, SECOND, days};

/// The fields that were found, of those that make a time.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    year: Option<i128>,
    month: Option<i128>,
    day: Option<i128>,
    hour: Option<i128>,
    minute: Option<i128>,
    second: Option<i128>,
    /// Nanoseconds; smaller fractions are cut off.
    fraction: i128,
    century: Option<i128>,
    afternoon: Option<i128>,
    /// The zone as it is written.
    pub(super) zone: Option<String>,
    /// True if the text continues after the end of the format.
    pub(super) has_leftover: bool,
}

/// Reads `text` by `format`. Returns `None` if it does not match.
pub(super) fn parse(text: &str, format: &str) -> Result<Option<Parsed>, Error> {
    let mut reader = Reader { text, found: Parsed::default() };
    if reader.read_format(format, 0)?.is_none() {
        return Ok(None);
    }
    let Reader { text: rest, mut found } = reader;
    found.has_leftover = !rest.is_empty();
    if let Some(century) = found.century {
        found.year = found.year.map(|year| year + century * 100);
    }
    if let Some(afternoon) = found.afternoon {
        found.hour = found.hour.map(|hour| hour % 12 + afternoon);
    }
    Ok(Some(found))
}

impl Parsed {
    /// Returns the nanoseconds since 1970 without regard to the zone: Ruby's `Time.utc`.
    pub(super) fn utc(&self) -> Result<i128, Error> {
        let argument_out_of_range = || Error::puppet("argument out of range");
        let Some(year) = self.year else {
            return Err(Error::bare("no implicit conversion of nil into Integer"));
        };
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        let (hour, minute, second) = (self.hour.unwrap_or(0), self.minute.unwrap_or(0), self.second.unwrap_or(0));
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(argument_out_of_range());
        }
        if hour == 24 && (minute, second) != (0, 0) {
            return Err(Error::puppet(if minute > 0 { "min out of range" } else { "sec out of range" }));
        }
        if year.abs() > 1_000_000_000_000 {
            return Err(super::out_of_range());
        }
        let seconds = days(year, month, day) * DAY + hour * 3600 + minute * 60 + second;
        Ok(seconds * SECOND + self.fraction)
    }
}

struct Reader<'t> {
    text: &'t str,
    found: Parsed,
}

/// The result of a step: `None` if it does not match, an error if hierad does not know it.
type Step = Result<Option<()>, Error>;

impl Reader<'_> {
    fn read_format(&mut self, format: &str, depth: usize) -> Step {
        let mut rest = format;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            if c == '%' {
                let (directive, after) = directive(rest);
                rest = after;
                let Some(()) = self.directive(directive, rest, depth)? else { return Ok(None) };
            } else if is_space(c) {
                self.text = self.text.trim_start_matches(is_space);
            } else {
                let Some(after) = self.text.strip_prefix(c) else { return Ok(None) };
                self.text = after;
            }
        }
        Ok(Some(()))
    }

    fn directive(&mut self, directive: Option<char>, rest: &str, depth: usize) -> Step {
        let recursive = |c| {
            Some(match c {
                'c' => "%a %b %e %H:%M:%S %Y",
                'D' | 'x' => "%m/%d/%y",
                'F' => "%Y-%m-%d",
                'R' => "%H:%M",
                'r' => "%I:%M:%S %p",
                'T' | 'X' => "%H:%M:%S",
                'v' => "%e-%b-%Y",
                '+' => "%a %b %e %H:%M:%S %Z %Y",
                'n' | 't' => " ",
                _ => return None,
            })
        };
        let Some(c) = directive else { return Ok(self.literal("%")) };
        if let Some(format) = recursive(c) {
            return if depth > 2 { Ok(None) } else { self.read_format(format, depth + 1) };
        }
        match c {
            'z' | 'Z' => Ok(self.zone()),
            _ => Ok(self.field(c, is_number(rest))),
        }
    }

    /// Reads one field. `packed` is true if the format continues with digits, so that the field's width is limited.
    fn field(&mut self, c: char, packed: bool) -> Option<()> {
        match c {
            'A' | 'a' => self.name(&WEEKDAYS).map(|_| ())?,
            'B' | 'b' | 'h' => self.found.month = Some(self.name(&MONTHS)? + 1),
            'C' => self.found.century = Some(self.signed(if packed { 2 } else { usize::MAX })?),
            'd' | 'e' => self.found.day = Some(self.padded(1..=31)?),
            'H' | 'k' => self.found.hour = Some(self.padded(0..=24)?),
            'I' | 'l' => self.found.hour = Some(self.padded(1..=12)?),
            'j' => _ = self.digits(3).filter(|n| (1..=366).contains(n))?,
            'L' => self.fraction(if packed { 3 } else { usize::MAX })?,
            'N' => self.fraction(if packed { 9 } else { usize::MAX })?,
            'M' => self.found.minute = Some(self.digits(2).filter(|n| *n <= 59)?),
            'm' => self.found.month = Some(self.digits(2).filter(|n| (1..=12).contains(n))?),
            'P' | 'p' => self.found.afternoon = Some(self.meridian()?),
            // Puppet ignores the time that these give.
            'Q' | 's' => {
                self.text = self.text.strip_prefix('-').unwrap_or(self.text);
                self.skip(usize::MAX)?;
            }
            'G' => self.skip(if packed { 4 } else { usize::MAX })?,
            'S' => self.found.second = Some(self.digits(2).filter(|n| *n <= 60)?),
            'U' | 'W' => _ = self.digits(2).filter(|n| *n <= 53)?,
            'u' => _ = self.digits(1).filter(|n| (1..=7).contains(n))?,
            'V' => _ = self.digits(2).filter(|n| (1..=53).contains(n))?,
            'w' => _ = self.digits(1).filter(|n| *n <= 6)?,
            'Y' => self.found.year = Some(self.signed(if packed { 4 } else { usize::MAX })?),
            'y' => {
                let year = self.digits(2)?;
                self.found.year = Some(year);
                self.found.century.get_or_insert(if year >= 69 { 19 } else { 20 });
            }
            'g' => {
                let year = self.digits(2)?;
                self.found.century.get_or_insert(if year >= 69 { 19 } else { 20 });
            }
            '%' => self.literal("%")?,
            other => {
                self.literal("%")?;
                self.literal(other.encode_utf8(&mut [0; 4]))?;
            }
        }
        Some(())
    }

    fn literal(&mut self, text: &str) -> Option<()> {
        self.text = self.text.strip_prefix(text)?;
        Some(())
    }

    /// Reads up to `most` digits, at least one.
    fn digits(&mut self, most: usize) -> Option<i128> {
        let length = self.text.bytes().take(most.min(30)).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.text.split_at(length);
        self.text = rest;
        digits.parse().ok()
    }

    /// Skips up to `most` digits, at least one.
    fn skip(&mut self, most: usize) -> Option<()> {
        let length = self.text.bytes().take(most).take_while(u8::is_ascii_digit).count();
        self.text = &self.text[length..];
        (length > 0).then_some(())
    }

    fn padded(&mut self, range: std::ops::RangeInclusive<i128>) -> Option<i128> {
        let n = match self.text.strip_prefix(' ') {
            Some(rest) => {
                self.text = rest;
                self.digits(1)
            }
            None => self.digits(2),
        };
        n.filter(|n| range.contains(n))
    }

    fn signed(&mut self, most: usize) -> Option<i128> {
        let negative = self.text.starts_with('-');
        self.text = self.text.strip_prefix(['-', '+']).unwrap_or(self.text);
        self.digits(most).map(|n| if negative { -n } else { n })
    }

    fn fraction(&mut self, most: usize) -> Option<()> {
        let negative = self.text.starts_with('-');
        self.text = self.text.strip_prefix(['-', '+']).unwrap_or(self.text);
        let length = self.text.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.text.split_at(length);
        self.text = rest;
        let shown: String = digits.chars().chain(std::iter::repeat('0')).take(9).collect();
        let nanos: i128 = shown.parse().ok().filter(|_| length > 0)?;
        self.found.fraction = if negative { -nanos } else { nanos };
        Some(())
    }

    /// Reads one of some names, or the first three letters of one, in any case, and returns its position.
    fn name(&mut self, names: &[&str]) -> Option<i128> {
        let starts = |name: &str| self.text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        let found = names.iter().position(|name| starts(name)).map(|at| (at, names[at].len()));
        let found = found.or_else(|| names.iter().position(|name| starts(&name[..3])).map(|at| (at, 3)));
        let (at, length) = found?;
        self.text = &self.text[length..];
        i128::try_from(at).ok()
    }

    fn meridian(&mut self) -> Option<i128> {
        static MERIDIAN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)\A([ap])(?:m\b|\.m\.)").ok());
        let found = MERIDIAN.as_ref()?.captures(self.text)?;
        let length = found.get(0)?.end();
        let afternoon = found[1].eq_ignore_ascii_case("p");
        self.text = &self.text[length..];
        Some(if afternoon { 12 } else { 0 })
    }

    fn zone(&mut self) -> Option<()> {
        static ZONE: LazyLock<Option<Regex>> = LazyLock::new(|| {
            let offset = r"(?:gmt|utc?)?[-+]\d+(?:[,.:]\d+(?::\d+)?)?";
            let name = r"[a-z.\s]+(?:standard|daylight)\stime(?-u:\b)|[a-z]+(?:\sdst)?(?-u:\b)";
            Regex::new(&format!(r"(?i)\A(?:{offset}|{name})")).ok()
        });
        let length = ZONE.as_ref()?.find(self.text)?.end();
        let (zone, rest) = self.text.split_at(length);
        self.found.zone = Some(zone.to_owned());
        self.text = rest;
        Some(())
    }
}

const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

/// Returns the letter of a directive and what follows it: `%Ey`, `%Od` and `%:z` are `%y`, `%d` and `%z`.
fn directive(rest: &str) -> (Option<char>, &str) {
    let colons = rest.trim_start_matches(':');
    if colons.starts_with('z') && rest.len() - colons.len() <= 3 {
        return (Some('z'), &colons[1..]);
    }
    let modified = rest.strip_prefix('E').filter(|r| r.starts_with(['c', 'C', 'x', 'X', 'y', 'Y']));
    let modified =
        modified.or_else(|| rest.strip_prefix('O').filter(|r| r.starts_with(|c| "deHImMSuUVwWy".contains(c))));
    let rest = modified.unwrap_or(rest);
    match rest.chars().next() {
        Some(c) => (Some(c), &rest[c.len_utf8()..]),
        None => (None, rest),
    }
}

/// Returns true if the format continues with digits.
fn is_number(rest: &str) -> bool {
    let Some(directive) = rest.strip_prefix('%') else { return rest.starts_with(|c: char| c.is_ascii_digit()) };
    let directive = directive.strip_prefix(['E', 'O']).unwrap_or(directive);
    directive.starts_with(|c: char| c.is_ascii_digit() || "CDdeFGgHIjkLlMmNQRrSsTUuVvWwXxYy".contains(c))
}

/// Returns the seconds by which a zone is ahead of UTC.
pub(super) fn utc_offset(zone: &str) -> Result<i128, Error> {
    if zone.eq_ignore_ascii_case("current") {
        return Err(Error::unknown("the time zone of the Puppet server"));
    }
    let illegal = || Error::puppet(format!("Illegal timezone '{zone}'"));
    let mut reader = Reader { text: zone, found: Parsed::default() };
    let found = reader.zone().and(reader.found.zone.clone()).ok_or_else(illegal)?;
    let lower = found.to_ascii_lowercase();
    let unsigned = lower.trim_start_matches(char::is_alphabetic);
    if unsigned.starts_with(['+', '-']) {
        let unknown = || Error::unknown(format!("the time zone '{zone}'"));
        return numeric_offset(unsigned).ok_or_else(unknown);
    }
    let (name, summer) = match lower.strip_suffix("dst").filter(|name| name.ends_with(is_space)) {
        Some(name) => (name.trim_end(), 3600),
        None => (lower.as_str(), 0),
    };
    match zones::offset(name) {
        Some(offset) => Ok(offset + summer),
        None if name.len() > 4 => Err(Error::unknown(format!("the time zone '{zone}'"))),
        None => Err(illegal()),
    }
}

/// Returns the seconds of `+1`, `+0130` or `+01:30`, or `None` for another form and for parts that not every Ruby
/// takes.
fn numeric_offset(text: &str) -> Option<i128> {
    let digits = text.get(1..)?;
    let number = |text: &str| text.parse::<i32>().ok().map(i128::from);
    let seconds = if digits.contains(':') {
        let mut parts = digits.split(':');
        let mut part = |most| parts.next().map_or(Some(0), number).filter(|part| *part <= most);
        part(23)? * 3600 + part(59)? * 60 + part(59)?
    } else if digits.contains(['.', ',']) {
        return None;
    } else {
        match digits.len() {
            1 | 2 => number(digits)? * 3600,
            3 | 4 | 6 => {
                let (hours, rest) = digits.split_at(2 - digits.len() % 2);
                let (minutes, seconds) = rest.split_at(2);
                number(hours)? * 3600 + number(minutes)? * 60 + if seconds.is_empty() { 0 } else { number(seconds)? }
            }
            _ => return None,
        }
    };
    Some(if text.starts_with('-') { -seconds } else { seconds })
}
