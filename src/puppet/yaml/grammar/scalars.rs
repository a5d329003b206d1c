//! Scalars: plain, quoted and block. Text that is literal in the file is borrowed from it.

use std::borrow::Cow;

use super::input::{Mark, fault};
use super::scanner::Scanner;
use super::token::{Kind, Token};
use crate::puppet::document::Fault;
use crate::puppet::server::Kind as Otherwise;

/// Text that is a slice of the file as long as possible.
struct Text<'a> {
    joined: Option<String>,
    value: &'a str,
}

impl<'a> Text<'a> {
    fn new() -> Text<'a> {
        Text { joined: None, value: "" }
    }

    /// Adds a piece of the file.
    fn add(&mut self, piece: &'a str) {
        match &mut self.joined {
            Some(joined) => joined.push_str(piece),
            None if self.value.is_empty() => self.value = piece,
            None => self.push(piece),
        }
    }

    /// Adds text that is not in the file.
    fn push(&mut self, text: &str) {
        if !text.is_empty() {
            self.joined.get_or_insert_with(|| self.value.to_owned()).push_str(text);
        }
    }

    fn finish(self) -> Cow<'a, str> {
        self.joined.map_or(Cow::Borrowed(self.value), Cow::Owned)
    }
}

/// The line breaks between two lines of a scalar that folds.
#[derive(Default)]
struct Breaks {
    leading: &'static str,
    trailing: String,
}

impl Breaks {
    /// Writes the text that they stand for: a single break is a space.
    fn fold(&mut self, text: &mut Text<'_>) {
        if self.leading != "\n" {
            text.push(self.leading);
            text.push(&self.trailing);
        } else if self.trailing.is_empty() {
            text.push(" ");
        } else {
            text.push(&self.trailing);
        }
        *self = Breaks::default();
    }
}

impl<'a> Scanner<'a> {
    fn at_indicator(&self) -> bool {
        self.input.is_document_indicator(*b"---") || self.input.is_document_indicator(*b"...")
    }

    pub(super) fn scan_plain_scalar(&mut self) -> Result<Token<'a>, Fault> {
        let start = self.input.mark;
        let indent = self.indent + 1;
        let (mut text, mut breaks) = (Text::new(), Breaks::default());
        let (mut from, mut to, mut end) = (self.input.at, self.input.at, start);
        let mut on_new_line = false;
        loop {
            self.input.need(4)?;
            if self.at_indicator() || self.input.peek(0) == b'#' {
                break;
            }
            while !self.input.is_space_at(0) {
                if self.ends_plain_scalar(start)? {
                    break;
                }
                if on_new_line {
                    text.add(self.input.slice(from, to));
                    breaks.fold(&mut text);
                    from = self.input.at;
                    on_new_line = false;
                }
                self.input.skip();
                self.input.skip_run(|b| !matches!(b, b' ' | b':' | b',' | b'[' | b']' | b'{' | b'}'));
                (to, end) = (self.input.at, self.input.mark);
                self.input.need(2)?;
            }
            if !(self.input.is_blank_at(0) || self.input.is_break()) {
                break;
            }
            self.skip_plain_blanks(&mut on_new_line, &mut breaks, indent, start)?;
            if self.flow_level == 0 && i64::from(self.input.mark.column) < indent {
                break;
            }
        }
        if on_new_line {
            self.key_allowed = true;
        }
        text.add(self.input.slice(from, to));
        Ok(Token { start, end, kind: Kind::Scalar { value: text.finish(), plain: true } })
    }

    /// Returns true if an indicator here ends the scalar.
    fn ends_plain_scalar(&mut self, start: Mark) -> Result<bool, Fault> {
        let flow = self.flow_level > 0;
        match self.input.peek(0) {
            b':' if flow && matches!(self.input.peek(1), b',' | b'?' | b'[' | b']' | b'{' | b'}') => {
                if self.input.peek(1) != b'?' && self.reads_on(Otherwise::ColonInFlow) {
                    return Ok(true);
                }
                Err(fault("found unexpected ':'", self.input.mark, "while scanning a plain scalar", start))
            }
            b':' => Ok(self.input.is_space_at(1)),
            b',' | b'[' | b']' | b'{' | b'}' => Ok(flow),
            _ => Ok(false),
        }
    }

    fn skip_plain_blanks(
        &mut self,
        new_line: &mut bool,
        breaks: &mut Breaks,
        indent: i64,
        start: Mark,
    ) -> Result<(), Fault> {
        self.input.need(1)?;
        let mut from = None;
        loop {
            if self.input.is_blank_at(0) {
                if *new_line && i64::from(self.input.mark.column) < indent && self.input.peek(0) == b'\t' {
                    let problem = "found a tab character that violates indentation";
                    return Err(fault(problem, self.input.mark, "while scanning a plain scalar", start));
                }
                self.input.skip();
            } else if self.input.is_break() {
                self.input.need(2)?;
                self.add_break(new_line, breaks);
                from.get_or_insert(self.input.at);
            } else {
                // Tabs after the text on the same line belong to it, and are not noted.
                if let Some(from) = from {
                    self.note_tabs(from);
                }
                return Ok(());
            }
            self.input.need(1)?;
        }
    }

    fn add_break(&mut self, new_line: &mut bool, breaks: &mut Breaks) {
        let read = self.input.skip_break();
        if *new_line {
            breaks.trailing.push_str(read);
        } else {
            breaks.leading = read;
            *new_line = true;
        }
    }

    pub(super) fn scan_flow_scalar(&mut self, single: bool) -> Result<Token<'a>, Fault> {
        let start = self.input.mark;
        let quote = if single { b'\'' } else { b'"' };
        let (mut text, mut breaks) = (Text::new(), Breaks::default());
        self.input.skip();
        loop {
            self.input.need(4)?;
            let context = "while scanning a quoted scalar";
            if self.at_indicator() {
                return Err(fault("found unexpected document indicator", self.input.mark, context, start));
            }
            if self.input.at_end() {
                return Err(fault("found unexpected end of stream", self.input.mark, context, start));
            }
            self.input.need(2)?;
            let (mut from, mut new_line) = (self.input.at, false);
            while !self.input.is_space_at(0) {
                let (this, next) = (self.input.peek(0), self.input.peek(1));
                if single && this == b'\'' && next == b'\'' {
                    self.input.skip();
                    text.add(self.input.slice(from, self.input.at));
                    self.input.skip();
                    from = self.input.at;
                } else if this == quote {
                    break;
                } else if !single && this == b'\\' {
                    text.add(self.input.slice(from, self.input.at));
                    new_line = self.scan_escape(&mut text, start)?;
                    from = self.input.at;
                    if new_line {
                        break;
                    }
                } else {
                    self.input.skip();
                    self.input.skip_run(|b| !matches!(b, b' ' | b'\'' | b'"' | b'\\'));
                }
                self.input.need(2)?;
            }
            self.input.need(1)?;
            let to = self.input.at;
            if self.input.peek(0) == quote {
                text.add(self.input.slice(from, to));
                break;
            }
            self.skip_quoted_blanks(&mut new_line, &mut breaks)?;
            if new_line {
                text.add(self.input.slice(from, to));
                breaks.fold(&mut text);
            } else {
                text.add(self.input.slice(from, self.input.at));
            }
        }
        self.input.skip();
        Ok(Token { start, end: self.input.mark, kind: Kind::Scalar { value: text.finish(), plain: false } })
    }

    fn skip_quoted_blanks(&mut self, new_line: &mut bool, breaks: &mut Breaks) -> Result<(), Fault> {
        self.input.need(1)?;
        loop {
            if self.input.is_blank_at(0) {
                self.input.skip();
            } else if self.input.is_break() {
                self.input.need(2)?;
                self.add_break(new_line, breaks);
            } else {
                return Ok(());
            }
            self.input.need(1)?;
        }
    }

    /// Reads an escape sequence; true for an escaped line break.
    fn scan_escape(&mut self, text: &mut Text<'a>, start: Mark) -> Result<bool, Fault> {
        if self.input.is_break_at(1) {
            self.input.need(3)?;
            self.input.skip();
            self.input.skip_break();
            return Ok(true);
        }
        let context = "while parsing a quoted scalar";
        let mut hex_digits = 0;
        match self.input.peek(1) {
            b'x' => hex_digits = 2,
            b'u' => hex_digits = 4,
            b'U' => hex_digits = 8,
            escape => match simple_escape(escape) {
                Some(c) => text.push(c),
                None => return Err(fault("found unknown escape character", self.input.mark, context, start)),
            },
        }
        if let Some(escape) = Otherwise::of_escape(self.input.peek(1)) {
            self.note(escape);
        }
        self.input.skip();
        self.input.skip();
        if hex_digits == 0 {
            return Ok(false);
        }
        self.input.need(hex_digits)?;
        let mut value = 0u32;
        for k in 0..hex_digits {
            let Some(digit) = char::from(self.input.peek(k)).to_digit(16) else {
                return Err(fault("did not find expected hexdecimal number", self.input.mark, context, start));
            };
            value = value << 4 | digit;
        }
        match char::from_u32(value) {
            Some(c) => text.push(c.encode_utf8(&mut [0; 4])),
            None if value <= 0xffff && self.reads_on(Otherwise::Surrogate) => {}
            None => {
                return Err(fault("found invalid Unicode character escape code", self.input.mark, context, start));
            }
        }
        for _ in 0..hex_digits {
            self.input.skip();
        }
        Ok(false)
    }

    pub(super) fn scan_block_scalar(&mut self, literal: bool) -> Result<Token<'a>, Fault> {
        let start = self.input.mark;
        let (chomping, increment) = self.scan_block_header(start)?;
        let mut end = self.input.mark;
        let mut indent = if increment > 0 { self.indent.max(0) + increment } else { 0 };
        let (mut text, mut leading, mut trailing) = (String::new(), "", String::new());
        let mut after_blank = false;
        self.skip_block_breaks(&mut indent, &mut trailing, start, &mut end)?;
        self.input.need(1)?;
        let column = i64::from(self.input.mark.column);
        if column < indent && column != self.indent {
            self.note_at(start, Otherwise::EmptyBlock);
        }
        while i64::from(self.input.mark.column) == indent && !self.input.at_end() {
            let blank = self.input.is_blank_at(0);
            if !literal && leading == "\n" && !after_blank && !blank {
                if trailing.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(leading);
            }
            text.push_str(&trailing);
            trailing.clear();
            after_blank = blank;
            let from = self.input.at;
            self.input.skip_run(|_| true);
            while !self.input.is_break_or_end() {
                self.input.skip();
                self.input.need(1)?;
            }
            text.push_str(self.input.slice(from, self.input.at));
            self.input.need(2)?;
            leading = self.input.skip_break();
            self.skip_block_breaks(&mut indent, &mut trailing, start, &mut end)?;
        }
        if chomping != Chomping::Strip {
            text.push_str(leading);
        }
        if chomping == Chomping::Keep {
            text.push_str(&trailing);
        }
        Ok(Token { start, end, kind: Kind::Scalar { value: Cow::Owned(text), plain: false } })
    }

    /// Reads the line of the indicator: `|2- # comment`.
    fn scan_block_header(&mut self, start: Mark) -> Result<(Chomping, i64), Fault> {
        let (mut chomping, mut increment) = (Chomping::Clip, 0);
        self.input.skip();
        self.input.need(1)?;
        if let Some(found) = self.scan_chomping() {
            chomping = found;
            self.input.need(1)?;
            increment = self.scan_increment(start)?;
        } else if self.input.peek(0).is_ascii_digit() {
            increment = self.scan_increment(start)?;
            self.input.need(1)?;
            chomping = self.scan_chomping().unwrap_or(Chomping::Clip);
        }
        if matches!(self.input.peek(0), b'#' | b'\t') {
            self.note(Otherwise::BlockHeader);
        }
        self.skip_blanks()?;
        self.skip_comment()?;
        if !self.input.is_break_or_end() {
            let problem = "did not find expected comment or line break";
            return Err(fault(problem, self.input.mark, "while scanning a block scalar", start));
        }
        if self.input.is_break() {
            self.input.need(2)?;
            self.input.skip_break();
        }
        Ok((chomping, increment))
    }

    /// Skips blanks on this line.
    pub(super) fn skip_blanks(&mut self) -> Result<(), Fault> {
        self.input.need(1)?;
        let from = self.input.at;
        while self.input.is_blank_at(0) {
            self.input.skip();
            self.input.need(1)?;
        }
        self.note_tabs(from);
        Ok(())
    }

    fn scan_chomping(&mut self) -> Option<Chomping> {
        let chomping = match self.input.peek(0) {
            b'+' => Chomping::Keep,
            b'-' => Chomping::Strip,
            _ => return None,
        };
        self.input.skip();
        Some(chomping)
    }

    fn scan_increment(&mut self, start: Mark) -> Result<i64, Fault> {
        match self.input.peek(0) {
            b'0' => {
                let problem = "found an indentation indicator equal to 0";
                Err(fault(problem, self.input.mark, "while scanning a block scalar", start))
            }
            digit @ b'1'..=b'9' => {
                self.input.skip();
                Ok(i64::from(digit - b'0'))
            }
            _ => Ok(0),
        }
    }

    /// Skips the indentation and blank lines before a line of text; they determine the indentation if `indent` is 0.
    fn skip_block_breaks(
        &mut self,
        indent: &mut i64,
        breaks: &mut String,
        start: Mark,
        end: &mut Mark,
    ) -> Result<(), Fault> {
        let mut deepest = 0;
        *end = self.input.mark;
        loop {
            self.input.need(1)?;
            while self.is_indentation(*indent) && self.input.peek(0) == b' ' {
                self.input.skip();
                self.input.need(1)?;
            }
            deepest = deepest.max(i64::from(self.input.mark.column));
            if self.is_indentation(*indent) && self.input.peek(0) == b'\t' {
                if *indent == 0 && self.reads_on(Otherwise::TabInBlock) {
                    break;
                }
                let problem = "found a tab character where an indentation space is expected";
                return Err(fault(problem, self.input.mark, "while scanning a block scalar", start));
            }
            if !self.input.is_break() {
                break;
            }
            self.input.need(2)?;
            breaks.push_str(self.input.skip_break());
            *end = self.input.mark;
        }
        if *indent == 0 {
            *indent = deepest.max(self.indent + 1).max(1);
        }
        Ok(())
    }

    fn is_indentation(&self, indent: i64) -> bool {
        indent == 0 || i64::from(self.input.mark.column) < indent
    }
}

/// The treatment of the line breaks at the end of a block scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

fn simple_escape(escape: u8) -> Option<&'static str> {
    Some(match escape {
        b'0' => "\0",
        b'a' => "\u{7}",
        b'b' => "\u{8}",
        b't' | b'\t' => "\t",
        b'n' => "\n",
        b'v' => "\u{b}",
        b'f' => "\u{c}",
        b'r' => "\r",
        b'e' => "\u{1b}",
        b' ' => " ",
        b'"' => "\"",
        b'/' => "/",
        b'\\' => "\\",
        b'N' => "\u{85}",
        b'_' => "\u{a0}",
        b'L' => "\u{2028}",
        b'P' => "\u{2029}",
        _ => return None,
    })
}
