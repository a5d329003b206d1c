//! Everything that is wrong, each with its remedy.

use maud::{Markup, html};

use super::Address;
use super::content::{Check, Fault, Policy};
use super::parts::at;
use crate::diagnostic::Severity;
use crate::report::count;
use crate::visible::visible;

pub(super) fn view(address: &Address, check: &Check) -> Markup {
    let Check { commit, faults, more, policies } = check;
    html! {
        h1 { "What is wrong" }
        (at(address, commit))
        @if faults.is_empty() { p { code { "hierad check" } " finds nothing." } }
        @for fault in faults { (panel(fault)) }
        @if *more > 0 { p.quiet { "and " (count(*more, "more fault")) ": " code { "hierad check --full" } " has all" } }
        (in_force(policies))
    }
}

fn in_force(policies: &Result<Vec<Policy>, String>) -> Markup {
    html! {
        @match policies {
            Err(reason) => { h2 { "Policies" } p { "They cannot be read: " (visible(reason)) } }
            Ok(policies) if policies.is_empty() => {}
            Ok(policies) => {
                h2 { "Policies" }
                p { "They judge each change:" }
                table.policies {
                    thead { tr { th scope="col" { "Policy" } th scope="col" { "Weight" } th scope="col" { "What to do" } th scope="col" { "Reviewers" } } }
                    tbody {
                        @for Policy { name, level, message, reviewers } in policies {
                            tr {
                                th scope="row" { (visible(name)) }
                                td { (level) }
                                td { (visible(message)) }
                                td { (visible(&reviewers.join(", "))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn panel(Fault { severity, code, place, text, fix, concerned }: &Fault) -> Markup {
    let class = match severity {
        Severity::Error => "alarm",
        Severity::Warning => "doubt",
        Severity::Note => "note",
    };
    html! {
        div class={ "panel " (class) } {
            div.body {
                b { (severity.to_string()) } " "
                @if let Some(place) = place { span.place { (visible(place)) } " " }
                span.quiet { (code) }
                br;
                (visible(text))
                @if !concerned.is_empty() { " " span.quiet { "(" (visible(concerned)) ")" } }
                br;
                "What to do: " (visible(fix))
            }
        }
    }
}
