//! Writes the changed lines that have no effect, or an unknown one.

use std::io;

use super::page::{Line, Page, width};
use super::{BAD, GOOD, HEADING, PLAIN, QUIET, write_more};
use crate::report::words::unread::UnreadLines;
use crate::report::words::visible::{shorten, shorten_middle, visible, wrap};
use crate::report::{ChangedLines, Report, Side};

/// The maximum number of lines shown, and of those in files that no known node reads, unless everything is shown.
const MAX_LINES: usize = 6;
const MAX_UNREAD: usize = 12;

/// Writes a heading such as `3 files, 6 changed lines, 4 with an effect, 2 without effect`, and the lines without a
/// known effect; nothing if every line has an effect.
pub(super) fn write_lines(report: &Report, page: &mut Page<'_>) -> io::Result<()> {
    let idle: Vec<(&ChangedLines, String)> =
        report.lines.iter().filter_map(|lines| Some((lines, lines.words()?))).collect();
    let telling = idle.iter().filter(|(lines, _)| lines.is_telling());
    let unread = report.unread();
    let has_lines = telling.clone().next().is_some() || !unread.is_empty();
    let (Some(summary), true) = (report.lines_summary(), has_lines) else { return Ok(()) };
    page.blank()?;
    page.line(Line::new(0).add(HEADING, summary))?;
    let shown = if page.is_full() { idle.iter().collect::<Vec<_>>() } else { telling.collect() };
    let limit = if page.is_full() { usize::MAX } else { MAX_LINES };
    for (lines, words) in shown.iter().take(limit) {
        let place = shorten_middle(&visible(&lines.range()), page.room() / 2);
        let removed = if lines.side == Side::Before { " (removed)" } else { "" };
        let words = visible(words);
        let start = Line::new(2).add(PLAIN, place).add(QUIET, removed);
        if start.width() + 2 + width(&words) <= page.room() {
            page.line(start.add(QUIET, format!("  {words}")))?;
            continue;
        }
        page.line(start)?;
        for text in wrap(&words, page.width() - 4) {
            page.line(Line::new(4).add(QUIET, text))?;
        }
    }
    write_more(shown.len().saturating_sub(limit), page)?;
    write_unread(&unread, page)
}

/// Writes the changed lines of files that no known node reads.
fn write_unread(parts: &[UnreadLines<'_>], page: &mut Page<'_>) -> io::Result<()> {
    let limit = if page.is_full() { usize::MAX } else { MAX_UNREAD };
    let (mut left, mut written) = (parts.iter().map(UnreadLines::len).sum::<usize>(), 0);
    for part in parts {
        if written >= limit {
            break;
        }
        let place = shorten_middle(&visible(&part.place.to_string()), page.room() / 2);
        let words =
            if part.others.is_empty() { "no known node reads the file" } else { "no known node reads the files" };
        page.line(Line::new(2).add(PLAIN, place).add(QUIET, format!("{}  {words}", part.more())))?;
        for (side, text) in part.lines.iter().take(limit - written) {
            let style = if *side == Side::Before { BAD } else { GOOD };
            let text = shorten(&format!("{} {}", UnreadLines::sign(*side), visible(text)), page.room());
            page.line(Line::new(4).add(style, text))?;
        }
        let shown = part.lines.len().min(limit - written);
        (left, written) = (left - shown * (1 + part.others.len()), written + shown);
    }
    write_more(left, page)
}
