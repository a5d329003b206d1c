//! A node: its values, where they come from, and the variables that data reads.

use maud::{Markup, html};

use super::Address;
use super::address::node_path;
use super::content::{KeyValue, Node};
use super::parts::{at, found, hidden, next, origins, search_field, value};
use crate::visible::visible;

pub(super) fn view(address: &Address, node: &Node) -> Markup {
    let path = &node_path(&node.name);
    let has_environment = node.variables.iter().any(|(name, _)| name.ends_with("environment"));
    html! {
        h1 { (visible(&node.name)) }
        (at(address, &node.commit))
        (variables(&node.variables))
        ul.actions {
            li { a href=(address.to("/changes", &[("node", &node.name)])) { "Which commits changed its values?" } }
            li { a href=(address.to("/what-if", &[("node", &node.name)])) { "What if it had other facts?" } }
            li {
                form action="/compare" {
                    (hidden(address))
                    input type="hidden" name="node" value=(node.name);
                    label { "Compare with " input name="node" placeholder="another node" autocomplete="off" required; }
                    button { "Compare" }
                }
            }
            @if has_environment { li {
                form action="/compare" {
                    (hidden(address))
                    input type="hidden" name="node" value=(node.name);
                    label { "Compare it in " input name="environment" placeholder="an environment" autocomplete="off" required; }
                    label { "with " input name="environment" placeholder="another" autocomplete="off" required; }
                    button { "Compare" }
                }
            } }
        }
        h2 { "Values" }
        (search_field(address, path, &node.search, "Find a key of this node"))
        (found(node.found, node.total, "key", &node.search))
        @if node.total == 0 { p { "No key has a value here." } }
        @if !node.values.is_empty() { table.values {
            thead { tr { th scope="col" { "Key" } th scope="col" { "Value" } th scope="col" { "From" } } }
            tbody {
                @for KeyValue { key, shown, origins: from } in &node.values {
                    tr {
                        th scope="row" { a href=(address.node(&node.name, Some(key))) { (visible(key)) } }
                        td { (value(shown)) }
                        td { (origins(address, from)) }
                    }
                }
            }
        } }
        (next(address, path, &node.search, node.next.as_deref()))
    }
}

fn variables(variables: &[(String, Option<String>)]) -> Markup {
    html! {
        @if !variables.is_empty() {
            details {
                summary { "Its variables that data reads" }
                table.values {
                    thead { tr { th scope="col" { "Variable" } th scope="col" { "Value" } } }
                    tbody {
                        @for (name, text) in variables {
                            tr {
                                th scope="row" { (visible(name)) }
                                td { @match text { Some(text) => code { (visible(text)) }, None => span.quiet { "not set" } } }
                            }
                        }
                    }
                }
            }
        }
    }
}
