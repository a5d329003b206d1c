//! Standard output and its terminal.

use std::io::{BufWriter, Write};

use anstream::stream::RawStream;

use super::{Color, Global};

/// The width where there is no terminal to ask.
const DEFAULT_WIDTH: usize = 100;

/// Whether standard output gets colour.
pub(super) fn color(global: &Global) -> bool {
    has_color(global, &std::io::stdout())
}

/// Whether standard error gets colour.
pub(super) fn log_color(global: &Global) -> bool {
    has_color(global, &std::io::stderr())
}

fn has_color(global: &Global, stream: &impl RawStream) -> bool {
    match global.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => stream.is_terminal() && anstream::AutoStream::choice(stream) != anstream::ColorChoice::Never,
    }
}

/// The columns of the terminal.
pub(super) fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    columns
        .or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
        .filter(|width| *width >= 20)
        .unwrap_or(DEFAULT_WIDTH)
}

/// Standard output, buffered; to be flushed by the one who writes.
pub(super) fn stdout() -> impl Write {
    BufWriter::with_capacity(PIECE, Named(std::io::stdout()))
}

/// What is written at a time: as much as a pipe holds.
const PIECE: usize = 1 << 16;

/// Standard output, whose errors say that it is it.
struct Named(std::io::Stdout);

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes).map_err(|error| named(&error))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush().map_err(|error| named(&error))
    }
}

fn named(error: &std::io::Error) -> std::io::Error {
    std::io::Error::new(error.kind(), format!("cannot write to standard output: {error}"))
}
