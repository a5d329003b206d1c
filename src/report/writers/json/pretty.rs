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

    fn begin_line(&mut self, indented: &mut Vec<u8>) {
        indented.push(b'\n');
        indented.resize(indented.len() + 2 * self.depth, b' ');
    }

    fn push_byte(&mut self, byte: u8, indented: &mut Vec<u8>) {
        if self.in_text {
            self.in_text = byte != b'"' || self.escaped;
            self.escaped = byte == b'\\' && !self.escaped;
            indented.push(byte);
            return;
        }
        let opened = std::mem::replace(&mut self.opened, matches!(byte, b'[' | b'{'));
        if matches!(byte, b']' | b'}') {
            self.depth -= 1;
            if !opened {
                self.begin_line(indented);
            }
        } else if opened {
            self.begin_line(indented);
        }
        indented.push(byte);
        match byte {
            b'[' | b'{' => self.depth += 1,
            b',' => self.begin_line(indented),
            b':' => indented.push(b' '),
            b'"' => self.in_text = true,
            _ => {}
        }
    }
}

impl Write for Pretty<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut indented = Vec::with_capacity(bytes.len() * 2);
        for byte in bytes {
            self.push_byte(*byte, &mut indented);
        }
        self.out.write_all(&indented)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
