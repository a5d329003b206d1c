//! Lists of nodes, keys and commits.

use maud::{Markup, html};

use super::Address;
use super::content::{Commits, Entry, Files, Found, FoundValue, Names};
use super::parts::{date, diff_form, found, next, search_field, value};
use crate::report::{author_name, count, number};
use crate::visible::visible;

pub(super) fn nodes(address: &Address, names: &Names) -> Markup {
    list(address, names, ("Nodes", "/nodes", "node"), &html! {}, |name| link(&address.node(name, None), name))
}

pub(super) fn keys(address: &Address, names: &Names) -> Markup {
    list(address, names, ("Keys", "/keys", "key"), &html! {}, |name| link(&address.key(name), name))
}

pub(super) fn files(address: &Address, Files { names, unread, asked, broken }: &Files) -> Markup {
    let item = |path: &str| {
        html! {
            (link(&address.file(path), path))
            @if broken.contains(path) { " " span.word.alarm { "cannot be read" } }
            @if unread.contains(path) { " " span.word.doubt { "no known node reads it" } }
        }
    };
    let note = match (unread.len(), *asked) {
        (0, 0) => html! { p.quiet { "Known nodes read all of them." } },
        (0, asked) => {
            html! { p.quiet { "Only functions may read " (number(asked)) " of them; known nodes read the others." } }
        }
        (unread, asked) => html! {
            p {
                "No known node reads " (number(unread)) " of all " (count(names.total, "file")) "."
                @if asked > 0 { " Only functions may read " (number(asked)) " more." }
            }
        },
    };
    list(address, names, ("Data files", "/files", "file"), &note, item)
}

fn link(href: &str, name: &str) -> Markup {
    html! { a href=(href) { (visible(name)) } }
}

fn list(
    address: &Address,
    names: &Names,
    (title, path, noun): (&str, &str, &str),
    note: &Markup,
    item: impl Fn(&str) -> Markup,
) -> Markup {
    html! {
        h1 { (title) }
        (search_field(address, path, &names.search, &format!("Find a {noun}")))
        (found(names.found, names.total, noun, &names.search))
        (near(names, &item))
        (note)
        ul.names { @for name in &names.names { li { (item(name)) } } }
        (next(address, path, &names.search, names.next.as_deref()))
    }
}

/// Names that are similar to a text that no name has.
fn near(Names { near, .. }: &Names, item: &dyn Fn(&str) -> Markup) -> Markup {
    html! {
        @if !near.is_empty() {
            p { "Did you mean " @for (at, name) in near.iter().enumerate() { @if at > 0 { ", " } (item(name)) } "?" }
        }
    }
}

pub(super) fn found_names(address: &Address, found_here: &Found) -> Markup {
    let Found { search, nodes, keys, files, values, has_more_values, former } = found_here;
    let some = |(title, noun, path): (&str, &str, &str), names: &Names, item: &dyn Fn(&str) -> Markup| {
        html! {
            h2 { (title) }
            (found(names.found, names.total, noun, search))
            (near(names, item))
            ul.names { @for name in &names.names { li { (item(name)) } } }
            @if names.next.is_some() { p { a href=(address.to(path, &[("search", search)])) { "All of them" } } }
        }
    };
    html! {
        h1 { "Search" }
        (search_field(address, "/search", search, "Find a node, a key, a file or a value"))
        (some(("Nodes", "node", "/nodes"), nodes, &|name| link(&address.node(name, None), name)))
        (some(("Keys", "key", "/keys"), keys, &|name| link(&address.key(name), name)))
        @if !former.is_empty() {
            p { "Earlier commits had:" }
            ul.names { @for key in former { li { (link(&address.to("/changes", &[("key", key)]), key)) } } }
        }
        (some(("Data files", "file", "/files"), files, &|path| link(&address.file(path), path)))
        @if !search.is_empty() { (found_values(address, values, *has_more_values)) }
    }
}

fn found_values(address: &Address, values: &[FoundValue], has_more: bool) -> Markup {
    html! {
        h2 { "Values" }
        @if values.is_empty() {
            p.quiet { "No value contains this text." }
        } @else { table.values {
            thead { tr { th scope="col" { "Key" } th scope="col" { "Nodes" } th scope="col" { "Value" } } }
            tbody {
                @for FoundValue { key, nodes, shown } in values {
                    tr {
                        th scope="row" { a href=(address.key(key)) { (visible(key)) } }
                        td { (number(*nodes)) }
                        td { (value(shown)) }
                    }
                }
            }
        } }
        @if has_more { p.quiet { "There may be more values: the search was cut short." } }
    }
}

pub(super) fn commits(address: &Address, commits: &Commits) -> Markup {
    html! {
        h1 { "Commits" }
        ul.actions { li { a href=(address.to("/changes", &[])) { "What did each of them change?" } } }
        @if let [newest, .., oldest] = &commits.commits[..] { (diff_form(address, &oldest.id, address.revision.as_deref().unwrap_or(&newest.id))) }
        (entries(address, &commits.commits))
        (next(address, "/commits", "", commits.next.as_deref()))
    }
}

/// A table of commits.
pub(super) fn entries(address: &Address, commits: &[Entry]) -> Markup {
    html! {
        table.commits-list {
            thead { tr { th scope="col" { "Commit" } th scope="col" { "Date" } th scope="col" { "Author" } th scope="col" { "Subject" } } }
            tbody {
                @for Entry { id, summary, author, time } in commits {
                    tr {
                        td { a href=(address.commit(id)) { code { (id.chars().take(8).collect::<String>()) } } }
                        td { (date(time)) }
                        td { (visible(author_name(author))) }
                        td { (visible(summary)) }
                    }
                }
            }
        }
    }
}
