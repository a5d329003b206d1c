//! The overview of a repository.

use maud::{Markup, html};

use super::content::{Live, Start, StoredReport, Work};
use super::lists::entries;
use super::parts::{at, blind_spots, diff_form, short};
use super::{Address, Frame};
use crate::report::{count, number};
use crate::visible::visible;

/// The maximum number of branches that are not folded.
const MAX_BRANCHES: usize = 10;

pub(super) fn view(frame: &Frame, start: &Start) -> Markup {
    let address = &frame.address;
    html! {
        h1 { "What nodes get" }
        (at(address, &start.commit))
        ul.counts {
            li { a href=(address.to("/nodes", &[])) { b { (count(start.nodes, "node")) } } }
            li { a href=(address.to("/keys", &[])) { b { (count(start.keys, "key")) } } }
            @if !start.blind_spots.is_empty() {
                li.doubt { a href="#blind-spots" { b { (count(start.blind_spots.len(), "blind spot")) } } }
            }
        }
        (repositories(frame))
        (branches(address, start))
        @if !start.blind_spots.is_empty() {
            h2 id="blind-spots" { "Blind spots" }
            (blind_spots(&start.blind_spots))
        }
        div data-live="/live" aria-live="polite" { (live(&start.live)) }
        h2 { "Last commits" }
        (entries(address, &start.commits))
        p { a href=(address.to("/commits", &[])) { "All commits" } }
    }
}

fn repositories(frame: &Frame) -> Markup {
    html! {
        @if frame.repositories.len() > 1 {
            p {
                "Repositories: "
                @for (at, name) in frame.repositories.iter().enumerate() {
                    @if at > 0 { ", " }
                    @let address = Address { repository: Some(name.clone()), revision: None };
                    a href=(address.to("/", &[])) { (visible(name)) }
                }
            }
        }
    }
}

fn branches(address: &Address, Start { branches, revision, .. }: &Start) -> Markup {
    let others: Vec<&str> = branches.iter().map(String::as_str).filter(|name| name != revision).collect();
    html! {
        @if let Some(last) = others.last() {
            h2 { "Other branches" }
            details open[others.len() <= MAX_BRANCHES] {
                summary { (number(others.len())) " besides " (visible(short(revision))) }
                ul.list {
                    @for name in &others {
                        @let there = Address { revision: Some((*name).to_owned()), ..address.clone() };
                        li {
                            a href=(there.to("/", &[])) { (visible(name)) } ": "
                            a href=(address.diff(revision, name)) { "what changes from " (visible(short(revision))) }
                        }
                    }
                }
            }
            (diff_form(address, revision, last))
        }
    }
}

/// The parts that change while a daemon works.
pub(super) fn live(Live { reports, work }: &Live) -> Markup {
    html! {
        @if !work.is_empty() {
            h2 { "Work that is not done" }
            (unfinished(work))
        }
        @if !reports.is_empty() {
            h2 { "Last reports" }
            (stored(reports))
        }
    }
}

fn unfinished(work: &[Work]) -> Markup {
    html! {
        table.commits-list {
            thead { tr { th scope="col" { "Commit" } th scope="col" { "Branch" } th scope="col" { "State" } } }
            tbody {
                @for Work { repository, branch, commit, words, error } in work {
                    @let address = Address { repository: Some(repository.clone()), revision: None };
                    tr {
                        td { a href=(address.commit(commit)) { code { (commit.chars().take(8).collect::<String>()) } } }
                        td { (visible(branch)) }
                        td { (visible(words)) @if let Some(error) = error { ": " (visible(error)) } }
                    }
                }
            }
        }
    }
}

fn stored(reports: &[StoredReport]) -> Markup {
    html! {
        table.commits-list {
            thead { tr { th scope="col" { "Commit" } th scope="col" { "Branch" } th scope="col" { "Reported" } } }
            tbody {
                @for StoredReport { repository, branch, commit, time } in reports {
                    @let address = Address { repository: Some(repository.clone()), revision: None };
                    tr {
                        td { a href=(address.commit(commit)) { code { (commit.chars().take(8).collect::<String>()) } } }
                        td { (visible(branch)) }
                        td { time datetime=(time) { (time) } }
                    }
                }
            }
        }
    }
}
