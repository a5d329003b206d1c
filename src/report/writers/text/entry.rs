//! Writes a report as an entry of a history, in the manner of `git log`.

use std::io::{self, Write};

use super::page::{Line, Page};
use super::{MIN_WIDTH, NEW, Options, PLAIN, QUIET, author_name, write_changes};
use crate::report::words::detail;
use crate::report::words::visible::{shorten, visible, wrap};
use crate::report::words::wording::{count, share};
use crate::report::{Commit, Report};

/// The indent of a commit's message.
const INDENT: usize = 4;

/// The columns of a change on the line of its commit.
const CHANGE_COLUMNS: usize = 60;

/// Writes the commit, its changes, and the number of other keys that it changes.
pub fn write(report: &Report, options: Options, out: &mut dyn Write) -> io::Result<()> {
    let options = Options { width: options.width.max(MIN_WIDTH), ..options };
    let mut page = Page::new(out, options);
    if let Some(Commit { id, summary, author, time }) = &report.commit.after {
        page.line(Line::new(0).add(NEW, format!("commit {id}")))?;
        page.line(Line::new(0).add(PLAIN, format!("Author: {author}")))?;
        page.line(Line::new(0).add(PLAIN, format!("Date:   {}", time.as_deref().unwrap_or_default())))?;
        page.blank()?;
        for text in wrap(&visible(summary), page.width().saturating_sub(INDENT)) {
            page.line(Line::new(INDENT).add(PLAIN, text))?;
        }
    }
    write_changes(report, options, &mut page)?;
    if report.other_keys > 0 {
        page.blank()?;
        page.line(Line::new(0).add(QUIET, format!("and {}", count(report.other_keys, "other key"))))?;
    }
    Ok(())
}

/// Writes the commit and its changes on one line.
pub fn write_line(report: &Report, options: Options, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(out, Options { width: usize::MAX, ..options });
    let Some(Commit { id, summary, author, time }) = &report.commit.after else { return Ok(()) };
    let id: String = id.chars().take(8).collect();
    let day: String = time.as_deref().unwrap_or_default().chars().take(10).collect();
    let author = author_name(author);
    let line = Line::new(0).add(NEW, format!("{id} ")).add(QUIET, format!("{day} {author}: "));
    page.line(line.add(PLAIN, shorten(summary, CHANGE_COLUMNS)).add(QUIET, format!(" ({})", in_short(report))))
}

/// Returns the only change, such as `port: 80 -> 8080 on 2 of 5 nodes`, or the numbers of keys and nodes.
fn in_short(report: &Report) -> String {
    if let ([change], [group]) = (&report.changes[..], &report.groups[..])
        && let [leaf] = &change.leaves[..]
        && let Some(values) = detail::on_one_line(&leaf.change, CHANGE_COLUMNS)
        && group.items.len() == 1
    {
        let values = match (values.before, values.after) {
            (Some(before), Some(after)) => format!("{before} -> {after}"),
            (Some(gone), None) => format!("- {gone}"),
            (None, Some(new)) => format!("+ {new}"),
            (None, None) => String::new(),
        };
        return format!("{}: {values} on {}", leaf.path(change), share(report.nodes));
    }
    report.headline()
}
