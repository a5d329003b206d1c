//! Places in a comment, which link to the lines of the commit, and the pointer to the full report.

use std::collections::BTreeMap;

use super::document::{Line, MAX_NAME, Piece, name};
use crate::diagnostic::Place;
use crate::hiera::Outcome;
use crate::report::build::causing::{Range, causing, unknown_cause};
use crate::report::words::visible::{shorten_middle, visible};
use crate::report::words::wording::number;
use crate::report::{Commit, Group, Report};

/// The maximum number of places that one cell names, and of differences and changes that are examined to find them.
const MAX_PLACES: usize = 3;
const MAX_SEEN: usize = 200;
pub(super) const MAX_CHANGES: usize = 10_000;

/// Returns the lines that cause a group's changes, each as a link if it exists after the commit; or the places that
/// the values come from, if no lines are known.
pub(super) fn places(report: &Report, group: &Group) -> Line {
    let changes = || report.changes_of(group).take(MAX_CHANGES);
    let mut ranges = Vec::new();
    for change in changes() {
        if let Some(Outcome::Failed(error)) = change.outcome.after.as_deref() {
            ranges.extend(error.place.iter().map(|place| Range::line(place, true)));
        }
    }
    let are_known = changes().any(|change| change.lines.is_some());
    let are_all_known =
        report.changes_of(group).nth(MAX_CHANGES).is_none() && changes().all(|change| change.lines.is_some());
    if are_known {
        ranges.extend(causing(report, changes()));
    }
    if ranges.is_empty() {
        ranges.extend(origins(report, group));
    }
    let mut distinct: Vec<&Range> = Vec::new();
    for range in &ranges {
        if !distinct.contains(&range) {
            distinct.push(range);
        }
    }
    let mut shown = Vec::new();
    let mut file = "";
    for range in distinct.iter().take(MAX_PLACES) {
        let knows_file = file == &*range.place.path;
        let text = range.text(knows_file);
        let words = if knows_file { "" } else { range.file.words() };
        file = &range.place.path;
        shown.push(if range.is_there { link(&range.place, &text) } else { name(&text) }.and(words));
    }
    let more = match distinct.len() - shown.len() {
        _ if are_known && !are_all_known => " and more".to_owned(),
        0 => String::new(),
        more => format!(" and {} more", number(more)),
    };
    if shown.is_empty() {
        return unknown_cause(report, changes()).into();
    }
    Line::joined(shown, ", ").and(more)
}

/// Returns the places that the values of a group's changes come from.
fn origins(report: &Report, group: &Group) -> Vec<Range> {
    // The places, each with true if it exists after the commit.
    let mut places: BTreeMap<&Place, bool> = BTreeMap::new();
    let leaves = group.items.iter().flat_map(|item| {
        let change = report.first(item);
        item.leaves.iter().flat_map(|fold| [&fold.first].into_iter().chain(&fold.others)).map(|at| &change.leaves[*at])
    });
    for leaf in leaves.take(MAX_SEEN) {
        let origins = leaf.origins();
        let [before, after] = [origins.before, origins.after].map(|origin| origin.map(|origin| &origin.place));
        // At one revision the places of both sides are there, and one says as much as the other.
        let shown = if report.is_of_facts() {
            [before.map(|place| (place, true)), after.map(|place| (place, true))]
        } else {
            [after.map(|place| (place, true)).or(before.map(|place| (place, false))), None]
        };
        for (place, is_there) in shown.into_iter().flatten() {
            *places.entry(place).or_default() |= is_there;
        }
    }
    places.into_iter().map(|(place, is_there)| Range::line(place, is_there)).collect()
}

/// Returns a place in the commit, shown as `text`. It becomes a link if the writer knows the address of the files.
pub(super) fn link(place: &Place, text: &str) -> Line {
    let text = shorten_middle(&visible(text), MAX_NAME);
    Line::of(Piece::Place { text, path: place.path.to_string(), line: place.line })
}

/// Says how to see what is left out.
pub(super) fn full_report(report: &Report) -> Line {
    let id = |commit: &Option<Commit>| commit.as_ref().map(|commit| commit.id.clone()).unwrap_or_default();
    Line::of(Piece::FullReport(id(&report.commit.before), id(&report.commit.after)))
}
