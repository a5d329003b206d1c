//! The characters of a document, one after the other, and their places.

use crate::puppet::document::{Fault, FaultKind, line_at};

/// libyaml decodes its input in pieces of this many bytes; a fault in a piece is found before anything in it is read.
const PIECE: usize = 16384;

/// A place in the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Characters before it.
    pub(super) index: usize,
    /// Lines before it.
    pub(super) line: u32,
    /// Characters before it on its line.
    pub(super) column: u32,
}

impl Mark {
    /// Returns the line, counted from 1.
    pub(super) fn line_number(self) -> u32 {
        self.line.saturating_add(1)
    }
}

/// Returns the fault that Psych words as `problem context at line L column C`, where the line is that of the context.
pub(super) fn fault(problem: &str, at: Mark, context: &str, context_at: Mark) -> Fault {
    let gap = if context.is_empty() { "" } else { " " };
    let column = context_at.column.saturating_add(1);
    let text = format!("{problem}{gap}{context} at line {} column {column}", context_at.line_number());
    Fault { line: at.line_number(), text, kind: FaultKind::Syntax }
}

/// The text that is left to read.
pub(super) struct Input<'a> {
    /// The text before the first bad character.
    text: &'a str,
    bytes: &'a [u8],
    /// The byte to read next.
    pub(super) at: usize,
    /// Its place.
    pub(super) mark: Mark,
    /// The fault of the bytes after the text.
    bad: Option<Fault>,
}

impl<'a> Input<'a> {
    pub(super) fn new(content: &'a [u8]) -> Input<'a> {
        let (len, bad) = match first_bad(content) {
            None => (content.len(), None),
            Some((at, problem)) => {
                let mark = Mark { line: line_at(content, at) - 1, ..Mark::default() };
                (readable(content, at), Some(fault(problem, mark, "", Mark::default())))
            }
        };
        let text = std::str::from_utf8(&content[..len]).unwrap_or_default();
        Input { text, bytes: text.as_bytes(), at: 0, mark: Mark::default(), bad }
    }

    /// Fails if the bad bytes after the text are among the next `count` characters.
    #[inline]
    pub(super) fn need(&self, count: usize) -> Result<(), Fault> {
        match &self.bad {
            None => Ok(()),
            Some(bad) => self.need_before(bad, count),
        }
    }

    #[cold]
    fn need_before(&self, bad: &Fault, count: usize) -> Result<(), Fault> {
        let left = self.text[self.at..].chars().take(count).count();
        if left < count { Err(bad.clone()) } else { Ok(()) }
    }

    /// Returns the byte `offset` bytes ahead, or 0 at the end.
    #[inline]
    pub(super) fn peek(&self, offset: usize) -> u8 {
        self.bytes.get(self.at + offset).copied().unwrap_or(0)
    }

    /// Returns the text from byte `start` to byte `end`.
    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Returns the remaining bytes, unless bad ones follow.
    #[inline]
    fn rest(&self) -> Option<&'a [u8]> {
        if self.bad.is_some() { None } else { self.bytes.get(self.at..) }
    }

    /// Skips `count` ASCII characters that break no line.
    #[inline]
    fn pass(&mut self, count: usize) {
        self.at += count;
        self.mark.index += count;
        self.mark.column = self.mark.column.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Skips a character.
    #[inline]
    pub(super) fn skip(&mut self) {
        let first = self.peek(0);
        if self.at >= self.bytes.len() {
            return;
        }
        self.at += if first < 0x80 { 1 } else { width(first) };
        self.mark.index += 1;
        self.mark.column += 1;
    }

    /// Skips ASCII characters other than control characters for which `passes` holds. Does nothing if bad bytes
    /// follow the text.
    pub(super) fn skip_run(&mut self, passes: impl Fn(u8) -> bool) {
        let Some(rest) = self.rest() else { return };
        self.pass(rest.iter().take_while(|b| matches!(b, 0x20..=0x7e) && passes(**b)).count());
    }

    /// Skips a line break and returns how it reads; does nothing at anything else.
    pub(super) fn skip_break(&mut self) -> &'static str {
        let (bytes, chars, reads) = match (self.peek(0), self.peek(1), self.peek(2)) {
            (b'\r', b'\n', _) => (2, 2, "\n"),
            (b'\r' | b'\n', _, _) => (1, 1, "\n"),
            (0xc2, 0x85, _) => (2, 1, "\n"),
            (0xe2, 0x80, 0xa8) => (3, 1, "\u{2028}"),
            (0xe2, 0x80, 0xa9) => (3, 1, "\u{2029}"),
            _ => return "",
        };
        self.at += bytes;
        self.mark.index += chars;
        self.mark.column = 0;
        self.mark.line = self.mark.line.saturating_add(1);
        reads
    }

    /// Returns true if the text ends here.
    pub(super) fn at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    #[inline]
    pub(super) fn is_blank_at(&self, offset: usize) -> bool {
        matches!(self.peek(offset), b' ' | b'\t')
    }

    #[inline]
    pub(super) fn is_break_at(&self, offset: usize) -> bool {
        match self.peek(offset) {
            b'\r' | b'\n' => true,
            0xc2 => self.peek(offset + 1) == 0x85,
            0xe2 => self.peek(offset + 1) == 0x80 && matches!(self.peek(offset + 2), 0xa8 | 0xa9),
            _ => false,
        }
    }

    #[inline]
    pub(super) fn is_break(&self) -> bool {
        self.is_break_at(0)
    }

    /// Returns true at a line break or the end.
    #[inline]
    pub(super) fn is_break_or_end(&self) -> bool {
        self.peek(0) == 0 || self.is_break_at(0)
    }

    /// Returns true at a blank, a line break or the end.
    #[inline]
    pub(super) fn is_space_at(&self, offset: usize) -> bool {
        self.peek(offset) == 0 || self.is_blank_at(offset) || self.is_break_at(offset)
    }

    /// Returns true if `indicator`, a `---` or `...`, is here at the start of a line.
    pub(super) fn is_document_indicator(&self, indicator: [u8; 3]) -> bool {
        self.mark.column == 0 && [self.peek(0), self.peek(1), self.peek(2)] == indicator && self.is_space_at(3)
    }

    /// Returns true at a byte order mark.
    pub(super) fn is_bom(&self) -> bool {
        self.peek(0) == 0xef && self.peek(1) == 0xbb && self.peek(2) == 0xbf
    }
}

/// Returns the number of bytes of the character that starts with `first`; 0 if none does.
fn width(first: u8) -> usize {
    match first {
        0..=0x7f => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 0,
    }
}

/// True for bytes that may be part of a character that is not allowed.
const IS_ODD: [bool; 256] = {
    let mut odd = [false; 256];
    let mut b = 0;
    while b < 0x20 {
        odd[b] = !matches!(b, 0x9 | 0xa | 0xd);
        b += 1;
    }
    odd[0x7f] = true;
    odd[0xc2] = true;
    odd[0xef] = true;
    odd
};

/// Returns the first place at which `content` is not text that YAML allows, and the reason.
pub(super) fn first_bad(content: &[u8]) -> Option<(usize, &'static str)> {
    // Nearly every file is valid by its bytes alone, and most are plain ASCII: this is checked many bytes at a time.
    if content.iter().fold(true, |is_plain, b| is_plain & matches!(b, b' '..=b'~' | b'\n')) {
        return None;
    }
    if !content.iter().any(|b| IS_ODD[usize::from(*b)]) && std::str::from_utf8(content).is_ok() {
        return None;
    }
    let mut at = 0;
    while at < content.len() {
        match character(&content[at..]) {
            Ok(width) => at += width,
            Err(problem) => return Some((at, problem)),
        }
    }
    None
}

/// Returns the width of the character at the start of `bytes`, or what is wrong with it.
fn character(bytes: &[u8]) -> Result<usize, &'static str> {
    let first = bytes[0];
    let width = width(first);
    if width == 0 {
        return Err("invalid leading UTF-8 octet");
    }
    let Some(rest) = bytes.get(1..width) else { return Err("incomplete UTF-8 octet sequence") };
    let mut value = u32::from(if width == 1 { first } else { first & (0x7f >> width) });
    for octet in rest {
        if octet & 0xc0 != 0x80 {
            return Err("invalid trailing UTF-8 octet");
        }
        value = value << 6 | u32::from(octet & 0x3f);
    }
    if value < [0, 0, 0x80, 0x800, 0x1_0000][width] {
        return Err("invalid length of a UTF-8 sequence");
    }
    if matches!(value, 0xd800..=0xdfff) || value > 0x10_ffff {
        return Err("invalid Unicode character");
    }
    match value {
        0x9 | 0xa | 0xd | 0x20..=0x7e | 0x85 | 0xa0..=0xd7ff | 0xe000..=0xfffd | 0x1_0000.. => Ok(width),
        _ => Err("control characters are not allowed"),
    }
}

/// Returns the number of bytes that can be read before libyaml decodes the piece that contains the bad character at
/// `bad`.
fn readable(content: &[u8], bad: usize) -> usize {
    let mut start = 0;
    loop {
        let end = start + PIECE;
        if bad < end {
            let width = width(content[bad]);
            return if width == 0 || bad + width <= end.min(content.len()) { start } else { bad };
        }
        // A character that the piece cuts through is left for the next one.
        start = (end - 3..end).find(|at| at + width(content[*at]) > end && width(content[*at]) > 0).unwrap_or(end);
    }
}
