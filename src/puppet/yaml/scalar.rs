//! Plain scalars: which text is a boolean, a number, a symbol, and which stays text.
//!
//! The rules are those of Psych's scalar scanner, whose patterns are Ruby regular expressions in which `^` and `$`
//! match at every line. Here they are written by hand: nearly every scalar of a data file is a word, and a word is
//! decided by its first two bytes.

use super::{Psych, Refusal, number};
use crate::value::Value;

/// Returns the value of a scalar without quotes or a tag.
pub(super) fn resolve(text: &str, psych: Psych) -> Result<Value, Refusal> {
    Ok(other_than_text(text, psych)?.unwrap_or_else(|| Value::from(text)))
}

/// Returns true if a scalar without quotes or a tag is a text.
pub(super) fn is_text(text: &str) -> bool {
    let is_word = text.bytes().next().is_some_and(|first| is_plain_word(text.as_bytes(), first));
    is_word || matches!(other_than_text(text, Psych::default()), Ok(None | Some(Value::String(_))))
}

/// Returns the value of a scalar, or `None` if that is its literal text.
fn other_than_text(text: &str, psych: Psych) -> Result<Option<Value>, Refusal> {
    let bytes = text.as_bytes();
    let Some(&first) = bytes.first() else { return Ok(Some(Value::Undef)) };
    if is_plain_word(bytes, first) {
        return Ok(None);
    }
    let second = bytes.get(1).copied();
    if starts_as_word(first, second) || bytes.contains(&b'\n') {
        return Ok(word(text));
    }
    match first {
        _ if may_start_number(first) => number_or_time(text, psych),
        b':' if text.len() > 1 => Ok(Some(symbol(text))),
        _ => Ok(None),
    }
}

/// Returns true if a text that starts with the byte `first` is a word and certainly not the name of a value, as
/// nearly every key is.
fn is_plain_word(bytes: &[u8], first: u8) -> bool {
    let is_long = || bytes.get(..LONGEST_NAME + 1).is_some_and(<[u8]>::is_ascii);
    first.is_ascii_alphabetic() && (!starts_named_value(first) || is_long())
}

/// Returns true if a number or a time may start with this byte: only such scalars may have no value.
fn may_start_number(first: u8) -> bool {
    matches!(first, b'0'..=b'9' | b'.' | b'-' | b'+')
}

/// Returns true if the first two bytes show that the text is not a number.
fn starts_as_word(first: u8, second: Option<u8>) -> bool {
    if matches!(first, b'0'..=b'9' | b'.' | b':' | b'-') {
        return false;
    }
    is_word_byte(first) || second.is_some_and(is_word_byte)
}

fn is_word_byte(b: u8) -> bool {
    b.is_ascii_alphabetic()
        || matches!(b, b'\t'..=b'\r' | b' ' | b'_' | b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*')
        || matches!(b, b'(' | b')' | b'{' | b'}' | b'<' | b'>' | b'|' | b'/' | b'\\' | b'~' | b';' | b'=')
}

/// The length of `false`, the longest name of a value.
const LONGEST_NAME: usize = 5;

/// Returns true if the name of a boolean or of null may start with this byte.
fn starts_named_value(first: u8) -> bool {
    matches!(first, b'y' | b't' | b'o' | b'n' | b'f' | b'Y' | b'T' | b'O' | b'N' | b'F' | b'~')
}

/// Returns the boolean or null that a short text stands for.
fn word(text: &str) -> Option<Value> {
    let at_line_start = |line: &str| line.bytes().next().is_some_and(starts_named_value);
    if !at_line_start(text) || text.chars().nth(LONGEST_NAME).is_some() {
        return None;
    }
    if !text.as_bytes().contains(&b'\n') {
        return line_word(text);
    }
    // Ruby's `^` and `$` match at every line: a text is a value if one of its lines is the name of one.
    let lines = || text.split('\n');
    let last_is_empty = text.ends_with('\n');
    let count = lines().count() - usize::from(last_is_empty);
    if !lines().take(count).all(at_line_start) {
        return None;
    }
    let words: Vec<Value> = lines().filter(|line| *line != "~").filter_map(line_word).collect();
    [Value::Undef, Value::Boolean(true), Value::Boolean(false)].into_iter().find(|v| words.contains(v))
}

fn line_word(line: &str) -> Option<Value> {
    let is = |word: &&str| line.eq_ignore_ascii_case(word);
    let first = line.as_bytes().first()?.to_ascii_lowercase();
    match first {
        b'~' if line == "~" => Some(Value::Undef),
        b'n' if is(&"null") => Some(Value::Undef),
        b'n' if is(&"no") => Some(false.into()),
        b't' if is(&"true") => Some(true.into()),
        b'o' if is(&"on") => Some(true.into()),
        b'y' if is(&"yes") => Some(true.into()),
        b'f' if is(&"false") => Some(false.into()),
        b'o' if is(&"off") => Some(false.into()),
        // Ruby ignores case as Unicode does: the long s is an s, the ligature two f.
        b'y' | b'f' | b'o' if !line.is_ascii() => line_word(&plain_letters(line)?),
        _ => None,
    }
}

fn plain_letters(line: &str) -> Option<String> {
    let plain = line.replace('\u{17f}', "s").replace('\u{fb00}', "ff");
    plain.is_ascii().then_some(plain)
}

fn symbol(text: &str) -> Value {
    let name = text.strip_prefix(':').unwrap_or(text);
    let quoted = name
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\''))
        .and_then(|quote| Some(&name[1..name.rfind(quote).filter(|end| *end > 0)?]));
    Value::Symbol(quoted.map_or(name, |q| q.strip_prefix(':').unwrap_or(q)).into())
}

fn number_or_time(text: &str, psych: Psych) -> Result<Option<Value>, Refusal> {
    let bytes = text.as_bytes();
    if is_time(bytes) {
        return Err(Refusal::Class("Time".into()));
    }
    if is_date(bytes) {
        return Err(Refusal::Class("Date".into()));
    }
    number::read(text, psych).transpose()
}

/// Returns the bytes after `min` to `max` digits, or `None` if there are fewer.
fn after_digits(bytes: &[u8], min: usize, max: usize) -> Option<&[u8]> {
    let n = bytes.iter().take(max).take_while(|b| b.is_ascii_digit()).count();
    (n >= min).then(|| &bytes[n..])
}

fn after_byte<'a>(bytes: &'a [u8], set: &[u8]) -> Option<&'a [u8]> {
    bytes.split_first().filter(|(b, _)| set.contains(b)).map(|(_, rest)| rest)
}

/// Returns true for a date such as `2001-02-30`, even if it is not in the calendar.
fn is_date(bytes: &[u8]) -> bool {
    let parts = || {
        let rest = after_byte(after_digits(bytes, 4, 4)?, b"-")?;
        let dash = rest.iter().position(|b| *b == b'-')?;
        let (month, day) = (&rest[..dash], &rest[dash + 1..]);
        let month_fits = matches!(month, [b'0'..=b'9'] | [b'1', b'0'..=b'2'] | [b'0', b'0'..=b'9']);
        let day_fits = matches!(day, [b'0'..=b'9'] | [b'0'..=b'2', b'0'..=b'9'] | [b'3', b'0' | b'1']);
        Some(month_fits && day_fits)
    };
    parts().unwrap_or(false)
}

/// Returns true for a time such as `2001-12-14t21:59:43.10-05:00`.
fn is_time(bytes: &[u8]) -> bool {
    after_clock(bytes).is_some_and(is_zone)
}

/// Returns the text after the date and the time of day.
fn after_clock(bytes: &[u8]) -> Option<&[u8]> {
    let bytes = after_byte(bytes, b"-").unwrap_or(bytes);
    let rest = after_byte(after_digits(bytes, 4, 4)?, b"-")?;
    let rest = after_byte(after_digits(rest, 1, 2)?, b"-")?;
    let rest = after_digits(rest, 1, 2)?;
    let rest = match after_byte(rest, b"Tt") {
        Some(rest) => rest,
        None => after_spaces(after_byte(rest, SPACE)?),
    };
    let rest = after_byte(after_digits(rest, 1, 2)?, b":")?;
    let rest = after_byte(after_digits(rest, 2, 2)?, b":")?;
    let rest = after_digits(rest, 2, 2)?;
    after_byte(rest, b".").map_or(Some(rest), |fraction| after_digits(fraction, 0, usize::MAX))
}

const SPACE: &[u8] = b" \t\r\x0b\x0c";

fn after_spaces(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().take_while(|b| SPACE.contains(b)).count()..]
}

fn is_zone(rest: &[u8]) -> bool {
    if rest.is_empty() {
        return true;
    }
    let rest = after_spaces(rest);
    if rest == b"Z" {
        return true;
    }
    let Some(offset) = after_byte(rest, b"+-") else { return false };
    let count = offset.iter().take_while(|b| b.is_ascii_digit()).count();
    match offset.get(count) {
        None => (1..=4).contains(&count),
        Some(b':') => {
            (1..=2).contains(&count)
                && after_digits(&offset[count + 1..], 0, 2).is_some_and(ends_after_pair(offset, count))
        }
        Some(_) => false,
    }
}

/// Returns a test that two digits or nothing follow the colon of an offset.
fn ends_after_pair(offset: &[u8], count: usize) -> impl Fn(&[u8]) -> bool {
    let minutes = offset.len() - count - 1;
    move |rest| rest.is_empty() && (minutes == 0 || minutes == 2)
}
