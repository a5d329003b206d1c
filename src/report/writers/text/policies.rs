//! Writes the policies that a change hits.

use std::io;

use super::page::{Line, Page};
use super::{ALARM, HEADING, NEW, PLAIN, QUIET};
use crate::report::words::visible::{shorten, visible, wrap};
use crate::report::{PolicyHit, PolicyLevel, Report};

/// The width of the column for the label of a hit.
const LABEL_WIDTH: usize = 9;

/// Writes a heading such as `policies: 1 fails`, and each hit with its message.
pub(super) fn write_policies(report: &Report, page: &mut Page<'_>) -> io::Result<()> {
    if report.policies.is_empty() {
        return Ok(());
    }
    page.blank()?;
    page.line(Line::new(0).add(HEADING, report.policies_heading()))?;
    report.policies.iter().try_for_each(|hit| write_hit(hit, page))
}

fn write_hit(hit: &PolicyHit, page: &mut Page<'_>) -> io::Result<()> {
    let style = match hit.counts_as() {
        Some(PolicyLevel::Failure) => ALARM,
        Some(PolicyLevel::Warning) => NEW,
        Some(PolicyLevel::Note) | None => QUIET,
    };
    let room = page.width() - 2 - LABEL_WIDTH;
    let mut paragraphs = vec![(PLAIN, format!("{}: {}", hit.name, hit.found)), (PLAIN, hit.message.to_string())];
    paragraphs.extend(hit.notes().into_iter().map(|note| (PLAIN, note)));
    let examples = if page.is_full() { hit.examples(usize::MAX) } else { hit.examples(MAX_EXAMPLES) };
    paragraphs.extend((!examples.is_empty()).then_some((QUIET, examples)));
    let mut word = format!("{:<LABEL_WIDTH$}", hit.label());
    for (paint, text) in paragraphs {
        let text = if page.is_full() { text } else { shorten(&text, MAX_TEXT) };
        for line in wrap(&visible(&text), room) {
            page.line(Line::new(2).add(style, std::mem::replace(&mut word, " ".repeat(LABEL_WIDTH))).add(paint, line))?;
        }
    }
    Ok(())
}

/// The maximum number of keys and places that are named, and the maximum width of a text in columns, unless
/// everything is shown.
const MAX_EXAMPLES: usize = 3;
const MAX_TEXT: usize = 1000;
