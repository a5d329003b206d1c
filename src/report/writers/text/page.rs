//! Styled lines, their widths, and the column of their origins.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::{Options, PLAIN, QUIET};
use crate::report::words::visible::{ELLIPSIS, shorten, visible};

/// One line of text.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    spans: Vec<(Style, String)>,
    /// The origin, which is shown at the right.
    origin: Option<String>,
}

impl Line {
    pub(super) fn new(indent: usize) -> Line {
        let spans = if indent == 0 { Vec::new() } else { vec![(PLAIN, " ".repeat(indent))] };
        Line { spans, origin: None }
    }

    #[must_use]
    pub(super) fn add(mut self, style: Style, text: impl Into<String>) -> Line {
        let text = text.into();
        // Only styles add colours: escapes in the data are made visible.
        let text = if let Cow::Owned(shown) = visible(&text) { shown } else { text };
        self.spans.push((style, text));
        self
    }

    #[must_use]
    pub(super) fn with_origin(mut self, origin: Option<String>) -> Line {
        self.origin = origin;
        self
    }

    /// Returns the number of leading blanks.
    fn indent(&self) -> usize {
        let text: String = self.spans.iter().map(|(_, text)| text.as_str()).collect();
        text.len() - text.trim_start_matches(' ').len()
    }

    pub(super) fn width(&self) -> usize {
        self.spans.iter().map(|(_, text)| width(text)).sum()
    }
}

/// Returns the number of columns that `text` takes.
pub(super) fn width(text: &str) -> usize {
    let is_plain = text.bytes().all(|b| matches!(b, b' '..=b'~'));
    if is_plain { text.len() } else { text.width() }
}

/// The minimum gap between a line and its origin.
const GAP: usize = 2;

/// The output for lines.
pub(super) struct Page<'w> {
    out: &'w mut dyn Write,
    options: Options,
    shortened: bool,
    written: usize,
}

impl<'w> Page<'w> {
    pub(super) fn new(out: &'w mut dyn Write, options: Options) -> Page<'w> {
        Page { out, options, shortened: false, written: 0 }
    }

    /// Returns the columns of the terminal.
    pub(super) fn width(&self) -> usize {
        self.options.width
    }

    /// Returns the columns that a line may take.
    pub(super) fn room(&self) -> usize {
        if self.is_full() { usize::MAX } else { self.width() }
    }

    pub(super) fn is_full(&self) -> bool {
        self.options.full
    }

    /// Returns true if the number of lines is limited.
    pub(super) fn is_limited(&self) -> bool {
        self.options.lines.is_some()
    }

    /// Returns true if something was left out of a line.
    pub(super) fn is_shortened(&self) -> bool {
        self.shortened
    }

    pub(super) fn blank(&mut self) -> io::Result<()> {
        self.written += 1;
        self.out.write_all(b"\n")
    }

    /// Writes a block of lines, with their origins in one column.
    pub(super) fn lines(&mut self, lines: Vec<Line>) -> io::Result<()> {
        let fits = |line: &&Line| {
            let origin = line.origin.as_ref();
            origin.is_some_and(|origin| line.width() + GAP + width(origin) <= self.width())
        };
        let widest = lines.iter().filter(fits).map(|line| width(line.origin.as_deref().unwrap_or_default())).max();
        let last = self.width() - widest.unwrap_or(0);
        let column = lines.iter().filter(fits).map(|line| line.width() + GAP).max().unwrap_or(0).min(last);
        for mut line in lines {
            let Some(origin) = line.origin.take() else {
                self.line(line)?;
                continue;
            };
            let used = line.width();
            if used + GAP + width(&origin) <= self.width() {
                let gap = column.saturating_sub(used).max(GAP);
                self.line(line.add(PLAIN, " ".repeat(gap)).add(QUIET, origin))?;
            } else {
                // The origin goes below its line, and never left of the line's text.
                let indent = self.width().saturating_sub(width(&origin)).min(column.max(line.indent() + 2));
                self.line(line)?;
                self.line(Line::new(indent).add(QUIET, origin))?;
            }
        }
        Ok(())
    }

    /// Returns the number of lines written.
    pub(super) fn written(&self) -> usize {
        self.written
    }

    /// Writes a line at its full length.
    pub(super) fn unbroken(&mut self, line: Line) -> io::Result<()> {
        self.write_cut(line, usize::MAX)
    }

    pub(super) fn line(&mut self, line: Line) -> io::Result<()> {
        let room = self.room();
        self.write_cut(line, room)
    }

    /// Writes a line, cut off at `room` columns.
    fn write_cut(&mut self, line: Line, room: usize) -> io::Result<()> {
        self.written += 1;
        // A line that is cut off ends in an ellipsis, which needs a column.
        let mut left = if line.width() <= room { room } else { room - 1 };
        for (style, text) in line.spans {
            let fits = width(&text) <= left;
            let text = if fits { text } else { shorten(&text, left + 1) };
            self.shortened |= text.contains(ELLIPSIS);
            if self.options.color && style != PLAIN && !text.is_empty() {
                write!(self.out, "{style}{text}{style:#}")?;
            } else {
                self.out.write_all(text.as_bytes())?;
            }
            if !fits {
                break;
            }
            left -= width(&text);
        }
        self.out.write_all(b"\n")
    }
}
