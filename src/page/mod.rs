//! The page: what hierad knows, for people who look at it in a browser.
//!
//! `content` has what a view shows, as plain data; each of the other modules makes the HTML of some views from it.
//! Everything can be read and done without the script, which only saves steps. Nothing comes from elsewhere, and no
//! element has a style or a script of its own, so a strict content security policy holds.
//!
//! Nothing here reads a repository, resolves a key or knows HTTP.

mod address;
mod bands;
mod changes;
mod check;
pub mod content;
mod file;
mod key;
mod ladder;
mod lists;
mod matrix;
mod node;
mod parts;
mod reports;
mod start;

use maud::{DOCTYPE, Markup, html};

use crate::report::writers::html as report;
use crate::visible::visible;

pub use address::Address;

use content::Content;
use parts::search_field;

/// The script of all views.
pub const SCRIPT: &str = include_str!("page.js");

/// The icon of the page.
pub const ICON: &str = include_str!("icon.svg");

/// Returns the style sheet of all views: that of reports, with what only the page has.
pub fn style() -> String {
    [report::STYLE, include_str!("page.css")].concat()
}

/// The surroundings of a view.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The repository and the revision that were asked for.
    pub address: Address,
    /// The names of all repositories.
    pub repositories: Vec<String>,
}

/// Returns the document of a view.
pub fn document(frame: &Frame, content: &Content) -> String {
    let Frame { address, .. } = frame;
    let (title, body) = match content {
        Content::Start(start) => ("Overview".to_owned(), start::view(frame, start)),
        Content::Nodes(names) => ("Nodes".to_owned(), lists::nodes(address, names)),
        Content::Keys(names) => ("Keys".to_owned(), lists::keys(address, names)),
        Content::Files(files) => ("Data files".to_owned(), lists::files(address, files)),
        Content::File(file) => (file.path.clone(), file::view(address, file)),
        Content::Commits(commits) => ("Commits".to_owned(), lists::commits(address, commits)),
        Content::Node(node) => (node.name.clone(), node::view(address, node)),
        Content::Ladder(ladder) => (format!("{} on {}", ladder.key, ladder.node), ladder::view(address, ladder)),
        Content::Key(key) => (key.key.clone(), key::view(address, key)),
        Content::Holders(holders) => (holders.key.clone(), key::holders(address, holders)),
        Content::Check(check) => ("Check".to_owned(), check::view(address, check)),
        Content::Report(report) => (reports::title(report), reports::view(address, report)),
        Content::WhatIf(what_if) => (format!("What if: {}", what_if.node), reports::what_if(address, what_if)),
        Content::Changes(changes) => ("Changes".to_owned(), changes::view(address, changes)),
        Content::NoKey(no_key) => ("No such key".to_owned(), key::none(address, no_key)),
        Content::Found(found) => (format!("Search: {}", found.search), lists::found_names(address, found)),
    };
    whole(address, &visible(&title), &body).into_string()
}

/// Returns the parts of the overview that change while a daemon works.
pub fn live(live: &content::Live) -> String {
    start::live(live).into_string()
}

/// Returns the document that says why there is no view.
pub fn problem(address: &Address, title: &str, detail: &str) -> String {
    let body = html! {
        h1 { (title) }
        p { (visible(detail)) }
    };
    whole(address, title, &body).into_string()
}

/// Returns the document that links the same view of each of several repositories, with its parameters.
pub fn choice(repositories: &[String], parameters: &[(&str, &str)]) -> String {
    let address = |name: &String| Address { repository: Some(name.clone()), revision: None }.to("", parameters);
    let body = html! {
        h1 { "Repositories" }
        ul { @for name in repositories { li { a href=(address(name)) { (visible(name)) } } } }
    };
    whole(&Address::default(), "Repositories", &body).into_string()
}

fn whole(address: &Address, title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " - hierad" }
                link rel="stylesheet" href="/page.css";
                link rel="icon" type="image/svg+xml" href="/icon.svg";
                script type="module" src="/page.js" {}
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                (navigation(address))
                main id="main" {
                    @if let Some(revision) = &address.revision {
                        p.quiet {
                            "All of this is at " code { (visible(revision)) } ". "
                            a href=(Address { revision: None, ..address.clone() }.to("/", &[])) { "To the newest" }
                        }
                    }
                    (body)
                }
                footer.page { "hierad " (env!("CARGO_PKG_VERSION")) }
            }
        }
    }
}

fn navigation(address: &Address) -> Markup {
    html! {
        header.page {
            nav aria-label="Views" {
                a.home href=(address.to("/", &[])) { "hierad" }
                a href=(address.to("/nodes", &[])) { "Nodes" }
                a href=(address.to("/keys", &[])) { "Keys" }
                a href=(address.to("/files", &[])) { "Files" }
                a href=(address.to("/commits", &[])) { "Commits" }
                a href=(address.to("/check", &[])) { "Check" }
            }
            (search_field(address, "/search", "", "Find a name or a value"))
        }
    }
}
