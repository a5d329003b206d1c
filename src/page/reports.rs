//! Reports: on a commit, on two revisions, on two nodes, on a node with other variables.

use maud::{Markup, html};

use super::Address;
use super::content::WhatIf;
use super::matrix;
use super::node;
use super::parts::hidden;
use crate::report::writers::html::{self as report, Options};
use crate::report::{Between, Report};
use crate::visible::visible;

/// The maximum size of a report in a view, in bytes.
const BUDGET: usize = 150 << 10;

/// The maximum number of variables in the form, those that are set among them.
const MAX_VARIABLES: usize = 8;

pub(super) fn view(address: &Address, of: &Report) -> Markup {
    let parent = of.commit.before.as_ref().filter(|_| of.between == Between::Revisions);
    html! {
        (report::body(of, &Options { budget: BUDGET, ..Options::default() }, &matrix::view(of)))
        script type="module" src="/report.js" {}
        @if let Some(parent) = parent { p { a href=(address.commit(&parent.id)) { "The commit before" } } }
    }
}

pub(super) fn what_if(address: &Address, WhatIf { node, set, variables, unread, report }: &WhatIf) -> Markup {
    let rows = set.iter().map(String::as_str).chain(std::iter::once("")).take(MAX_VARIABLES);
    html! {
        h1 { "What if " a href=(address.node(node, None)) { (visible(node)) } " had other facts?" }
        form.fields action="/what-if" {
            (hidden(address))
            input type="hidden" name="node" value=(node);
            @for (at, text) in rows.enumerate() {
                label {
                    @if at == 0 { "Variable and value, as NAME=TEXT" } @else { "One more" }
                    input name="set" value=(text) autocomplete="off" spellcheck="false";
                }
            }
            button { "Show the difference" }
        }
        (node::variables(variables))
        @for set in unread {
            div.panel.doubt {
                div.body { "No data reads the variable of " code { (visible(set)) } ": take a name from the list above." }
            }
        }
        @if let Some(report) = report { (view(address, report)) }
    }
}
