//! The commits that changed a key, on a node or on any.

use maud::{Markup, html};

use super::content::{Change, Changes};
use super::parts::{date, hidden};
use super::{Address, bands};
use crate::report::author_name;
use crate::visible::visible;

pub(super) fn view(address: &Address, changes: &Changes) -> Markup {
    let Changes { keys, nodes, entries, next, blind_spots, timeline } = changes;
    html! {
        h1 {
            "Changes"
            @for key in keys { " of " (asked(key, &address.key(key))) }
            @for node in nodes { " on " (asked(node, &address.node(node, None))) }
        }
        form.fields action="/changes" {
            (hidden(address))
            label { "Of these keys" input name="key" value=(keys.first().map(String::as_str).unwrap_or_default()) placeholder="ntp::*" autocomplete="off" spellcheck="false"; }
            label { "On these nodes" input name="node" value=(nodes.first().map(String::as_str).unwrap_or_default()) placeholder="web*" autocomplete="off" spellcheck="false"; }
            button { "Show" }
        }
        @if entries.is_empty() { p { "No commit here changes a value." } }
        @if let Some(timeline) = timeline { (bands::view(address, timeline)) }
        ol.timeline { @for one in entries { (entry(address, one)) } }
        @if let Some(next) = next {
            p { a rel="next" href=(older(address, changes, next)) { "Older ones" } }
        }
        @if !entries.is_empty() { p.quiet { "Commits that changed no value are left out." } }
        @if !blind_spots.is_empty() {
            h2 { "Blind spots" }
            p { "Commits may be missing here:" }
            ul.list { @for text in blind_spots { li { (visible(text)) } } }
        }
    }
}

/// A name with its view, or a pattern.
fn asked(text: &str, view: &str) -> Markup {
    let is_pattern = text.starts_with("re:") || text.contains(['*', '?', '[']);
    html! { @if is_pattern { (visible(text)) } @else { a href=(view) { (visible(text)) } } }
}

/// Returns the address of the part that goes on at a place.
fn older(address: &Address, Changes { keys, nodes, .. }: &Changes, place: &str) -> String {
    let keys = keys.iter().map(|key| ("key", key.as_str()));
    let nodes = nodes.iter().map(|node| ("node", node.as_str()));
    let all: Vec<_> = keys.chain(nodes).chain([("after", place)]).collect();
    address.to("/changes", &all)
}

fn entry(address: &Address, Change { commit, is_of_facts, lines }: &Change) -> Markup {
    html! {
        li {
            time datetime=(commit.time) { (date(&commit.time)) } " "
            @if *is_of_facts {
                b { "New facts of nodes" }
            } @else {
                a href=(address.commit(&commit.id)) { (visible(&commit.summary)) }
                " " span.quiet { (visible(author_name(&commit.author))) }
            }
            @for line in lines { br; code { (visible(line)) } }
        }
    }
}
