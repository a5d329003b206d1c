//! Links from a comment: to the lines of the commit and to the full report.

use std::collections::BTreeMap;

use super::Options;
use super::escape::{address, characters, code, html_code, name};
use crate::diagnostic::Place;
use crate::hiera::Outcome;
use crate::report::{Group, Report};

/// The most places that one cell names, and the most differences that are looked at for them.
const MAX_PLACES: usize = 3;
const MAX_SEEN: usize = 200;

/// Returns the places that a group's changes come from, each as a link if the commit has it.
pub(super) fn places(report: &Report, group: &Group, options: &Options) -> String {
    // A place of the state before may be gone in the commit.
    let mut places: BTreeMap<&Place, bool> = BTreeMap::new();
    for change in group.items.iter().take(MAX_SEEN).map(|item| report.first(item)) {
        if let Some(Outcome::Failed(error)) = change.outcome.after.as_deref() {
            error.place.iter().for_each(|place| _ = places.insert(place, true));
        }
    }
    let leaves = group.items.iter().flat_map(|item| {
        let change = report.first(item);
        item.leaves.iter().flat_map(|fold| [&fold.first].into_iter().chain(&fold.others)).map(|at| &change.leaves[*at])
    });
    for leaf in leaves.take(MAX_SEEN) {
        let origins = leaf.origins();
        let shown = origins.after.map(|origin| (origin, true)).or(origins.before.map(|origin| (origin, false)));
        if let Some((origin, is_after)) = shown {
            *places.entry(&origin.place).or_default() |= is_after;
        }
    }
    let mut shown = Vec::new();
    let mut file = "";
    for (place, is_after) in places.iter().take(MAX_PLACES) {
        let text = match place.line {
            Some(line) if file == &*place.path => format!(":{line}"),
            _ => place.to_string(),
        };
        file = &place.path;
        shown.push(if *is_after { link(place, &text, options) } else { name(&text) });
    }
    let more = places.len() - shown.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    shown.join(", ") + &more
}

/// Returns a link to a place in the commit, or just the text if there is no base for links or the place is elsewhere.
pub(super) fn link(place: &Place, text: &str, options: &Options) -> String {
    match options.base() {
        Some(base) if !place.path.starts_with('/') => {
            let line = place.line.map(|line| format!("#L{line}")).unwrap_or_default();
            format!("[{}]({}/{}{line})", name(text), base.trim_end_matches('/'), address(&place.path))
        }
        _ => name(text),
    }
}

/// Returns how to see what is left out.
pub(super) fn full_report(report: &Report, options: &Options) -> String {
    if let Some(url) = options.report_url() {
        return format!("[The full report]({url}) has all of it.");
    }
    let id = |at: usize| -> Option<String> {
        let commit = [&report.commit.before, &report.commit.after][at].as_ref()?;
        Some(commit.id.chars().filter(char::is_ascii_alphanumeric).take(12).collect())
    };
    match (id(0), id(1)) {
        (Some(before), Some(after)) if characters(&before) > 6 && characters(&after) > 6 => {
            format!("{} shows all of it.", html_code(&format!("hierad diff --full {before} {after}")))
        }
        _ => format!("{} shows all of it.", code("hierad diff --full")),
    }
}
