//! The changed lines that change nothing, or of which that is not known.

use std::fmt::Write as _;

use super::escape::{characters, fence, html, name};
use super::links::link;
use super::{Options, items};
use crate::report::causing::{Range, Reason};
use crate::report::unread::UnreadLines;
use crate::report::visible::{ELLIPSIS, shorten, shorten_middle, visible};
use crate::report::wording::count;
use crate::report::{ChangedLines, Effect, Report, Side, UnknownEffect};

/// Up to this many are shown unfolded.
const MAX_OPEN: usize = 3;

/// Returns a list of the lines with the reason of each, in at most `budget` characters; nothing if there are none. The
/// head of the comment has their number.
pub(super) fn idle(report: &Report, options: &Options, budget: usize) -> String {
    let told: Vec<&ChangedLines> = report.lines.iter().filter(|lines| is_told(lines)).collect();
    let heading = ChangedLines::heading(&told);
    let lines = told.iter().map(|lines| line(lines, options));
    let items = items(lines, budget.saturating_sub(characters(&heading) + FRAME));
    if items.is_empty() || items.starts_with(&format!("- {ELLIPSIS}")) {
        return String::new();
    }
    if told.len() <= MAX_OPEN {
        return format!("\n**{heading}**\n\n{items}");
    }
    format!("\n<details><summary>{heading}</summary>\n\n{items}\n</details>\n")
}

/// Returns the changed lines of files that no known node reads, as a difference in at most `budget` characters; nothing
/// if there are none.
pub(super) fn unread(report: &Report, budget: usize) -> String {
    let parts = report.unread();
    if parts.is_empty() {
        return String::new();
    }
    let heading = Report::unread_heading(&parts);
    let (mut body, mut shown, mut all) = (String::new(), 0, 0);
    let mut left = budget.saturating_sub(characters(&heading) + FRAME);
    'parts: for part in &parts {
        let place = shorten_middle(&visible(&part.place.to_string()), MAX_COLUMNS);
        let mut add = |text: String| {
            left = left.checked_sub(characters(&text))?;
            body.push_str(&text);
            Some(())
        };
        if shown == MAX_UNREAD || add(format!("@@ {place}{} @@\n", part.more())).is_none() {
            break;
        }
        for (side, line) in &part.lines {
            let line = shorten(&visible(line), MAX_COLUMNS);
            if shown == MAX_UNREAD || add(format!("{} {line}\n", UnreadLines::sign(*side))).is_none() {
                break 'parts;
            }
            (shown, all) = (shown + 1, all + 1 + part.others.len());
        }
    }
    let more = parts.iter().map(UnreadLines::len).sum::<usize>() - all;
    if more > 0 {
        _ = writeln!(body, "{ELLIPSIS} {}", count(more, "more changed line"));
    }
    let fence = fence(&body);
    format!("\n**{heading}**\n\n{fence}diff\n{body}{fence}\n")
}

/// The most lines that are shown of such files, and the most columns of one.
const MAX_UNREAD: usize = 30;
const MAX_COLUMNS: usize = 160;

/// Returns true for lines that are worth an entry: of those that are not traced there may be thousands.
fn is_told(lines: &ChangedLines) -> bool {
    lines.is_telling() && lines.effect != Effect::Unknown(UnknownEffect::NotTraced)
}

/// The room of the fold.
const FRAME: usize = 60;

fn line(lines: &ChangedLines, options: &Options) -> String {
    let removed = if lines.side == Side::Before { " (removed)" } else { "" };
    let Reason { before, place, behind } = Reason::of(lines);
    let by = place.map(|place| linked(&place, options)).unwrap_or_default();
    let reason = format!("{}{by}{}", html(&before), html(&behind));
    format!("- {}{removed}: {reason}\n", linked(&Range::of(lines), options))
}

fn linked(range: &Range, options: &Options) -> String {
    let text = range.text(false);
    if range.is_there { link(&range.place, &text, options) } else { name(&text) }
}
