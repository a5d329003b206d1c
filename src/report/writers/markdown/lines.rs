//! The changed lines that have no effect or an unknown one, or that are in files that no known node reads.

use super::document::{Block, Item, Line, Section, Sign, name, strong};
use super::escape::characters;
use super::links::link;
use super::{Options, fits, items};
use crate::report::build::causing::{Range, Reason};
use crate::report::words::unread::UnreadLines;
use crate::report::words::visible::{shorten, shorten_middle, visible};
use crate::report::words::wording::count;
use crate::report::{ChangedLines, Effect, Report, Side, UnknownEffect};

/// Up to this many entries are shown unfolded.
const MAX_OPEN: usize = 3;

/// Returns a list of the lines with the reason for each, in at most `budget` characters; nothing if there are none.
/// The head of the comment gives their number.
pub(super) fn idle(report: &Report, options: &Options, budget: usize) -> Vec<Section> {
    let telling: Vec<&ChangedLines> = report.lines.iter().filter(|lines| is_listed(lines)).collect();
    let heading = ChangedLines::heading(&telling);
    let budget = budget.saturating_sub(characters(&heading) + FRAME);
    // A list that only says how many there are is useless to readers.
    if telling.first().is_none_or(|first| !fits(&item(first), options, budget)) {
        return Vec::new();
    }
    let list = Block::List(items(telling.iter().map(|lines| item(lines)), options, budget));
    if telling.len() <= MAX_OPEN {
        return vec![Block::Paragraph(strong(heading)).into(), list.into()];
    }
    vec![Section::fold(heading, vec![list])]
}

/// Returns the changed lines of files that no known node reads, as a difference in at most `budget` characters;
/// nothing if there are none.
pub(super) fn unread(report: &Report, budget: usize) -> Vec<Section> {
    let parts = report.unread();
    if parts.is_empty() {
        return Vec::new();
    }
    let heading = Report::unread_heading(&parts);
    let (mut body, mut shown, mut all) = (Vec::new(), 0, 0);
    let mut left = budget.saturating_sub(characters(&heading) + FRAME);
    'parts: for part in &parts {
        let place = shorten_middle(&visible(&part.place.to_string()), MAX_COLUMNS);
        let mut add = |sign: Sign, text: String| {
            left = left.checked_sub(characters(&text) + MAX_SIGN)?;
            body.push((sign, text));
            Some(())
        };
        if shown == MAX_UNREAD || add(Sign::Place, format!("{place}{} @@", part.more())).is_none() {
            break;
        }
        for (side, line) in &part.lines {
            let sign = if *side == Side::Before { Sign::Removed } else { Sign::Added };
            if shown == MAX_UNREAD || add(sign, shorten(&visible(line), MAX_COLUMNS)).is_none() {
                break 'parts;
            }
            (shown, all) = (shown + 1, all + 1 + part.others.len());
        }
    }
    let more = parts.iter().map(UnreadLines::len).sum::<usize>() - all;
    if more > 0 {
        body.push((Sign::More, count(more, "more changed line")));
    }
    vec![Block::Paragraph(strong(heading)).into(), Block::Difference(body).into()]
}

/// The maximum number of lines shown of files that no node reads, and the maximum width of one in columns.
const MAX_UNREAD: usize = 30;
const MAX_COLUMNS: usize = 160;

/// Returns true for lines that are worth an entry. Untraced lines, of which there may be thousands, are not.
fn is_listed(lines: &ChangedLines) -> bool {
    lines.is_telling() && lines.effect != Effect::Unknown(UnknownEffect::NotTraced)
}

/// The room for the fold, and for the sign and the end of one line.
const FRAME: usize = 60;
const MAX_SIGN: usize = 4;

fn item(lines: &ChangedLines) -> Item {
    let removed = if lines.side == Side::Before { " (removed): " } else { ": " };
    let Reason { before, place, behind } = Reason::of(lines);
    let by = place.map(|place| linked(&place)).unwrap_or_default();
    Item::from(linked(&Range::of(lines)).and(removed).and(before).and(by).and(behind))
}

fn linked(range: &Range) -> Line {
    let text = range.text(false);
    if range.is_there { link(&range.place, &text) } else { name(&text) }
}
