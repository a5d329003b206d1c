//! Blind spots: those of the commit, and earlier ones, folded.

use super::document::{Block, Item, Line, Section, strong};
use super::{MAX_MESSAGE, Options, items};
use crate::report::words::visible::{shorten, visible};
use crate::report::{BlindSpot, Remedy, Report, Verdict};

/// The room that a fold needs around its content.
const FRAME: usize = 60;

/// Returns the blind spots that the commit causes or that concern what it changes, in at most `budget` characters.
/// They are folded if it also changes something, since the verdict names the first.
pub(super) fn new_spots(report: &Report, options: &Options, budget: usize) -> Vec<Section> {
    let heading = report.spots_heading(false);
    let list = || Block::List(spot_items(report, options, false, budget));
    match (report.spots(false).next(), report.verdict()) {
        (None, _) => Vec::new(),
        (_, Verdict::Changes) => vec![Section::fold(format!("{heading}: what could not be seen"), vec![list()])],
        _ => vec![Block::Paragraph(strong(heading)).into(), list().into()],
    }
}

/// Returns a line about levels that cannot be seen and win over values in the table; nothing if there are none.
pub(super) fn before_values(report: &Report) -> Option<Section> {
    let line = report.unseen_before_values()?;
    Some(Block::Paragraph(shorten(&visible(&line), MAX_MESSAGE).into()).into())
}

/// Returns the blind spots that existed before the commit, folded, in at most `budget` characters.
pub(super) fn standing(report: &Report, options: &Options, budget: usize) -> Option<Section> {
    report.spots(true).next()?;
    Some(Section::fold(report.spots_heading(true), vec![Block::List(spot_items(report, options, true, budget))]))
}

fn spot_items(report: &Report, options: &Options, is_standing: bool, budget: usize) -> Vec<Item> {
    let spots: Vec<&BlindSpot> = report.spots(is_standing).collect();
    items(spots.into_iter().map(item), options, budget.saturating_sub(FRAME))
}

/// Returns a blind spot and what to do about it: words, and lines to copy into the settings.
fn item(spot: &BlindSpot) -> Item {
    let line = Line::from(shorten(&visible(&spot.message), MAX_MESSAGE));
    let Some(Remedy { words, yaml, .. }) = &spot.fix else { return line.into() };
    let colon = if yaml.is_some() { ":" } else { "" };
    let settings = yaml.iter().flat_map(|yaml| yaml.lines()).map(|line| visible(line).into_owned()).collect();
    Item { line, remedy: Some(format!("{}{colon}", visible(words).trim_end()).into()), settings }
}
