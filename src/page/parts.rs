//! The parts that several views share.

use std::collections::BTreeSet;

use jiff::civil::Date;
use maud::{Markup, html};

use super::Address;
use super::content::{BlindSpot, Origin, Shown};
use crate::git::CommitId;
use crate::report::{count, day, number, shorten};
use crate::visible::{visible, visible_lines};

/// The columns of a value on one line.
const COLUMNS: usize = 100;

/// The number of digits of a commit's id.
const SHORT: usize = 12;

/// The maximum number of levels that a sentence names.
const MAX_LEVELS: usize = 3;

/// The fields of a form that keep the repository and the revision.
pub(super) fn hidden(address: &Address) -> Markup {
    html! {
        @for (name, value) in [("repository", &address.repository), ("rev", &address.revision)] {
            @if let Some(value) = value { input type="hidden" name=(name) value=(value); }
        }
    }
}

/// A form that compares two revisions.
pub(super) fn diff_form(address: &Address, from: &str, to: &str) -> Markup {
    html! {
        form.fields action="/diff" {
            @if let Some(repository) = &address.repository { input type="hidden" name="repository" value=(repository); }
            label { "What changes from " input name="from" value=(from) autocomplete="off" spellcheck="false" required; }
            label { "to " input name="to" value=(to) autocomplete="off" spellcheck="false" required; }
            button { "Compare" }
        }
    }
}

/// A form that finds names with a text.
pub(super) fn search_field(address: &Address, path: &str, text: &str, label: &str) -> Markup {
    html! {
        form role="search" action=(path) aria-label=(label) {
            (hidden(address))
            input type="search" name="search" value=(text) placeholder=(label) aria-label=(label);
            button { "Find" }
        }
    }
}

/// A value: short ones as they are, long ones folded.
pub(super) fn value(shown: &Shown) -> Markup {
    let (line, text) = match shown {
        Shown::Value { line, text } => (line.as_str(), text),
        Shown::Error(text) | Shown::Unknown(text) => (text.lines().next().unwrap_or_default(), text),
    };
    let is_short =
        line.chars().count() <= COLUMNS && (line.len() == text.len() || matches!(shown, Shown::Value { .. }));
    html! {
        @match shown {
            Shown::Error(_) => span.word.alarm { "fails" },
            Shown::Unknown(_) => span.word.doubt { "unknown" },
            Shown::Value { .. } => {}
        }
        @if is_short {
            code { (visible(line)) }
        } @else {
            details {
                summary { code { (visible(&shorten(line, COLUMNS))) } }
                pre { code { (visible_lines(text)) } }
            }
        }
    }
}

/// The places that a value comes from.
pub(super) fn origins(address: &Address, origins: &[Origin]) -> Markup {
    html! {
        @for (at, Origin { path, line, level }) in origins.iter().enumerate() {
            @if at > 0 { br; }
            (place(address, path, *line)) " " span.quiet { (visible(level)) }
        }
    }
}

/// A place in a data file.
pub(super) fn place(address: &Address, path: &str, line: Option<u32>) -> Markup {
    html! {
        a.place href=(address.line(path, line)) { (visible(path)) @if let Some(line) = line { ":" (line) } }
    }
}

/// The revision that a view shows.
pub(super) fn at(address: &Address, commit: &str) -> Markup {
    let short: String = commit.chars().take(8).collect();
    html! {
        p.quiet {
            @match address.revision.as_deref().filter(|revision| !commit.starts_with(revision)) {
                Some(revision) => { (visible(revision)) " at " }
                None => "at ",
            }
            a href=(address.commit(commit)) { code { (short) } }
        }
    }
}

/// Blind spots, with their remedies.
pub(super) fn blind_spots(spots: &[BlindSpot]) -> Markup {
    html! {
        @for BlindSpot { message, remedy, .. } in spots {
            div.panel.doubt {
                div.body {
                    (visible(message))
                    @if let Some((words, yaml)) = remedy {
                        br;
                        "What to do: " (visible(words))
                        @if let Some(yaml) = yaml { ":" pre { (visible_lines(yaml)) } }
                    }
                }
            }
        }
    }
}

/// Blind spots at levels that count before `what`, folded, with what they may have.
pub(super) fn levels_above(spots: &[BlindSpot], what: &str) -> Markup {
    let names: BTreeSet<&str> = spots.iter().flat_map(|spot| &spot.levels).map(String::as_str).collect();
    let shown: Vec<String> = names.iter().take(MAX_LEVELS).map(|name| format!("'{name}'")).collect();
    let more = names.len() - shown.len();
    html! {
        @if !spots.is_empty() {
            details.quiet {
                summary {
                    (count(spots.len(), "blind spot")) ": " (visible(&shown.join(", ")))
                    @if more > 0 { " and " (count(more, "more level")) }
                    @if names.len() == 1 { " counts" } @else { " count" }
                    " before " (what) " on the server"
                }
                (blind_spots(spots))
            }
        }
    }
}

/// Returns a revision as it is shown: the beginning of a full id.
pub(super) fn short(revision: &str) -> &str {
    CommitId::from_hex(revision).and_then(|_| revision.get(..SHORT)).unwrap_or(revision)
}

/// Returns the day of a time in RFC 3339, with its name.
pub(super) fn date(time: &str) -> String {
    let day = day(time);
    day.parse::<Date>().map_or_else(|_| day.to_owned(), |date| format!("{} {day}", date.strftime("%a")))
}

/// The number of names in a list, and of those that are found in it.
pub(super) fn found(found: usize, total: usize, noun: &str, search: &str) -> Markup {
    html! {
        p.quiet role="status" {
            @if search.is_empty() {
                (count(total, noun))
            } @else {
                (number(found)) " of " (count(total, noun)) " with " code { (visible(search)) }
            }
        }
    }
}

/// A link to the next part of a list.
pub(super) fn next(address: &Address, path: &str, search: &str, next: Option<&str>) -> Markup {
    html! {
        @if let Some(next) = next {
            p { a rel="next" href=(address.to(path, &[("search", search), ("after", next)])) { "Next" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_names() {
        assert_eq!(date("2026-01-06T23:30:00+01:00"), "Tue 2026-01-06");
        assert_eq!(date("once"), "once");
    }
}
