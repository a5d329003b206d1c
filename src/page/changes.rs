//! The commits that changed a key, on a node or on any.

use maud::{Markup, html};

use super::Address;
use super::content::{Change, Changes};
use crate::report::{author_name, day};
use crate::visible::visible;

pub(super) fn view(address: &Address, changes: &Changes) -> Markup {
    let Changes { key, node, entries, next, unseen } = changes;
    let (name, place) = (key.as_deref().unwrap_or_default(), node.as_deref().unwrap_or_default());
    html! {
        h1 {
            "Changes"
            @if let Some(key) = key { " of " a href=(address.key(key)) { (visible(key)) } }
            @if let Some(node) = node { " on " a href=(address.node(node, key.as_deref())) { (visible(node)) } }
        }
        @if entries.is_empty() { p { "No commit here changes a value." } }
        ol.timeline { @for one in entries { (entry(address, one)) } }
        @if let Some(next) = next {
            p { a rel="next" href=(address.to("/changes", &[("key", name), ("node", place), ("after", next)])) { "Older ones" } }
        }
        @if !unseen.is_empty() {
            h2 { "What may be missing" }
            ul.list { @for text in unseen { li { (visible(text)) } } }
        }
    }
}

fn entry(address: &Address, Change { commit, is_of_facts, words }: &Change) -> Markup {
    html! {
        li {
            time datetime=(commit.time) { (day(&commit.time)) } " "
            @if *is_of_facts {
                b { "New facts of nodes" }
            } @else {
                a href=(address.commit(&commit.id)) { (visible(&commit.summary)) }
                " " span.quiet { (visible(author_name(&commit.author))) }
            }
            br;
            code { (visible(words)) }
        }
    }
}
