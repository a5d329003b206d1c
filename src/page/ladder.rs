//! The ladder of a key on a node: each level from the top, and what it has.

use maud::{Markup, html};

use super::Address;
use super::content::{Ladder, Rung, RungState, Shown};
use super::parts::{at, blind_spots, place, value};
use crate::report::count;
use crate::visible::{visible, visible_lines};

pub(super) fn view(address: &Address, ladder: &Ladder) -> Markup {
    html! {
        h1 { (visible(&ladder.key)) " on " a href=(address.node(&ladder.node, None)) { (visible(&ladder.node)) } }
        (at(address, &ladder.commit))
        div.answer {
            @match &ladder.shown {
                Some(shown) => (value(shown)),
                None => "No level has a value.",
            }
        }
        ul.actions {
            li { a href=(address.key(&ladder.whole)) { "This key on all nodes" } }
            li {
                a href=(address.to("/changes", &[("key", &ladder.whole), ("node", &ladder.node)])) {
                    "Which commits changed it here?"
                }
            }
        }
        h2 { "Levels" }
        table.ladder {
            thead {
                tr { th scope="col" { "Level" } th scope="col" { "File" } th scope="col" { "What it has" } th scope="col" { "As written" } }
            }
            tbody { @for rung in &ladder.rungs { (row(address, ladder, rung)) } }
        }
        @if !ladder.blind_spots.is_empty() {
            details.quiet {
                summary { (count(ladder.blind_spots.len(), "blind spot")) ": what to do" }
                (blind_spots(&ladder.blind_spots))
            }
        }
        @match &ladder.explanation {
            Some(explanation) => {
                details {
                    summary { "How Puppet explains it" }
                    pre { code { (visible_lines(explanation)) } }
                }
            }
            None => {
                p.quiet {
                    "How Puppet explains it may show a secret, so it is not here: " code { "hierad lookup --explain" } " has it."
                }
            }
        }
    }
}

fn row(address: &Address, ladder: &Ladder, rung: &Rung) -> Markup {
    let (class, word) = match rung.state {
        RungState::Found => ("found", "this is the value"),
        RungState::Merged => ("found", "a part of the value"),
        RungState::Shadowed => ("shadowed", "hidden by a higher level"),
        RungState::Read if matches!(ladder.shown, Some(Shown::Unknown(_))) => {
            ("read", "has the key, whose value is unknown")
        }
        RungState::Read => ("read", "has the key, whose lookup fails"),
        RungState::Absent => ("absent", "no such key"),
        RungState::NoFile => ("absent", "no such file"),
        RungState::Broken => ("read", "cannot be read, so the lookup fails"),
        RungState::Blind => ("blind", "blind spot, on the server it may have the key"),
        RungState::Asked => ("absent", "asked key by key"),
    };
    html! {
        tr class=(class) {
            th scope="row" {
                (visible(&rung.level))
                @if rung.layer != "environment" { br; span.quiet { (visible(&rung.layer)) } }
            }
            td {
                @if let Some(path) = &rung.path {
                    @if rung.is_file() { (place(address, path, rung.line)) } @else { span.place { (visible(path)) } }
                }
            }
            td { (word) @if let Some(reason) = &rung.reason { ": " span.quiet { (visible(reason)) } } }
            td { @if let Some(written) = &rung.written { pre { code { (visible_lines(written)) } } } }
        }
    }
}

impl Rung {
    /// Returns true if there is a file.
    fn is_file(&self) -> bool {
        !matches!(self.state, RungState::NoFile | RungState::Blind | RungState::Asked)
    }
}
