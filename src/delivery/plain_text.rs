//! Renders a report as plain text for mail.

use std::io::{self, Write};

use crate::report::Report;
use crate::report::writers::text;

/// The width in columns, as is usual in mail.
const WIDTH: usize = 78;

/// The maximum size in bytes. What is beyond it is not even rendered.
const MAX_BYTES: usize = 128 << 10;

/// Returns the report as text of limited size; its headline is the first line.
pub fn plain_text(report: &Report) -> String {
    let mut beginning = Beginning { text: Vec::new(), limit: MAX_BYTES };
    let options = text::Options { width: WIDTH, one_line: true, ..text::Options::default() };
    let is_cut = text::write(report, options, &mut beginning).is_err();
    let mut text = String::from_utf8_lossy(&beginning.text).into_owned();
    if is_cut {
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        text += "\n… and more: the report is too long for a mail\n";
    }
    text
}

/// A writer that accepts `limit` bytes and refuses the rest.
struct Beginning {
    text: Vec<u8>,
    limit: usize,
}

impl Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.limit - self.text.len());
        self.text.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
