//! Writes the causes of failures, each with the keys that share it.

use std::io;

use super::page::{Line, Page};
use super::{ALARM, GOOD, HEADING, PLAIN, QUIET};
use crate::report::words::visible::{ELLIPSIS, visible, wrap};
use crate::report::words::wording::number;
use crate::report::{Cause, Report};

/// The maximum number of lines of keys for one cause, unless everything is shown.
const MAX_KEY_LINES: usize = 4;

/// Writes a cause: the numbers of keys and nodes, the error, and the keys.
pub(super) fn write_cause(report: &Report, cause: &Cause, page: &mut Page<'_>) -> io::Result<()> {
    page.blank()?;
    page.line(Line::new(0).add(HEADING, cause.heading(report)))?;
    let (style, mark) = if cause.is_new { (ALARM, "! ") } else { (GOOD, "+ ") };
    let error = visible(&cause.message(report)).into_owned();
    for (at, text) in wrap(&error, page.width() - 4).into_iter().enumerate() {
        page.line(Line::new(2).add(style, if at == 0 { mark } else { "  " }).add(PLAIN, text))?;
    }
    let names: Vec<String> = cause.keys.iter().map(|key| visible(key).into_owned()).collect();
    let lines = wrap(&names.join(", "), page.width() - 4);
    let most = if page.is_full() { lines.len() } else { MAX_KEY_LINES };
    let shown: Vec<&String> = lines.iter().take(most).collect();
    for line in &shown {
        page.line(Line::new(4).add(QUIET, line.as_str()))?;
    }
    if lines.len() > most {
        let length: usize = shown.iter().map(|line| line.len() + 1).sum();
        let mut end = 0;
        let left = names.iter().filter(|name| {
            end += name.len() + 2;
            end > length
        });
        page.line(Line::new(4).add(QUIET, format!("{ELLIPSIS} {} more", number(left.count()))))?;
    }
    Ok(())
}
