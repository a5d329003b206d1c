//! The values of a key over time: a band for each, as high as the number of nodes that have it, and a table.

use maud::{Markup, html};

use super::Address;
use super::content::{Moment, Timeline};
use super::parts::{date, value};
use crate::report::{count, number};
use crate::visible::visible;

/// The size of the picture.
const WIDTH: usize = 900;
const HEIGHT: usize = 160;

/// The height of a band that has room for its letter.
const ROOM: usize = 14;

pub(super) fn view(address: &Address, timeline: &Timeline) -> Markup {
    let Timeline { bands, moments, nodes } = timeline;
    let commits = count(moments.len().saturating_sub(1), "commit");
    let label = format!("{} on {} over {commits}", count(bands.len(), "value"), count(*nodes, "node"));
    html! {
        figure.bands {
            svg role="img" aria-label=(label) viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" {
                @for at in 0..bands.len() { (band(timeline, at)) }
            }
            figcaption.quiet { "From left to right: the oldest state to the newest; the height is " (count(*nodes, "node")) "." }
        }
        ul.legend {
            @for (at, shown) in bands.iter().enumerate() {
                li {
                    span class={ "key band-" (at) } { (letter(at)) }
                    div { @match shown { Some(shown) => (value(shown)), None => "other values, each on few nodes" } }
                }
            }
        }
        details {
            summary { "In numbers: nodes with each value after each commit" }
            table.moments {
                thead {
                    tr {
                        th scope="col" { "After" }
                        @for at in 0..bands.len() { th scope="col" { (letter(at)) } }
                        th scope="col" { "No value" }
                    }
                }
                tbody { @for moment in moments.iter().rev() { (row(address, timeline, moment)) } }
            }
        }
    }
}

/// The rectangles of a band, and its letter where there is room first.
fn band(Timeline { moments, nodes, .. }: &Timeline, at: usize) -> Markup {
    let scale = |nodes_there: usize| nodes_there * HEIGHT / (*nodes).max(1);
    let left = |moment: usize| moment * WIDTH / moments.len().max(1);
    // The first band is the lowest.
    let place = |moment: &Moment| {
        let below: usize = moment.nodes.iter().take(at).sum();
        let top = HEIGHT - scale(below + moment.nodes[at]);
        (top, HEIGHT - scale(below) - top)
    };
    let places: Vec<(usize, usize)> = moments.iter().map(place).collect();
    let labelled = places.iter().position(|(_, height)| *height >= ROOM);
    html! {
        g class={ "band-" (at) } {
            @for (moment, (top, height)) in places.iter().enumerate().filter(|(_, (_, height))| *height > 0) {
                rect x=(left(moment)) y=(top) width=(left(moment + 1) - left(moment)) height=(height) {}
            }
            @if let Some(moment) = labelled {
                @let (top, height) = places[moment];
                text x=(left(moment) + 4) y=(top + height / 2 + 4) { (letter(at)) }
            }
        }
    }
}

fn row(address: &Address, Timeline { nodes, .. }: &Timeline, Moment { commit, nodes: with }: &Moment) -> Markup {
    html! {
        tr {
            th scope="row" {
                @match commit {
                    Some(commit) => {
                        a href=(address.commit(&commit.id)) { (visible(&commit.summary)) }
                        " " span.quiet { time datetime=(commit.time) { (date(&commit.time)) } }
                    }
                    None => "before these commits",
                }
            }
            @for with in with { td { (number(*with)) } }
            td { (number(*nodes - with.iter().sum::<usize>())) }
        }
    }
}

/// Returns the letter that stands for a band.
fn letter(at: usize) -> char {
    char::from(b'A' + u8::try_from(at).unwrap_or(25).min(25))
}
