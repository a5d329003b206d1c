//! Changed lines: those that cause a change, and those that change nothing.

use maud::{Markup, html};

use super::{Links, linked};
use crate::report::build::causing::{Range, Reason, causing};
use crate::report::words::unread::UnreadLines;
use crate::report::words::visible::visible;
use crate::report::words::wording::count;
use crate::report::{ChangedLines, Effect, KeyChange, Report, Side};

/// The maximum number of ranges shown for one change.
const MAX_RANGES: usize = 8;

/// The maximum number of entries in a list.
const MAX_LISTED: usize = 500;

/// Returns the lines that are known to cause a change.
pub(super) fn ranges(report: &Report, change: &KeyChange) -> Vec<Range> {
    causing(report, [change])
}

/// Renders the lines that cause a change.
pub(super) fn causes(ranges: &[Range], links: &dyn Links) -> Markup {
    html! {
        @if !ranges.is_empty() {
            p.by {
                "by "
                @for (at, range) in ranges.iter().take(MAX_RANGES).enumerate() {
                    @if at > 0 { ", " }
                    (place(range, at > 0 && ranges[at - 1].place.path == range.place.path, links))
                }
                @if let Some(more @ 1..) = ranges.len().checked_sub(MAX_RANGES) { " and " (more) " more" }
            }
        }
    }
}

/// Renders lines, as a link if they exist after the commit.
pub(super) fn place(range: &Range, knows_file: bool, links: &dyn Links) -> Markup {
    let text = range.text(knows_file);
    let text = visible(&text);
    html! {
        (linked(links.place(&range.place).filter(|_| range.is_there), &html! { code { (text) } }))
        @if !knows_file { (range.file.words()) }
    }
}

/// Returns the changed lines that change nothing, or whose effect is unknown, with the reason for each.
pub(super) fn idle(report: &Report, links: &dyn Links) -> Markup {
    let idle = report.lines.iter().filter(|lines| lines.words().is_some());
    let (telling, quiet): (Vec<&ChangedLines>, Vec<&ChangedLines>) = idle.partition(|lines| lines.is_telling());
    let total = |lines: &[&ChangedLines]| lines.iter().map(|lines| lines.len()).sum::<usize>();
    let unread = report.unread();
    html! {
        @if !unread.is_empty() {
            h2 { (Report::unread_heading(&unread)) }
            @for part in unread.iter().take(MAX_LISTED) {
                p { (place(&Range::line(part.place, part.is_there()), false, links)) (part.more()) }
                pre {
                    @for (side, text) in &part.lines { (UnreadLines::sign(*side)) " " (visible(text)) "\n" }
                }
            }
            @if let Some(more @ 1..) = unread.len().checked_sub(MAX_LISTED) { p.quiet { (more) " more" } }
        }
        @if !telling.is_empty() {
            h2 { (ChangedLines::heading(&telling)) }
            (list(&telling, links))
        }
        @if !quiet.is_empty() {
            details.quiet {
                @let unread = quiet.iter().any(|lines| matches!(lines.effect, Effect::Unknown(_)));
                summary {
                    (count(total(&quiet), "changed line")) " of comments or layout"
                    @if unread { ", or in files that no known node reads" }
                }
                (list(&quiet, links))
            }
        }
    }
}

fn list(all: &[&ChangedLines], links: &dyn Links) -> Markup {
    html! {
        ul.list {
            @for lines in all.iter().take(MAX_LISTED) {
                li {
                    (place(&Range::of(lines), false, links))
                    @if lines.side == Side::Before { " (removed)" }
                    ": " (reason(lines, links))
                }
            }
            @if let Some(more @ 1..) = all.len().checked_sub(MAX_LISTED) { li.quiet { (more) " more" } }
        }
    }
}

fn reason(changed: &ChangedLines, links: &dyn Links) -> Markup {
    let Reason { before, place: by, behind } = Reason::of(changed);
    html! {
        span.quiet { (visible(&before)) }
        @if let Some(by) = by { (place(&by, false, links)) }
        span.quiet { (visible(&behind)) }
    }
}
