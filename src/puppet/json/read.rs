//! Reads JSON as the parser of Ruby's `json` 2.6.1 does, comments, lone surrogates and messages included.
//!
//! That parser has a state machine for each element: if an object breaks off, the whole object is unexpected; if an
//! array does, only the character is. The numbers at the start of its messages are lines of its source.

use num_bigint::BigInt;

use crate::puppet::document::{Fault, FaultKind, Marks, Parsed, line_at, put};
use crate::puppet::ruby;
use crate::value::{Hash, Value};

/// The maximum nesting depth of arrays and objects.
const MAX_NESTING: usize = 100;

/// The maximum number of digits of an integer, since reading takes more than linear time.
const MAX_DIGITS: usize = 20_000;

/// A value, its marks, and where it ends; `None` if there is no value.
type Found = Option<(Value, Vec<Marks>, usize)>;

/// Reads a JSON document.
pub fn parse(content: &[u8]) -> Parsed {
    let mut reader = Reader { bytes: content, counted_to: 0, line: 1 };
    match reader.document() {
        Ok((value, marks)) => Parsed { value, marks, ..Parsed::default() },
        Err(fault) => Parsed::refused(fault),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    /// The place up to which lines were counted, and the line there.
    counted_to: usize,
    line: u32,
}

impl Reader<'_> {
    fn document(&mut self) -> Result<(Value, Marks), Fault> {
        let start = self.ignore(0).map_err(|at| self.unexpected(859, at))?;
        if !self.starts_value(start) {
            return Err(self.unexpected(859, start));
        }
        let line = self.line_of(start);
        let Some((value, children, end)) = self.value(start, 0)? else { return Err(self.unexpected(859, start)) };
        let end = self.ignore(end).map_err(|at| self.unexpected(859, at))?;
        if end < self.bytes.len() {
            return Err(self.unexpected(859, end));
        }
        Ok((value, Marks { line, children: children.into() }))
    }

    fn peek(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// Returns the line of a place. Places must be asked for in ascending order.
    fn line_of(&mut self, at: usize) -> u32 {
        let passed = self.bytes.get(self.counted_to..).unwrap_or_default();
        self.line = self.line.saturating_add(line_at(passed, at.saturating_sub(self.counted_to)) - 1);
        self.counted_to = self.counted_to.max(at);
        self.line
    }

    /// Returns a message with the rest of the text, up to a zero byte.
    fn fault(&self, source_line: u32, problem: &str, at: usize) -> Fault {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let rest = String::from_utf8_lossy(rest.split(|b| *b == 0).next().unwrap_or_default());
        Fault {
            line: line_at(self.bytes, at),
            text: format!("{source_line}: {problem} at '{rest}'"),
            kind: FaultKind::Syntax,
        }
    }

    fn unexpected(&self, source_line: u32, at: usize) -> Fault {
        self.fault(source_line, "unexpected token", at)
    }

    fn limit(&mut self, at: usize, text: String, kind: FaultKind) -> Fault {
        Fault { line: self.line_of(at), text, kind }
    }

    /// Skips blanks and comments; fails at the character that breaks a comment off.
    fn ignore(&self, mut at: usize) -> Result<usize, usize> {
        loop {
            match self.peek(at) {
                Some(b' ' | b'\t' | b'\r' | b'\n') => at += 1,
                Some(b'/') => at = self.comment(at + 1)?,
                _ => return Ok(at),
            }
        }
    }

    /// Returns the end of the comment whose second character is at `at`.
    fn comment(&self, at: usize) -> Result<usize, usize> {
        let rest = self.bytes.get(at + 1..).unwrap_or_default();
        let end = match self.peek(at) {
            Some(b'*') => rest.windows(2).position(|pair| pair == b"*/").map(|end| end + 2),
            Some(b'/') => rest.iter().position(|b| *b == b'\n').map(|end| end + 1),
            _ => return Err(at),
        };
        end.map(|end| at + 1 + end).ok_or(self.bytes.len())
    }

    fn starts_value(&self, at: usize) -> bool {
        matches!(self.peek(at), Some(b'n' | b'f' | b't' | b'"' | b'-' | b'[' | b'{' | b'N' | b'I' | b'0'..=b'9'))
    }

    fn value(&mut self, at: usize, depth: usize) -> Result<Found, Fault> {
        let literal = |text: &str, value: Value| {
            let matches = self.bytes.get(at..).is_some_and(|rest| rest.starts_with(text.as_bytes()));
            matches.then(|| (value, Vec::new(), at + text.len()))
        };
        match self.peek(at) {
            Some(b'n') => Ok(literal("null", Value::Undef)),
            Some(b't') => Ok(literal("true", true.into())),
            Some(b'f') => Ok(literal("false", false.into())),
            Some(b'N') if literal("NaN", Value::Undef).is_some() => Err(self.unexpected(225, at)),
            Some(b'I') if literal("Infinity", Value::Undef).is_some() => {
                // The gem is off by one; before the text in memory is a zero byte.
                Err(self.unexpected(232, at.checked_sub(1).unwrap_or(self.bytes.len())))
            }
            Some(b'"') => Ok(self.string(at)?.map(|(value, end)| (value, Vec::new(), end))),
            Some(b'[') => self.array(at, depth + 1).map(Some),
            Some(b'{') => self.object(at, depth + 1),
            Some(b'-') if literal("-Infinity", Value::Undef).is_some() => Err(self.unexpected(249, at)),
            Some(b'-' | b'0'..=b'9') => self.number(at).map(Some),
            _ => Ok(None),
        }
    }

    fn nest(&mut self, at: usize, depth: usize) -> Result<(), Fault> {
        if depth > MAX_NESTING {
            return Err(self.limit(at, format!("nesting of {depth} is too deep"), FaultKind::Syntax));
        }
        Ok(())
    }

    fn array(&mut self, at: usize, depth: usize) -> Result<(Value, Vec<Marks>, usize), Fault> {
        self.nest(at, depth)?;
        let (mut items, mut marks) = (Vec::new(), Vec::new());
        let mut at = self.ignore(at + 1).map_err(|at| self.unexpected(451, at))?;
        if self.peek(at) == Some(b']') {
            return Ok((Value::array(items), marks, at + 1));
        }
        loop {
            if !self.starts_value(at) {
                return Err(self.unexpected(451, at));
            }
            let line = self.line_of(at);
            let Some((value, children, end)) = self.value(at, depth)? else { return Err(self.unexpected(451, at)) };
            items.push(value);
            marks.push(Marks { line, children: children.into() });
            at = self.ignore(end).map_err(|at| self.unexpected(451, at))?;
            match self.peek(at) {
                Some(b']') => return Ok((Value::array(items), marks, at + 1)),
                Some(b',') => at = self.ignore(at + 1).map_err(|at| self.unexpected(451, at))?,
                _ => return Err(self.unexpected(451, at)),
            }
        }
    }

    fn object(&mut self, at: usize, depth: usize) -> Result<Found, Fault> {
        self.nest(at, depth)?;
        let (mut hash, mut marks) = (Hash::new(), Vec::new());
        let Ok(mut at) = self.ignore(at + 1) else { return Ok(None) };
        if self.peek(at) == Some(b'}') {
            return Ok(Some((Value::hash(hash), marks, at + 1)));
        }
        loop {
            let line = self.line_of(at);
            let Some((key, end)) = self.string(at)? else { return Ok(None) };
            let Ok(colon) = self.ignore(end) else { return Ok(None) };
            if self.peek(colon) != Some(b':') {
                return Ok(None);
            }
            let Ok(start) = self.ignore(colon + 1) else { return Ok(None) };
            let Some((value, children, end)) = self.value(start, depth)? else { return Ok(None) };
            put(&mut hash, &mut marks, key, value, Marks { line, children: children.into() });
            let Ok(next) = self.ignore(end) else { return Ok(None) };
            match self.peek(next) {
                Some(b'}') => return Ok(Some((Value::hash(hash), marks, next + 1))),
                Some(b',') => match self.ignore(next + 1) {
                    Ok(start) => at = start,
                    Err(_) => return Ok(None),
                },
                _ => return Ok(None),
            }
        }
    }

    /// Returns a number. If there is none, nothing is consumed, and what follows fails.
    fn number(&mut self, at: usize) -> Result<(Value, Vec<Marks>, usize), Fault> {
        let digits = |from: usize| {
            from + self.bytes[from.min(self.bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count()
        };
        let start = at + usize::from(self.peek(at) == Some(b'-'));
        let whole = if self.peek(start) == Some(b'0') { start + 1 } else { digits(start) };
        let mut end = whole;
        if self.peek(end) == Some(b'.') && digits(end + 1) > end + 1 {
            end = digits(end + 1);
        }
        if matches!(self.peek(end), Some(b'e' | b'E')) {
            let exponent = end + 1 + usize::from(matches!(self.peek(end + 1), Some(b'+' | b'-')));
            if digits(exponent) > exponent {
                end = digits(exponent);
            }
        }
        let text = |end: usize| std::str::from_utf8(&self.bytes[at..end]).unwrap_or_default();
        let float_ends = !matches!(self.peek(end), Some(b'0'..=b'9' | b'e' | b'E' | b'.' | b'-'));
        if whole > start && end > whole && float_ends {
            return Ok((Value::Float(ruby::strtod(text(end))), Vec::new(), end));
        }
        if whole == start || matches!(self.peek(whole), Some(b'0'..=b'9')) {
            return Ok((Value::Undef, Vec::new(), at));
        }
        if whole - start > MAX_DIGITS {
            return Err(self.limit(at, format!("an integer of more than {MAX_DIGITS} digits"), FaultKind::Limit));
        }
        let integer = text(whole).parse().map_or_else(
            |_| Value::big(BigInt::parse_bytes(text(whole).as_bytes(), 10).unwrap_or_default()),
            Value::Integer,
        );
        Ok((integer, Vec::new(), whole))
    }

    /// Returns a string and its end, or `None` if its text is not valid.
    fn string(&mut self, at: usize) -> Result<Option<(Value, usize)>, Fault> {
        if self.peek(at) != Some(b'"') {
            return Ok(None);
        }
        let start = at + 1;
        let Some((end, escapes)) = self.string_end(start) else { return Ok(None) };
        let raw = &self.bytes[start..end];
        if !escapes {
            let value = std::str::from_utf8(raw).map_or_else(|_| Value::Bytes(raw.into()), Value::from);
            return Ok(Some((value, end + 1)));
        }
        match unescape(raw) {
            Ok(bytes) => Ok(Some((Value::bytes(bytes), end + 1))),
            Err((source_line, problem, offset)) => Err(self.fault(source_line, problem, start + offset)),
        }
    }

    /// Returns the position of the closing quote, and true if a backslash comes before it.
    fn string_end(&self, start: usize) -> Option<(usize, bool)> {
        let (mut at, mut escapes) = (start, false);
        loop {
            match self.peek(at)? {
                b'"' => return Some((at, escapes)),
                0..=0x1f => return None,
                b'\\' => {
                    escapes = true;
                    match self.peek(at + 1)? {
                        0..=0x1f => return None,
                        b'u' if !self.bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => return None,
                        b'u' => at += 6,
                        _ => at += 2,
                    }
                }
                _ => at += 1,
            }
        }
    }
}

/// Returns the text of a string, or the line, problem and offset of a fault.
///
/// A high surrogate takes what follows as its other half. If that is not an escape, a character is lost with it, even
/// the backslash that escapes the next one. So text that `string_end` has accepted can be wrong here.
fn unescape(raw: &[u8]) -> Result<Vec<u8>, (u32, &'static str, usize)> {
    let mut out = Vec::with_capacity(raw.len());
    let (mut from, mut at) = (0, 0);
    while at < raw.len() {
        if raw[at] != b'\\' {
            at += 1;
            continue;
        }
        out.extend_from_slice(&raw[from..at]);
        at += 1;
        match raw.get(at) {
            Some(b'n') => out.push(b'\n'),
            Some(b'r') => out.push(b'\r'),
            Some(b't') => out.push(b'\t'),
            Some(b'b') => out.push(8),
            Some(b'f') => out.push(12),
            Some(c @ (b'"' | b'\\')) => out.push(*c),
            // A backslash that lost its partner escapes the closing quote.
            None => out.push(b'"'),
            Some(b'u') if at + 4 > raw.len() => {
                return Err((508, "incomplete unicode character escape sequence", from));
            }
            Some(b'u') => {
                let code = hex(&raw[at + 1..]);
                at += 4;
                if code & 0xfc00 == 0xd800 {
                    let next = raw.get(at + 1..at + 7).ok_or((521, "incomplete surrogate pair", from))?;
                    at += surrogate(code, next, &mut out);
                } else {
                    push_utf8(&mut out, code);
                }
            }
            // Another character stands for itself.
            _ => {
                from = at;
                continue;
            }
        }
        at += 1;
        from = at;
    }
    out.extend_from_slice(raw.get(from..).unwrap_or_default());
    Ok(out)
}

/// Appends the character of a high surrogate and the text after it. Returns the number of bytes used of that text.
fn surrogate(high: u32, next: &[u8], out: &mut Vec<u8>) -> usize {
    if next.starts_with(b"\\u") {
        let code = (high & 0x3f) << 10 | (((high >> 6) & 0xf) + 1) << 16 | (hex(&next[2..]) & 0x3ff);
        push_utf8(out, code);
        6
    } else {
        out.push(b'?');
        1
    }
}

/// Returns the number that four digits stand for, or the replacement character if they are not digits.
fn hex(digits: &[u8]) -> u32 {
    let digit = |n: u32, at: usize| Some(n << 4 | char::from(*digits.get(at)?).to_digit(16)?);
    (0..4).try_fold(0, digit).unwrap_or(0xfffd)
}

/// Appends a code in the bit pattern of UTF-8: a lone surrogate makes bytes that are not valid UTF-8.
fn push_utf8(out: &mut Vec<u8>, code: u32) {
    let byte = |shift: u32, mask: u32, mark: u32| u8::try_from(((code >> shift) & mask) | mark).unwrap_or_default();
    match code {
        0..=0x7f => out.push(byte(0, 0x7f, 0)),
        0x80..=0x7ff => out.extend([byte(6, 0x1f, 0xc0), byte(0, 0x3f, 0x80)]),
        0x800..=0xffff => out.extend([byte(12, 0xf, 0xe0), byte(6, 0x3f, 0x80), byte(0, 0x3f, 0x80)]),
        _ => out.extend([byte(18, 7, 0xf0), byte(12, 0x3f, 0x80), byte(6, 0x3f, 0x80), byte(0, 0x3f, 0x80)]),
    }
}
