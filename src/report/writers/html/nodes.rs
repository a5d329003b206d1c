//! The nodes of groups, for the reader and for the search.

use maud::{Markup, html};

use super::{Links, linked};
use crate::node::NodeSet;
use crate::puppet::json;
use crate::report::Report;
use crate::report::words::node_list;
use crate::report::words::visible::visible;
use crate::report::words::wording::{count, number};

/// The approximate maximum number of characters in a list of names.
const MAX_NAMES: usize = 20_000;

/// The maximum number of names in a list of links.
const MAX_LINKS: usize = 50;

/// The nodes that change, each with a number from 0.
pub(super) struct ChangedNodes {
    nodes: NodeSet,
    json: String,
}

impl ChangedNodes {
    pub(super) fn of(report: &Report) -> ChangedNodes {
        let nodes = NodeSet::union_of(report.names.fleet.len(), report.groups.iter().map(|group| group.nodes.clone()));
        let mut json = String::from("[");
        for name in report.names.names_of(&nodes) {
            if json.len() > 1 {
                json.push(',');
            }
            json::write_text(name, &mut json);
        }
        json.push(']');
        // No name can close the script element that contains them.
        ChangedNodes { nodes, json: json.replace('<', "\\u003c") }
    }

    /// Returns the names as a JSON array, in the order of their numbers.
    pub(super) fn json(&self) -> &str {
        &self.json
    }

    /// Returns the numbers of the nodes in `nodes`, as runs such as `0-5,9`.
    pub(super) fn numbers(&self, nodes: &NodeSet) -> String {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        let mut wanted = nodes.iter().peekable();
        for (number, node) in self.nodes.iter().enumerate() {
            if wanted.next_if_eq(&node).is_none() {
                continue;
            }
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => runs.push((number, number)),
            }
        }
        let run = |(first, last): &(usize, usize)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        runs.iter().map(run).collect::<Vec<_>>().join(",")
    }
}

/// Returns the names of some nodes, folded: each by itself if they are links, and otherwise as ranges.
pub(super) fn list(report: &Report, nodes: &NodeSet, links: &dyn Links) -> Markup {
    let all = || report.names.names_of(nodes);
    let are_links = all().next().is_some_and(|name| links.node(name).is_some());
    html! {
        details.nodes {
            summary { (count(nodes.len(), "node")) }
            @if are_links {
                @for (at, name) in all().take(MAX_LINKS).enumerate() {
                    @if at > 0 { ", " } (linked(links.node(name), &html! { (visible(name)) }))
                }
                @if let Some(more @ 1..) = nodes.len().checked_sub(MAX_LINKS) { " and " (number(more)) " more" }
            } @else {
                (node_list::names(report, nodes, MAX_NAMES))
            }
        }
    }
}
