//! Indents JSON while it is written.

use std::io::{self, Write};

/// Indents a compact document. It works on the text, so that numbers of any size pass through it.
pub(super) struct Pretty<'w> {
    out: &'w mut dyn Write,
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// True right after an opening bracket.
    opened: bool,
}

impl<'w> Pretty<'w> {
    pub(super) fn new(out: &'w mut dyn Write) -> Pretty<'w> {
        Pretty { out, depth: 0, in_text: false, escaped: false, opened: false }
    }

    fn line(&mut self, laid: &mut Vec<u8>) {
        laid.push(b'\n');
        laid.resize(laid.len() + 2 * self.depth, b' ');
    }

    fn byte(&mut self, byte: u8, laid: &mut Vec<u8>) {
        if self.in_text {
            self.in_text = byte != b'"' || self.escaped;
            self.escaped = byte == b'\\' && !self.escaped;
            laid.push(byte);
            return;
        }
        let opened = std::mem::replace(&mut self.opened, matches!(byte, b'[' | b'{'));
        if matches!(byte, b']' | b'}') {
            self.depth -= 1;
            if !opened {
                self.line(laid);
            }
        } else if opened {
            self.line(laid);
        }
        laid.push(byte);
        match byte {
            b'[' | b'{' => self.depth += 1,
            b',' => self.line(laid),
            b':' => laid.push(b' '),
            b'"' => self.in_text = true,
            _ => {}
        }
    }
}

impl Write for Pretty<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut laid = Vec::with_capacity(bytes.len() * 2);
        for byte in bytes {
            self.byte(*byte, &mut laid);
        }
        self.out.write_all(&laid)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
