//! Writes the blind spots, each with its remedy.

use std::io;

use super::page::{Line, Page};
use super::{HEADING, NEW, PLAIN, QUIET};
use crate::report::Report;
use crate::report::visible::{visible, wrap};
use crate::report::wording::count;

/// Writes the blind spots, each with its remedy.
pub(super) fn write_blind_spots(report: &Report, page: &mut Page<'_>) -> io::Result<()> {
    if report.blind_spots.is_empty() {
        return Ok(());
    }
    page.blank()?;
    page.line(Line::new(0).add(HEADING, count(report.blind_spots.len(), "blind spot")))?;
    for spot in &report.blind_spots {
        for (at, text) in wrap(&visible(&spot.message), page.width() - 4).into_iter().enumerate() {
            let mark = if at == 0 { "? " } else { "  " };
            page.line(Line::new(2).add(NEW, mark).add(PLAIN, text))?;
        }
        // It is there to be copied, so it is not wrapped.
        for line in spot.fix.iter().flat_map(|fix| fix.lines()) {
            page.unbroken(Line::new(4).add(QUIET, "-> ").add(PLAIN, visible(line)))?;
        }
    }
    Ok(())
}
