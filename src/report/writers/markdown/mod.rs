//! Writes the report as a Markdown comment for code review.
//!
//! A tired reviewer reads from the top: the verdict, the commit, a table of who has which changes and why, lines
//! without effect, new blind spots, then details that say more than the table; standing blind spots come last. Forges
//! limit the length of a comment, so there is a budget in characters: details that do not fit become counts with a
//! link to the full report, so the comment always says what is left out. A comment is data first (`document`), and
//! becomes Markdown in one place: no text in it can end a fence, a table cell or a tag, or mention anyone (`escape`).

mod blind_spots;
mod details;
mod document;
mod escape;
mod lines;
mod links;
mod table;

use std::io::{self, Write};

pub use self::document::Document;
use self::document::{Block, Item, Line, MAX_NAME, Piece, Section, code, name, strong};
use self::escape::characters;
use self::table::Omission;
pub use crate::report::words::links::is_address;
use crate::report::words::secrets::reencrypted_heading;
use crate::report::words::visible::{ELLIPSIS, shorten, visible};
use crate::report::words::wording::{count, findings_heading, number};
use crate::report::{Cause, Commit, FindingChange, Group, PolicyHit, Reencrypted, Report, branch_label};

/// Options of the comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The maximum number of characters.
    pub budget: usize,
    /// The address below which the files of the commit are, such as `https://github.com/OWNER/REPO/blob/SHA/`.
    pub link_base: Option<String>,
    /// The address of the full report.
    pub report_url: Option<String>,
}

impl Default for Options {
    /// Returns a budget below GitHub's limit of 65,536, with room for text that a bot adds.
    fn default() -> Options {
        Options { budget: 60_000, link_base: None, report_url: None }
    }
}

impl Options {
    fn report_url(&self) -> Option<&str> {
        self.report_url.as_deref().filter(|url| is_address(url))
    }
}

/// The room for the verdict, and for one blind spot.
const MAX_HEADLINE: usize = 400;
const MAX_MESSAGE: usize = 1000;
/// The maximum number of items in a list.
const MAX_LISTED: usize = 30;
/// The maximum number of keys, and of lines, shown for a policy.
const MAX_EXAMPLES: usize = 3;
/// Up to this many groups are shown unfolded.
const MAX_OPEN: usize = 2;
/// The budget for notes about omitted parts, in addition to the link to the full report, and the budget for one note.
const NOTES_BUDGET: usize = 700;
const NOTE_BUDGET: usize = 20;
/// The room around the verdict.
const HEADING: usize = 5;
/// The minimum room for the details of a group.
const MIN_DETAILS: usize = 600;

/// Writes the comment.
pub fn write(report: &Report, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(document(report, options).markdown(options).as_bytes())
}

/// Returns the comment that fits the budget, as data.
pub fn document(report: &Report, options: &Options) -> Document {
    let mut document = Document { headline: shorten(&report.headline(), MAX_HEADLINE), parts: Vec::new() };
    let length = |parts: &[Section]| parts.iter().map(|part| characters(&part.markdown(options))).sum::<usize>();
    let (head, footer) = (head(report), footer(report));
    let full_report = Block::Paragraph(links::full_report(report)).into();
    let heading = HEADING + characters(&escape::html(&document.headline));
    let least = heading + length(&head) + length(&[footer.clone(), full_report]) + NOTES_BUDGET;
    let Some(mut left) = options.budget.checked_sub(least) else { return document };
    let parts = &mut document.parts;
    parts.extend(head);
    let mut add = |new: Vec<Section>, left: &mut usize| {
        *left = left.saturating_sub(length(&new));
        parts.extend(new);
    };
    add(policies(report, options, left / 4), &mut left);
    let mut tail = blind_spots::new_spots(report, options, left / 4);
    let standing = blind_spots::standing(report, options, left / 8);
    left = left.saturating_sub(length(&tail) + length(standing.as_slice()));
    let mut rest = Vec::from_iter(table::apart(report, options, left / 8));
    rest.extend(reencrypted(report, options, left / 8));
    rest.extend(findings(report, options, left / 4));
    left = left.saturating_sub(length(&rest));
    let (table, rows) = table::table(report, options, left / 2);
    add(table.into_iter().map(Section::from).collect(), &mut left);
    add(Vec::from_iter(blind_spots::before_values(report)), &mut left);
    add(lines::unread(report, left / 8), &mut left);
    add(lines::idle(report, options, left / 8), &mut left);
    tail.extend(details(report, options, rows, left));
    tail.extend(rest.into_iter().chain(standing).chain([footer]));
    parts.extend(tail);
    document
}

/// Returns the title of the commit and the summary of its lines.
fn head(report: &Report) -> Vec<Section> {
    let title = report.commit.after.as_ref().filter(|after| !after.summary.is_empty()).map(|after| {
        let id: String = visible(&after.id).chars().take(8).collect();
        code(id).and(" ").and(shorten(&visible(&after.summary), MAX_HEADLINE))
    });
    let parts = Line::joined(title.into_iter().chain(report.lines_summary().map(Line::from)), " · ");
    if parts.is_empty() { Vec::new() } else { vec![Block::Paragraph(parts).into()] }
}

/// Returns the folded details of each cause, and of each group that the table does not show completely; and the
/// number of those that do not fit.
fn details(report: &Report, options: &Options, rows: usize, room: usize) -> Vec<Section> {
    let (causes, groups) = (report.causes.iter().enumerate(), (report.causes.len()..).zip(report.groups_by_use().0));
    let omission =
        |(row, group): (usize, _)| if row < rows { table::omitted_from_row(report, group) } else { Omission::Values };
    let causes: Vec<&Cause> = causes
        .filter(|(row, cause)| *row >= rows || table::is_cause_shortened(cause))
        .map(|(_, cause)| cause)
        .collect();
    let groups: Vec<(Omission, &Group)> = groups.map(|(row, group)| (omission((row, group)), group)).collect();
    let groups: Vec<&(Omission, &Group)> =
        groups.iter().filter(|(omission, _)| *omission != Omission::Nothing).collect();
    let total = groups.len() + causes.len();
    let is_open = total <= MAX_OPEN && groups.iter().any(|(omission, _)| *omission == Omission::Values);
    let (mut parts, mut is_all, mut left) = (Vec::new(), true, room);
    let length = |part: &Section| characters(&part.markdown(options));
    for cause in causes {
        let detail = details::cause(report, cause);
        if let Some(rest) = left.checked_sub(length(&detail)) {
            left = rest;
            parts.push(detail);
        }
    }
    for (at, (_, group)) in groups.iter().enumerate() {
        if left < MIN_DETAILS {
            break;
        }
        // A large group leaves half of the room to those after it.
        let share = if at + 1 < groups.len() { left / 2 } else { left };
        let share = share.max(MIN_DETAILS).min(left);
        if let Some((detail, is_whole)) = details::group(report, group, options, share, is_open) {
            left = left.saturating_sub(length(&detail));
            parts.push(detail);
            is_all &= is_whole;
        }
    }
    let note = if parts.len() < total {
        let shown = strong(format!("{} of {} shown", number(parts.len()), count(total, "group")));
        shown.and("; the details of the others do not fit. ")
    } else if !is_all {
        "Some details do not fit. ".into()
    } else {
        return parts;
    };
    parts.push(Block::Paragraph(note.and(links::full_report(report))).into());
    parts
}

/// Returns the policies that are hit, each with its message, in at most `budget` characters.
fn policies(report: &Report, options: &Options, budget: usize) -> Vec<Section> {
    let text = |text: &str| Line::from(shorten(&visible(text), MAX_MESSAGE));
    let item = |hit: &PolicyHit| {
        let mut line = strong(hit.label()).and(" ").and(name(&hit.name)).and(": ").and(text(&hit.found));
        let keys = hit.keys.iter().take(MAX_EXAMPLES).map(|key| name(key));
        let places = hit.places.iter().take(MAX_EXAMPLES).map(|place| links::link(place, &place.to_string()));
        let examples = Line::joined(keys.chain(places), ", ");
        if !examples.is_empty() {
            line = line.and(" (").and(examples).and(")");
        }
        for note in std::iter::once(hit.message.to_string()).chain(hit.notes()) {
            line = line.and(Line::of(Piece::Break)).and(text(&note));
        }
        Item::from(line)
    };
    list(report.policies_heading(), report.policies.iter().map(item), options, budget)
}

fn footer(report: &Report) -> Section {
    let id = |commit: &Commit| code(shorten(&visible(&commit.id), 64));
    let mut line = Line::default();
    if let Some(after) = &report.commit.after {
        let base = report.commit.before.as_ref().map_or_else(|| "nothing".into(), id);
        line = if report.is_of_facts() {
            Line::from("at ").and(id(after))
        } else {
            Line::from("base ").and(base).and(" · head ").and(id(after))
        };
        if let Some(event) = &report.event {
            line = line.and(" on ").and(code(shorten(&visible(&branch_label(event)), MAX_NAME)));
        }
        line = line.and(" · ");
    }
    Block::Small(line.and(concat!("hierad ", env!("CARGO_PKG_VERSION")))).into()
}

/// Returns the new findings and those that have disappeared, in at most `budget` characters.
fn findings(report: &Report, options: &Options, budget: usize) -> Vec<Section> {
    let mut left = budget;
    let mut parts = Vec::new();
    for is_new in [true, false] {
        let findings: Vec<&FindingChange> = report.findings.iter().filter(|f| f.is_new == is_new).collect();
        let items = findings.iter().map(|finding| finding_item(finding));
        let new = list(findings_heading(&findings), items, options, left);
        left = left.saturating_sub(new.iter().map(|part| characters(&part.markdown(options))).sum());
        parts.extend(new);
    }
    parts
}

/// Returns the re-encrypted secrets, in at most `budget` characters.
fn reencrypted(report: &Report, options: &Options, budget: usize) -> Vec<Section> {
    let item = |secret: &Reencrypted| {
        let place = secret.origin.as_ref().map(|origin| Line::from(", ").and(name(&origin.place.to_string())));
        let line = name(&secret.name()).and(" on ").and(secret.share(report));
        Item::from(line.and(place.unwrap_or_default()))
    };
    list(reencrypted_heading(&report.reencrypted), report.reencrypted.iter().map(item), options, budget)
}

/// Returns a list below a heading, or nothing if the list is empty. The heading and the number of omitted items are
/// included even if they do not fit `budget` characters.
fn list(heading: String, all: impl ExactSizeIterator<Item = Item>, options: &Options, budget: usize) -> Vec<Section> {
    if all.len() == 0 {
        return Vec::new();
    }
    let heading = Section::from(Block::Paragraph(strong(heading)));
    let room = budget.saturating_sub(characters(&heading.markdown(options)) + 1);
    vec![heading, Block::List(items(all, options, room)).into()]
}

/// Returns as many items of a list as fit `budget` characters, and the number of the others.
fn items(all: impl ExactSizeIterator<Item = Item>, options: &Options, budget: usize) -> Vec<Item> {
    let (mut shown, count) = (Vec::new(), all.len());
    let mut left = budget;
    for item in all {
        if shown.len() == MAX_LISTED || !fits(&item, options, left) {
            let more = format!("{ELLIPSIS} {} more", number(count - shown.len()));
            shown.push(Item::from(Line::from(more)));
            break;
        }
        left -= characters(&item.markdown(options));
        shown.push(item);
    }
    shown
}

/// Returns true if an item fits `budget` characters, together with the number of the others.
fn fits(item: &Item, options: &Options, budget: usize) -> bool {
    characters(&item.markdown(options)) <= budget.saturating_sub(NOTE_BUDGET)
}

fn finding_item(finding: &FindingChange) -> Item {
    let diagnostic = &finding.diagnostic;
    let place = diagnostic.place.as_ref().map(|place| name(&place.to_string()).and(" ")).unwrap_or_default();
    let nodes = if finding.nodes == 0 { String::new() } else { format!(", {}", count(finding.nodes, "node")) };
    let text = shorten(&visible(&diagnostic.text), 400);
    let line = Line::from(format!("{} ", diagnostic.severity)).and(place).and(text);
    line.and(format!(" [{}]{nodes}", diagnostic.code)).into()
}
