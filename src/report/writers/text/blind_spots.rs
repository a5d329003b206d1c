//! Writes the blind spots, each with its remedy.

use std::io;

use super::page::{Line, Page};
use super::{HEADING, NEW, PLAIN, QUIET};
use crate::report::words::visible::{visible, wrap};
use crate::report::{BlindSpot, Remedy, Report, Verdict};

/// Writes the blind spots, each with its remedy. Standing ones are only counted, unless everything is shown or the
/// verdict depends on them.
pub(super) fn write_blind_spots(report: &Report, page: &mut Page<'_>) -> io::Result<()> {
    for is_standing in [false, true] {
        let spots: Vec<&BlindSpot> = report.spots(is_standing).collect();
        if !spots.is_empty() {
            page.blank()?;
            // They are explained if the verdict depends on them and there is room.
            let is_short = report.verdict() == Verdict::Changes || page.is_limited();
            let is_folded = is_standing && is_short && !page.is_full();
            let hint = if is_folded { " (`hierad check` and --full show all)" } else { "" };
            page.line(Line::new(0).add(HEADING, report.spots_heading(is_standing)).add(QUIET, hint))?;
            let notice = report.unseen_before_values().filter(|_| is_standing);
            let width = page.width() - 2;
            for line in notice.iter().flat_map(|line| wrap(&visible(line), width)) {
                page.line(Line::new(2).add(NEW, line))?;
            }
            if !is_folded {
                write_spots(&spots, page)?;
            }
        }
    }
    Ok(())
}

fn write_spots(spots: &[&BlindSpot], page: &mut Page<'_>) -> io::Result<()> {
    for spot in spots {
        for (at, text) in wrap(&visible(&spot.message), page.width() - 4).into_iter().enumerate() {
            let mark = if at == 0 { "? " } else { "  " };
            page.line(Line::new(2).add(NEW, mark).add(PLAIN, text))?;
        }
        let Some(Remedy { words, yaml, .. }) = &spot.fix else { continue };
        let colon = if yaml.is_some() { ":" } else { "" };
        for (at, text) in wrap(&format!("{}{colon}", visible(words)), page.width() - 7).into_iter().enumerate() {
            let mark = if at == 0 { "-> " } else { "   " };
            page.line(Line::new(4).add(QUIET, mark).add(PLAIN, text))?;
        }
        // It is meant to be copied, so it is not wrapped.
        for line in yaml.iter().flat_map(|yaml| yaml.lines()) {
            page.unbroken(Line::new(7).add(PLAIN, visible(line)))?;
        }
    }
    Ok(())
}
