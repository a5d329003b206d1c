//! Blind spots: those of the commit, and folded those that were there before.

use super::escape::{fence, html};
use super::{MAX_MESSAGE, items};
use crate::report::visible::{shorten, visible};
use crate::report::{BlindSpot, Remedy, Report, Verdict};

/// The room of a fold.
const FRAME: usize = 60;

/// Returns the blind spots that the commit makes or that concern what it changes, in at most `budget` characters:
/// folded if it changes something else, too, since the verdict has the first.
pub(super) fn new(report: &Report, budget: usize) -> String {
    let heading = report.spots_heading(false);
    match (report.spots(false).next(), report.verdict()) {
        (None, _) => String::new(),
        (_, Verdict::Changes) => folded(&format!("{heading}: what could not be seen"), &all(report, false, budget)),
        _ => format!("\n**{heading}**\n\n{}", all(report, false, budget)),
    }
}

/// Returns a line on levels that cannot be seen and count before values in the table; nothing if there are none.
pub(super) fn before_values(report: &Report) -> String {
    let line = report.unseen_before_values();
    line.map(|line| format!("\n{}\n", html(&shorten(&visible(&line), MAX_MESSAGE)))).unwrap_or_default()
}

/// Returns the blind spots that were there before the commit just as after it, folded, in at most `budget` characters.
pub(super) fn standing(report: &Report, budget: usize) -> String {
    match report.spots(true).next() {
        None => String::new(),
        Some(_) => folded(&report.spots_heading(true), &all(report, true, budget)),
    }
}

fn folded(summary: &str, list: &str) -> String {
    format!("\n<details><summary>{summary}</summary>\n\n{list}\n</details>\n")
}

fn all(report: &Report, is_standing: bool, budget: usize) -> String {
    let spots: Vec<&BlindSpot> = report.spots(is_standing).collect();
    items(spots.into_iter().map(line), budget.saturating_sub(FRAME))
}

fn line(spot: &BlindSpot) -> String {
    // Blanks at the end of a line would break it.
    let message = html(shorten(&visible(&spot.message), MAX_MESSAGE).trim_end());
    format!("- {message}\n{}", spot.fix.as_ref().map(remedy).unwrap_or_default())
}

/// Returns what to do about a blind spot: words, and lines for the settings in a fence, from which they can be copied.
fn remedy(Remedy { words, yaml }: &Remedy) -> String {
    let words = html(visible(words).trim_end());
    let Some(yaml) = yaml else { return format!("  <br>{words}\n") };
    let shown: Vec<String> = yaml.lines().map(|line| format!("  {}\n", visible(line))).collect();
    let fence = fence(yaml);
    format!("  <br>{words}:\n  {fence}\n{}  {fence}\n", shown.concat())
}
