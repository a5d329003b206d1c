//! A data file: what its entries decide, and which decide nothing.

use maud::{Markup, html};

use super::Address;
use super::address::file_path;
use super::content::{File, FileEntry};
use super::parts::{at, levels_above, value};
use crate::report::{count, number};
use crate::visible::visible;

pub(super) fn view(address: &Address, file: &File) -> Markup {
    let File { path, commit, nodes, of, fault, options, entries, count: all, is_later, next, .. } = file;
    html! {
        h1 { (visible(path)) }
        (at(address, commit))
        p {
            @match (*nodes, file.is_read_by_functions) {
                (0, false) => "No known node reads this file, so none of its lines does anything.",
                (0, true) => "No known node reads this file. What functions make of it is unknown.",
                (_, of_functions) => {
                    (number(*nodes)) " of " (count(*of, "node")) " read it. "
                    @match fault {
                        Some(fault) => { "It cannot be read, so lookups that read it fail: " (visible(fault)) }
                        None => (idle(entries, *all)),
                    }
                    @if of_functions { " What functions make of it is not in these numbers." }
                    @if let Some(line) = options { " What the " code { "lookup_options" } " on line " (line) " do is not in these numbers." }
                }
            }
        }
        (levels_above(&file.blind_spots, "this file, and may have its keys"))
        @if *is_later { p { a href=(address.file(path)) { "From the beginning of the file" } } }
        @if !entries.is_empty() {
            table.values {
                thead { tr { th scope="col" { "Line" } th scope="col" { "Key" } th scope="col" { "Value here" } th scope="col" { "Decides on" } th scope="col" { "On other nodes" } } }
                tbody { @for entry in entries { (row(address, file, entry)) } }
            }
        }
        @if let Some(next) = next {
            p { a rel="next" href=(address.to(&file_path(path), &[("after", next)])) { "Next" } }
        }
    }
}

/// The number of entries without effect, among those that are shown.
fn idle(entries: &[FileEntry], total: usize) -> Markup {
    let idle = entries.iter().filter(|entry| entry.is_idle()).count();
    let is_part = entries.len() < total;
    let shown = count(entries.len(), "key") + if is_part { " shown here" } else { "" };
    let unknown = entries.iter().filter(|entry| entry.decides == 0 && entry.unknown > 0).count();
    html! {
        @match (idle, entries.len()) {
            (_, 0) => "It has no keys.",
            (0, _) if unknown > 0 => {}
            (0, 1) => { "The " (shown) " decides something on some node." }
            (0, _) => { "Each of the " (shown) " decides something on some node." }
            (1, _) => b { "Of the " (shown) ", 1 decides nothing on any node." },
            (_, _) => b { "Of the " (shown) ", " (number(idle)) " decide nothing on any node." },
        }
        @if unknown > 0 { " Of the " (shown) ", the effect of " (number(unknown)) " is unknown." }
        @if is_part { " The file has " (count(total, "key")) ": what the others do is said where they are shown." }
    }
}

fn row(address: &Address, file: &File, entry: &FileEntry) -> Markup {
    html! {
        tr.idle[entry.is_idle()] {
            td.at { (line(entry.line)) }
            th scope="row" { a href=(address.key(&entry.key)) { (visible(&entry.key)) } }
            td { @match &entry.written { Some(written) => (value(written)), None => span.quiet { "not shown" } } }
            td.share {
                @if entry.is_idle() { span.word.doubt { "nothing" } } @else {
                    b { (number(entry.decides)) } @if entry.decides == 1 { " node" } @else { " nodes" }
                    @let share = format!("{} of {}", number(entry.decides), count(file.nodes, "node"));
                    meter min="0" max=(file.nodes) value=(entry.decides) aria-label=(share) { (share) }
                }
            }
            td {
                @for (count_of, words) in entry.reasons() {
                    div { "on " (count(count_of, "node")) " " (words) }
                }
                @for (path, at) in &entry.idle {
                    div { span.word.doubt { "nothing" } " " span.place { (line(*at)) } " " code { (visible(path)) } }
                }
            }
        }
    }
}

fn line(line: Option<u32>) -> String {
    line.map(|line| format!("line {line}")).unwrap_or_default()
}

impl FileEntry {
    /// Returns true if nothing would change without the entry, as far as hierad knows.
    fn is_idle(&self) -> bool {
        self.decides == 0 && self.unknown == 0
    }

    /// Returns the reasons why it decides nothing on some nodes.
    fn reasons(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let all = [
            (self.hidden, "a higher level hides it"),
            (self.repeated, "a lower level has the same"),
            (self.unknown, "its effect is unknown, or the lookup fails"),
        ];
        all.into_iter().filter(|(count, _)| *count > 0)
    }
}
