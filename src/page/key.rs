//! A key on all nodes: its distinct values, and who has them.

use maud::{Markup, html};

use super::Address;
use super::content::{Distinct, Holders, Key, KnownAt, NoKey};
use super::parts::{at, found, levels_above, origins, value};
use crate::report::{count, number};
use crate::visible::visible;

pub(super) fn view(address: &Address, key: &Key) -> Markup {
    html! {
        h1 { (visible(&key.key)) }
        (at(address, &key.commit))
        p {
            (count(key.values.len() + key.more, "distinct value")) " on " (number(key.nodes - key.without)) " of "
            (count(key.nodes, "node"))
        }
        ul.actions { li { a href=(address.to("/changes", &[("key", &key.key)])) { "Its values over time, and who changed them" } } }
        table.values {
            thead { tr { th scope="col" { "Nodes" } th scope="col" { "Value" } th scope="col" { "Who" } th scope="col" { "From" } } }
            tbody { @for (position, one) in (1..).zip(&key.values) { (row(address, key, (position, one))) } }
        }
        @if key.more > 0 { p.quiet { "and " (count(key.more, "more value")) } }
        (levels_above(&key.blind_spots, "these values, and may have the key"))
    }
}

/// The nodes with one value.
pub(super) fn holders(address: &Address, Holders { key, position, shown, names }: &Holders) -> Markup {
    html! {
        h1 { (visible(key)) }
        p { (value(shown)) }
        p { a href=(address.key(key)) { "All of its values" } }
        (found(names.found, names.total, "node", ""))
        ul.names { @for name in &names.names { li { a href=(address.node(name, Some(key))) { (visible(name)) } } } }
        @if let Some(after) = &names.next {
            p { a rel="next" href=(address.holders(key, *position, after)) { "Next" } }
        }
    }
}

/// A key that no data has.
pub(super) fn none(address: &Address, NoKey { key, message, known_at }: &NoKey) -> Markup {
    let newest = Address { revision: None, ..address.clone() };
    html! {
        h1 { "No such key" }
        p { (visible(message)) }
        @match known_at {
            Some(KnownAt::This) => {
                p { "Earlier commits had it: " a href=(address.to("/changes", &[("key", key)])) { "which commits changed it?" } }
            }
            Some(KnownAt::Newest) => {
                p { "Other revisions have it: " a href=(newest.to("/changes", &[("key", key)])) { "which commits changed it?" } }
            }
            None => {}
        }
    }
}

fn row(address: &Address, key: &Key, (position, one): (usize, &Distinct)) -> Markup {
    html! {
        tr {
            td.share {
                b { (number(one.nodes)) }
                @let share = format!("{} of {}", number(one.nodes), count(key.nodes, "node"));
                meter min="0" max=(key.nodes) value=(one.nodes) aria-label=(share) { (share) }
            }
            td { (value(&one.shown)) }
            td {
                @if let Some(who) = &one.who { (visible(who)) br; }
                @for (at, name) in one.names.iter().enumerate() {
                    @if at > 0 { ", " }
                    a href=(address.node(name, Some(&key.key))) { (visible(name)) }
                }
                @if one.nodes > one.names.len() {
                    " and " a href=(address.holders(&key.key, position, "")) { (number(one.nodes - one.names.len())) " more" }
                }
            }
            td {
                @if let (Some(first), 2..) = (one.names.first(), one.nodes) {
                    @if !one.origins.is_empty() { span.quiet { "on " (visible(first)) ":" } br; }
                }
                (origins(address, &one.origins))
            }
        }
    }
}
