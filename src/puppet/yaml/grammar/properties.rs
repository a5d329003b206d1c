//! Anchors, aliases, tags and directives.

use super::input::{Mark, fault};
use super::scanner::Scanner;
use super::token::{Kind, Token};
use crate::puppet::document::Fault;
use crate::puppet::server::Kind as Otherwise;

/// The maximum number of digits of a number in a version.
const MAX_NUMBER: usize = 9;

impl<'a> Scanner<'a> {
    /// Reads the letters, digits, `-` and `_` at this place.
    fn scan_name(&mut self) -> Result<&'a str, Fault> {
        let from = self.input.at;
        self.input.need(1)?;
        while is_name_byte(self.input.peek(0)) {
            self.input.skip();
            self.input.need(1)?;
        }
        Ok(self.input.slice(from, self.input.at))
    }

    pub(super) fn scan_anchor(&mut self, alias: bool) -> Result<Token<'a>, Fault> {
        let start = self.input.mark;
        self.input.skip();
        let name = self.scan_name()?;
        let end = self.input.mark;
        let ends = self.input.is_space_at(0)
            || matches!(self.input.peek(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !ends {
            let context = if alias { "while scanning an alias" } else { "while scanning an anchor" };
            return Err(fault("did not find expected alphabetic or numeric character", end, context, start));
        }
        if self.input.peek(0) == b':' {
            self.note(Otherwise::ColonAfterName);
        }
        Ok(Token { start, end, kind: if alias { Kind::Alias(name) } else { Kind::Anchor(name) } })
    }

    pub(super) fn scan_tag(&mut self) -> Result<Token<'a>, Fault> {
        let start = self.input.mark;
        let context = "while scanning a tag";
        self.input.need(2)?;
        let (mut handle, mut suffix);
        if self.input.peek(1) == b'<' {
            self.input.skip();
            self.input.skip();
            handle = "";
            suffix = self.scan_tag_uri(true, false, "", start)?;
            if self.input.peek(0) != b'>' {
                return Err(fault("did not find the expected '>'", self.input.mark, context, start));
            }
            self.input.skip();
        } else {
            handle = self.scan_tag_handle(false, start)?;
            if handle.len() > 1 && handle.ends_with('!') {
                suffix = self.scan_tag_uri(false, false, "", start)?;
            } else {
                suffix = self.scan_tag_uri(false, false, handle, start)?;
                handle = "!";
                if suffix.is_empty() {
                    (handle, suffix) = ("", "!".to_owned());
                }
            }
        }
        self.input.need(1)?;
        if !(self.input.is_space_at(0) || self.flow_level > 0 && self.input.peek(0) == b',') {
            return Err(fault("did not find expected whitespace or line break", self.input.mark, context, start));
        }
        Ok(Token { start, end: self.input.mark, kind: Kind::Tag { handle, suffix } })
    }

    fn scan_tag_handle(&mut self, directive: bool, start: Mark) -> Result<&'a str, Fault> {
        self.input.need(1)?;
        let from = self.input.at;
        if self.input.peek(0) != b'!' {
            let context = if directive { "while scanning a tag directive" } else { "while scanning a tag" };
            return Err(fault("did not find expected '!'", self.input.mark, context, start));
        }
        self.input.skip();
        self.scan_name()?;
        if self.input.peek(0) == b'!' {
            self.input.skip();
        } else if directive && self.input.at > from + 1 {
            return Err(fault("did not find expected '!'", self.input.mark, "while parsing a tag directive", start));
        }
        Ok(self.input.slice(from, self.input.at))
    }

    /// Returns the rest of a tag that starts with `head`, without the first character.
    fn scan_tag_uri(&mut self, verbatim: bool, directive: bool, head: &str, start: Mark) -> Result<String, Fault> {
        let context = if directive { "while parsing a %TAG directive" } else { "while parsing a tag" };
        let mut uri = head.as_bytes().get(1..).unwrap_or_default().to_vec();
        let from = self.input.at;
        self.input.need(1)?;
        while is_uri_byte(self.input.peek(0), verbatim) {
            if self.input.peek(0) == b'%' {
                self.scan_uri_escapes(&mut uri, context, start)?;
            } else {
                uri.push(self.input.peek(0));
                self.input.skip();
            }
            self.input.need(1)?;
        }
        if head.is_empty() && self.input.at == from {
            return Err(fault("did not find expected tag URI", self.input.mark, context, start));
        }
        // libyaml's strings end at a zero byte.
        let uri = uri.split(|b| *b == 0).next().unwrap_or_default();
        Ok(std::str::from_utf8(uri).map_or_else(|_| "\0".to_owned(), str::to_owned))
    }

    /// Reads the escapes of one character: `%C3%A9`.
    fn scan_uri_escapes(&mut self, uri: &mut Vec<u8>, context: &str, start: Mark) -> Result<(), Fault> {
        let mut left = 0;
        loop {
            self.input.need(3)?;
            let digit = |offset| char::from(self.input.peek(offset)).to_digit(16).and_then(|d| u8::try_from(d).ok());
            let (b'%', Some(high), Some(low)) = (self.input.peek(0), digit(1), digit(2)) else {
                return Err(fault("did not find URI escaped octet", self.input.mark, context, start));
            };
            let octet = high << 4 | low;
            if left == 0 {
                left = match octet {
                    0..=0x7f => 1,
                    0xc0..=0xdf => 2,
                    0xe0..=0xef => 3,
                    0xf0..=0xf7 => 4,
                    _ => return Err(fault("found an incorrect leading UTF-8 octet", self.input.mark, context, start)),
                };
            } else if octet & 0xc0 != 0x80 {
                return Err(fault("found an incorrect trailing UTF-8 octet", self.input.mark, context, start));
            }
            uri.push(octet);
            for _ in 0..3 {
                self.input.skip();
            }
            left -= 1;
            if left == 0 {
                return Ok(());
            }
        }
    }

    pub(super) fn scan_directive(&mut self) -> Result<Token<'a>, Fault> {
        let start = self.input.mark;
        let context = "while scanning a directive";
        self.input.skip();
        let name = self.scan_name()?;
        if name.is_empty() {
            return Err(fault("could not find expected directive name", self.input.mark, context, start));
        }
        if !self.input.is_space_at(0) {
            return Err(fault("found unexpected non-alphabetical character", self.input.mark, context, start));
        }
        let kind = match name {
            "YAML" => self.scan_version(start)?,
            "TAG" => self.scan_tag_directive(start)?,
            _ => return Err(fault("found unknown directive name", self.input.mark, context, start)),
        };
        let end = self.input.mark;
        self.skip_blanks()?;
        self.skip_comment()?;
        if !self.input.is_break_or_end() {
            return Err(fault("did not find expected comment or line break", self.input.mark, context, start));
        }
        if self.input.is_break() {
            self.input.need(2)?;
            self.input.skip_break();
        }
        Ok(Token { start, end, kind })
    }

    fn scan_version(&mut self, start: Mark) -> Result<Kind<'a>, Fault> {
        self.skip_blanks()?;
        let major = self.scan_version_number(start)?;
        if self.input.peek(0) != b'.' {
            let problem = "did not find expected digit or '.' character";
            return Err(fault(problem, self.input.mark, "while scanning a %YAML directive", start));
        }
        self.input.skip();
        let minor = self.scan_version_number(start)?;
        Ok(Kind::Version { major, minor })
    }

    fn scan_version_number(&mut self, start: Mark) -> Result<u32, Fault> {
        let context = "while scanning a %YAML directive";
        let (mut value, mut length) = (0, 0);
        self.input.need(1)?;
        while let digit @ b'0'..=b'9' = self.input.peek(0) {
            length += 1;
            if length > MAX_NUMBER {
                return Err(fault("found extremely long version number", self.input.mark, context, start));
            }
            value = value * 10 + u32::from(digit - b'0');
            self.input.skip();
            self.input.need(1)?;
        }
        if length == 0 {
            return Err(fault("did not find expected version number", self.input.mark, context, start));
        }
        Ok(value)
    }

    fn scan_tag_directive(&mut self, start: Mark) -> Result<Kind<'a>, Fault> {
        let context = "while scanning a %TAG directive";
        self.skip_blanks()?;
        let handle = self.scan_tag_handle(true, start)?;
        self.input.need(1)?;
        if !self.input.is_blank_at(0) {
            return Err(fault("did not find expected whitespace", self.input.mark, context, start));
        }
        self.skip_blanks()?;
        let prefix = self.scan_tag_uri(true, true, "", start)?;
        self.input.need(1)?;
        if !self.input.is_space_at(0) {
            return Err(fault("did not find expected whitespace or line break", self.input.mark, context, start));
        }
        Ok(Kind::TagDirective { handle, prefix })
    }
}

fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
}

fn is_uri_byte(b: u8, verbatim: bool) -> bool {
    is_name_byte(b)
        || matches!(b, b';' | b'/' | b'?' | b':' | b'@' | b'&' | b'=' | b'+' | b'$' | b'.' | b'%' | b'!' | b'~')
        || matches!(b, b'*' | b'\'' | b'(' | b')')
        || (verbatim && matches!(b, b',' | b'[' | b']'))
}
