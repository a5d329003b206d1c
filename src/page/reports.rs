//! Reports: on a commit, on two revisions, on two nodes, on a node with other variables.

use maud::{Markup, html};

use super::address::commit_path;
use super::content::{Comparison, Field, Part, WhatIf};
use super::parts::{hidden, short};
use super::{Address, matrix};
use crate::diagnostic::Place;
use crate::report::writers::html::{self as report, Links};
use crate::report::{Between, count};
use crate::visible::visible;

/// The maximum size of a report in a view, in bytes.
const BUDGET: usize = 150 << 10;

/// The maximum number of variables in the form.
const MAX_FIELDS: usize = 60;

/// The minimum number of changes for which it is worth asking for a part.
const MIN_CHANGES: usize = 10;

/// The views of what a report names.
struct Views<'a> {
    address: &'a Address,
    /// The revision after the commit, which has the files.
    files: Address,
    of: &'a Comparison,
}

impl Links for Views<'_> {
    fn key(&self, key: &str) -> Option<String> {
        // Several keys stand under a pattern.
        (!key.contains('*')).then(|| self.address.key(key))
    }

    fn node(&self, name: &str) -> Option<String> {
        Some(self.address.node(name, None))
    }

    fn place(&self, Place { path, line }: &Place) -> Option<String> {
        self.of.files.contains(path).then(|| self.files.line(path, *line))
    }
}

/// Returns the names of the two sides, or the subject of the commit.
pub(super) fn title(Comparison { report, part, .. }: &Comparison) -> String {
    match (&report.between, part, &report.commit.after) {
        (Between::Nodes(nodes), ..) => nodes.arrow(),
        (_, Some(Part { from: Some(from), to, .. }), _) => format!("{} -> {}", short(from), short(to)),
        (_, _, Some(commit)) if !commit.summary.is_empty() => commit.summary.clone(),
        _ => report.headline(),
    }
}

pub(super) fn view(address: &Address, of: &Comparison) -> Markup {
    compared(address, of, &html! { h1 { (visible(&title(of))) } })
}

/// A comparison below a heading.
fn compared(address: &Address, of: &Comparison, heading: &Markup) -> Markup {
    let Comparison { report, part, .. } = of;
    let commit = |side: &Option<crate::report::Commit>| side.as_ref().map(|commit| commit.id.clone());
    let files = Address { revision: commit(&report.commit.after), ..address.clone() };
    let parent = commit(&report.commit.before);
    let heading = html! { (heading) p.verdict { (visible(&report.result())) } };
    let overview = html! {
        @if let Some(part) = part { (form(address, part, report.changes.len())) }
        (matrix::view(report))
    };
    html! {
        (report::body(report, BUDGET, &Views { address, files: files.clone(), of }, [&heading, &overview]))
        @match (part, &files.revision) {
            (Some(Part { from: Some(from), to, .. }), _) => { p { a href=(address.diff(to, from)) { "The other way round" } } }
            (Some(_), Some(id)) => {
                @if let Some(parent) = parent { p { a href=(address.commit(&parent)) { "The commit before" } } }
                p { a href=(address.diff(id, address.revision.as_deref().unwrap_or("HEAD"))) { "What has changed since" } }
            }
            _ => {}
        }
    }
}

/// A form that asks for a part of a comparison, if there is one or if there are many changes.
fn form(address: &Address, part: &Part, changes: usize) -> Markup {
    let Part { from, to, key, node } = part;
    html! {
        @if changes >= MIN_CHANGES || !key.is_empty() || !node.is_empty() {
            form.fields action=(if from.is_none() { commit_path(to) } else { "/diff".to_owned() }) {
                (hidden(address))
                @if let Some(from) = from {
                    input type="hidden" name="from" value=(from);
                    input type="hidden" name="to" value=(to);
                }
                label { "Only these keys" input name="key" value=(key) placeholder="ntp::*" autocomplete="off" spellcheck="false"; }
                label { "Only these nodes" input name="node" value=(node) placeholder="web*" autocomplete="off" spellcheck="false"; }
                button { "Show" }
            }
        }
    }
}

pub(super) fn what_if(address: &Address, WhatIf { node, variables, others, notices, report }: &WhatIf) -> Markup {
    let (shown, hidden_ones) = variables.split_at(variables.len().min(MAX_FIELDS));
    html! {
        h1 { "What if " a href=(address.node(node, None)) { (visible(node)) } " had other facts?" }
        form action="/what-if" {
            (hidden(address))
            input type="hidden" name="node" value=(node);
            p { "Change what the node has:" }
            div.fields.variables { @for (number, variable) in shown.iter().enumerate() { (field(number, variable)) } }
            @if !hidden_ones.is_empty() { p.quiet { "and " (count(hidden_ones.len(), "more variable")) " that data reads" } }
            div.fields {
                @for text in others.iter().map(String::as_str).chain(std::iter::once("")) {
                    label { "Another variable" input name="set" value=(text) placeholder="facts.name=text" autocomplete="off" spellcheck="false"; }
                }
                button { "Show the difference" }
            }
        }
        @for notice in notices { div.panel.doubt { div.body { (visible(notice)) } } }
        @if let Some(report) = report { (compared(address, report, &html! { h2 { "The difference" } })) }
    }
}

fn field(number: usize, Field { name, own, text, known, .. }: &Field) -> Markup {
    let list = (!known.is_empty()).then(|| format!("known-{number}"));
    html! {
        label.changed[own != text] {
            (visible(name))
            input type="hidden" name="variable" value=(name);
            input name="value" value=(text) list=[&list] placeholder=(if own.is_empty() { "not set" } else { "an empty text" }) autocomplete="off" spellcheck="false";
            @if let Some(list) = &list { datalist id=(list) { @for text in known { option value=(text) {} } } }
        }
    }
}
