//! Writes the report as one page of HTML that needs no other file.
//!
//! It shows the verdict with counts, blind spots, errors that several keys share, a panel for each group with both
//! sides of each difference and the lines that cause it, and the changed lines that have no effect. An embedded
//! script searches the page by key, value or node; the page is complete without it. The content security policy
//! allows only this script and inline styles.

mod changes;
mod lines;
mod nodes;

use std::cell::Cell;
use std::io::{self, Write};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use self::changes::{group, index};
use self::nodes::ChangedNodes;
use crate::diagnostic::Place;
use crate::report::build::causing::Range;
use crate::report::words::links::address;
use crate::report::words::secrets::reencrypted_heading;
use crate::report::words::visible::visible;
use crate::report::words::wording::{STANDING, author_name, count, findings_heading, number};
use crate::report::{
    Between, BlindSpot, Cause, Commit, FindingChange, PolicyHit, PolicyLevel, Reencrypted, Remedy, Report, branch_label,
};

/// The style sheet.
pub const STYLE: &str = include_str!("page.css");

const SCRIPT: &str = include_str!("page.js");

/// An additional script for pages with groups that are set apart, since catalogs lack the class.
const APART_SCRIPT: &str = include_str!("apart.js");

/// Options of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The size of the page, in bytes, beyond which changes are only counted.
    pub budget: usize,
    /// The address below which the files of the commit are, such as `https://github.com/OWNER/REPO/blob/SHA/`.
    pub link_base: Option<String>,
}

impl Default for Options {
    /// Returns a budget that browsers can open quickly.
    fn default() -> Options {
        Options { budget: 16 << 20, link_base: None }
    }
}

/// The addresses that the names and the places in a report lead to; `None` where there is nothing to look at.
pub trait Links {
    /// Returns the address of a key.
    fn key(&self, _key: &str) -> Option<String> {
        None
    }

    /// Returns the address of a node.
    fn node(&self, _name: &str) -> Option<String> {
        None
    }

    /// Returns the address of a place in a file after the commit.
    fn place(&self, place: &Place) -> Option<String>;
}

/// Links to the files below an address, if there is one.
impl Links for Option<String> {
    fn place(&self, place: &Place) -> Option<String> {
        address(self.as_deref(), place)
    }
}

/// Returns a text as a link, if it leads to something.
fn linked(address: Option<String>, text: &Markup) -> Markup {
    html! { @match address { Some(address) => a href=(address) { (text) }, None => (text) } }
}

/// Writes the page.
pub fn write(report: &Report, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let script = SCRIPT.to_owned() + if report.groups_by_use().1.is_empty() { "" } else { APART_SCRIPT };
    let digest = STANDARD.encode(Sha256::digest(&script));
    let policy = format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'");
    let start = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (visible(&report.headline())) }
                style { (PreEscaped(STYLE)) }
            }
        }
    };
    // The page is written in parts, so its outer elements are not those of one template.
    let start = start.into_string();
    let start = start.trim_end_matches("</html>");
    write!(out, "{start}<body><main>")?;
    let used = start.len() + script.len();
    let nodes = ChangedNodes::of(report);
    let names = nodes.json();
    let used = used + names.len();
    let body = Body { report, links: &options.link_base, nodes: Some(&nodes), budget: options.budget };
    let heading = html! { h1 { (visible(&report.headline())) } };
    body.write(used, [&heading, &html! {}], out)?;
    write!(out, "{}</main><script type=\"application/json\" id=\"nodes\">{names}</script>", footer().into_string())?;
    writeln!(out, "<script>{script}</script></body></html>")
}

/// Returns the body of the page, for another page that has [`STYLE`], in about `budget` bytes: below a heading, with an
/// overview before the details.
pub fn body(report: &Report, budget: usize, links: &dyn Links, [heading, overview]: [&Markup; 2]) -> Markup {
    let mut out = Vec::new();
    let body = Body { report, links, nodes: None, budget };
    // Nothing can fail here.
    _ = body.write(heading.0.len() + overview.0.len(), [heading, overview], &mut out);
    PreEscaped(String::from_utf8(out).unwrap_or_default())
}

/// The body of a page.
#[derive(Clone, Copy)]
struct Body<'a> {
    report: &'a Report,
    links: &'a dyn Links,
    /// The names for the script that searches the page, if it has one.
    nodes: Option<&'a ChangedNodes>,
    budget: usize,
}

impl Body<'_> {
    /// Writes it below a heading, with an overview before the details, if as many bytes are `used` by the rest.
    fn write(self, used: usize, [heading, overview]: [&Markup; 2], out: &mut dyn Write) -> io::Result<()> {
        let Body { report, links, nodes, budget } = self;
        let room = budget / 8;
        let text = |parts: &[Markup]| parts.iter().map(|part| part.0.as_str()).collect::<String>();
        let above = text(&[
            heading.clone(),
            head(report),
            overview.clone(),
            policies(report, room),
            blind_spots(report, false, room),
            index(report),
            nodes.map(|_| search()).unwrap_or_default(),
            causes(report, links, room),
        ]);
        let below = text(&[
            lines::idle(report, links),
            reencrypted(report, room),
            findings(report, true, room),
            findings(report, false, room),
            blind_spots(report, true, room),
        ]);
        writeln!(out, "{above}")?;
        self.write_groups(budget.saturating_sub(used + above.len() + below.len()), out)?;
        write!(out, "{below}")
    }

    /// Writes as many groups as the budget allows, and the number of the others. Groups on nodes whose catalogs lack
    /// the class are folded.
    fn write_groups(self, budget: usize, out: &mut dyn Write) -> io::Result<()> {
        let Body { report, links, nodes, .. } = self;
        let (first_apart, mut left) = (report.groups_by_use().0.len(), budget);
        let mut is_folded = false;
        let room = Cell::new(budget / 2);
        for (shown, current) in report.groups.iter().enumerate() {
            let panel = |room: &Cell<usize>| group(report, (shown, current), nodes, links, room).into_string();
            let mut text = panel(&room);
            if text.len() > left {
                text = panel(&Cell::new(0));
            }
            if text.len() > left {
                if is_folded {
                    out.write_all(b"</details>")?;
                }
                let groups = &report.groups[shown..];
                let changes = groups.iter().map(|group| group.items.len()).sum();
                let note = html! {
                    p { b { (count(groups.len(), "more group")) } " of " (count(changes, "change"))
                        " would make this page too large: " code { "hierad diff --full" } " shows all." }
                };
                return out.write_all(note.into_string().as_bytes());
            }
            if shown == first_apart {
                is_folded = true;
                let summary = html! { summary { (report.apart_heading().unwrap_or_default()) } };
                write!(out, "<details id=\"apart\">{}", summary.into_string())?;
            }
            left -= text.len();
            out.write_all(text.as_bytes())?;
        }
        if is_folded { out.write_all(b"</details>") } else { Ok(()) }
    }
}

/// Returns as many of `items` as fit `room` bytes, and the number of the others if there are any.
fn items_that_fit<T>(
    items: impl ExactSizeIterator<Item = T>,
    room: usize,
    item: impl Fn(T) -> Markup,
) -> (Markup, Option<String>) {
    let count = items.len();
    let (mut text, mut shown) = (String::new(), 0);
    for one in items {
        let one = item(one).into_string();
        if text.len() + one.len() > room {
            break;
        }
        text.push_str(&one);
        shown += 1;
    }
    (PreEscaped(text), (shown < count).then(|| format!("{} more", number(count - shown))))
}

fn head(report: &Report) -> Markup {
    let fails = report.changes.iter().filter(|change| change.kind.is_error()).map(|change| &change.key);
    let fails = fails.collect::<std::collections::BTreeSet<_>>().len();
    let side = |word: &str, commit: Option<&Commit>| {
        html! {
            span.quiet { (word) }
            @match commit {
                Some(commit) => {
                    code { (short_id(commit)) }
                    span.title { (visible(&commit.summary)) span.quiet { " " (author_and_date(commit)) } }
                }
                None => { span {} span.title { "nothing: this is the first commit" } }
            }
        }
    };
    html! {
        @if let Some(after) = &report.commit.after {
            div.commits {
                @if let Between::Nodes(compared) = &report.between {
                    @for (side, node) in [("from", &compared.before), ("to", &compared.after)] {
                        span.quiet { (side) } code { "node" } span.title { (node) }
                    }
                }
                @if report.is_of_facts() {
                    (side("at", Some(after)))
                } @else {
                    (side("before", report.commit.before.as_ref()))
                    (side("after", Some(after)))
                }
            }
        }
        @if let Some(event) = &report.event { p.quiet { "on " (visible(&branch_label(event))) } }
        ul.counts {
            li { b { (number(report.keys.changed)) } " of " (count(report.keys.total, "key")) }
            @if !matches!(report.between, Between::Nodes(_)) {
                li { b { (number(report.nodes.changed)) } " of " (count(report.nodes.total, "node")) }
            }
            @if fails > 0 { li.alarm { b { (number(fails)) } " failing" } }
            @if let Some(lines) = report.lines_summary() { li { (lines) } }
            @let (new, standing) = (report.spots(false).count(), report.spots(true).count());
            @if new > 0 { li.doubt { b { (count(new, "blind spot")) } } }
            @if standing > 0 { li { b { (count(standing, STANDING)) } } }
        }
    }
}

fn short_id(commit: &Commit) -> String {
    visible(&commit.id).chars().take(12).collect()
}

fn author_and_date(commit: &Commit) -> String {
    let author = author_name(&commit.author);
    let time = commit.time.as_deref().and_then(|time| time.split('T').next()).unwrap_or_default();
    [visible(author).as_ref(), time].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
}

fn policies(report: &Report, room: usize) -> Markup {
    let policy = |hit: &PolicyHit| {
        let (is_alarm, is_doubt) =
            (hit.counts_as() == Some(PolicyLevel::Failure), hit.counts_as() == Some(PolicyLevel::Warning));
        html! {
            div.panel.alarm[is_alarm].doubt[is_doubt] {
                div.body {
                    span.word.alarm[is_alarm] { (hit.label()) } b { (visible(&hit.name)) } ": " (visible(&hit.found))
                    @for note in std::iter::once(hit.message.to_string()).chain(hit.notes()) { br; (visible(&note)) }
                    @let examples = hit.examples(MAX_EXAMPLES);
                    @if !examples.is_empty() { br; span.quiet { (visible(&examples)) } }
                }
            }
        }
    };
    let (hits, more) = items_that_fit(report.policies.iter(), room, policy);
    html! {
        @if !report.policies.is_empty() {
            h2 { (report.policies_heading()) }
            (hits)
            @if let Some(more) = more { p.quiet { (more) } }
        }
    }
}

/// The maximum number of keys and lines shown for a policy.
const MAX_EXAMPLES: usize = 20;

/// Returns the blind spots that existed before the commit, folded, or the others.
fn blind_spots(report: &Report, is_standing: bool, room: usize) -> Markup {
    let all: Vec<&BlindSpot> = report.spots(is_standing).collect();
    let spot = |spot: &BlindSpot| {
        html! {
            div.panel.doubt {
                div.body {
                    (visible(&spot.message))
                    @if let Some(Remedy { words, yaml, .. }) = &spot.fix {
                        br; (visible(words))
                        @if let Some(yaml) = yaml { ":" pre { (shown(yaml)) } }
                    }
                }
            }
        }
    };
    let (spots, more) = items_that_fit(all.iter().copied(), room, spot);
    html! {
        @if !all.is_empty() {
            @if is_standing {
                @if let Some(line) = report.unseen_before_values() { div.panel.doubt { p { (visible(&line)) } } }
                details.quiet { summary { (report.spots_heading(true)) } (spots) @if let Some(more) = more { p { b { (more) } } } }
            } @else {
                h2 { (report.spots_heading(false)) }
                (spots)
                @if let Some(more) = more { p { b { (more) } } }
            }
        }
    }
}

/// Makes each line of a text safe to show.
fn shown(text: &str) -> String {
    text.lines().map(|line| visible(line).into_owned()).collect::<Vec<_>>().join("\n")
}

fn search() -> Markup {
    html! {
        search hidden {
            input type="search" placeholder="Find a key, a value or a node" aria-label="Find a key, a value or a node";
            output {}
        }
    }
}

fn causes(report: &Report, links: &dyn Links, room: usize) -> Markup {
    let room = room / report.causes.len().max(1);
    let key = |(at, key): (usize, &Arc<str>)| html! { @if at > 0 { ", " } (linked(links.key(key), &html! { code { (visible(key)) } })) };
    let cause = |cause: &Cause| {
        let message = cause.message(report);
        let place = cause.error.place.as_ref().filter(|_| cause.is_new);
        let place = place.and_then(|place| Some((place, message.strip_prefix(&place.to_string())?)));
        let (keys, more) = items_that_fit(cause.keys.iter().enumerate(), room, key);
        html! {
            details.panel.alarm[cause.is_new] open {
                summary { span.who { (cause.heading(report)) } }
                div.body {
                    @match place {
                        Some((place, rest)) => pre { (lines::place(&Range::line(place, true), false, links)) (shown(rest)) },
                        None => pre { (shown(&message)) },
                    }
                    (keys)
                    @if let Some(more) = more { " and " b { (more) } }
                }
                (nodes::list(report, &cause.nodes, links))
            }
        }
    };
    html! { @for of in &report.causes { (cause(of)) } }
}

fn reencrypted(report: &Report, room: usize) -> Markup {
    let item = |secret: &Reencrypted| {
        html! {
            li {
                code { (visible(&secret.name())) } " on " (secret.share(report))
                @if let Some(origin) = &secret.origin {
                    " " span.quiet { (visible(&origin.place.to_string())) }
                }
            }
        }
    };
    html! {
        @if !report.reencrypted.is_empty() {
            h2 { (reencrypted_heading(&report.reencrypted)) }
            @let (secrets, more) = items_that_fit(report.reencrypted.iter(), room, item);
            ul.list { (secrets) @if let Some(more) = more { li { b { (more) } } } }
        }
    }
}

fn findings(report: &Report, is_new: bool, room: usize) -> Markup {
    let findings: Vec<&FindingChange> = report.findings.iter().filter(|finding| finding.is_new == is_new).collect();
    let item = |finding: &&FindingChange| {
        let FindingChange { diagnostic, nodes, .. } = finding;
        html! {
            li {
                (diagnostic.severity) " "
                @if let Some(place) = &diagnostic.place { code { (visible(&place.to_string())) } " " }
                (visible(&diagnostic.text)) " " span.quiet { "[" (diagnostic.code) "]" }
                @if *nodes > 0 { span.quiet { ", " (count(*nodes, "node")) } }
            }
        }
    };
    html! {
        @if !findings.is_empty() {
            h2 { (findings_heading(&findings)) }
            @let (shown, more) = items_that_fit(findings.iter(), room, item);
            ul.list { (shown) @if let Some(more) = more { li { b { (more) } } } }
        }
    }
}

fn footer() -> Markup {
    html! { footer.quiet { "hierad " (env!("CARGO_PKG_VERSION")) } }
}
