//! Writes the report as a Markdown comment for code review.
//!
//! A tired reviewer reads from the top: the verdict, the commit, a table of who has which changes and why, what changes
//! unseen, then details that say more than the table; blind spots of before come last. Forges limit the length of a
//! comment, so there is a budget in characters: details that do not fit become counts, and counts a link to the full
//! report; what is left out is always said. No data can end a fence, a table cell or a tag, or mention anyone
//! (`escape`).

mod blind_spots;
mod details;
mod escape;
mod lines;
mod links;
mod table;

use std::fmt::Write as _;
use std::io::{self, Write};

use self::escape::{characters, code, html, name, shorten_to};
use self::table::Unsaid;
pub use super::links::is_address;
use super::secrets::reencrypted_heading;
use super::visible::{ELLIPSIS, shorten, visible};
use super::wording::{count, findings_heading, number};
use super::{Cause, Commit, FindingChange, Group, PolicyHit, Reencrypted, Report, branch_label};

/// Options of the comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The most characters.
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
/// The most findings of one side, or re-encrypted secrets.
const MAX_LISTED: usize = 30;
/// The most keys and lines of a policy.
const MAX_EXAMPLES: usize = 3;
/// Up to this many groups are shown unfolded.
const MAX_OPEN: usize = 2;
/// The budget for notes about omitted parts, besides the link to the full report; and that of one of them.
const NOTES_BUDGET: usize = 700;
const NOTE_BUDGET: usize = 20;
/// Less room than this is not worth a group's details.
const MIN_DETAILS: usize = 600;

/// Writes the comment.
pub fn write(report: &Report, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let mut text = head(report);
    let footer = footer(report);
    let full_report = characters(&links::full_report(report, options));
    let least = characters(&text) + characters(&footer) + full_report + NOTES_BUDGET;
    let Some(mut left) = options.budget.checked_sub(least) else {
        return out.write_all(shorten_to(&report.headline(), options.budget).as_bytes());
    };
    let mut add = |part: &str, left: &mut usize| {
        *left = left.saturating_sub(characters(part));
        text.push_str(part);
    };
    add(&policies(report, options, left / 4), &mut left);
    let (new, standing) = (blind_spots::new(report, left / 4), blind_spots::standing(report, left / 8));
    left = left.saturating_sub(characters(&new) + characters(&standing));
    let rest = reencrypted(report, left / 8);
    let rest = rest + &findings(report, left / 4);
    let apart = table::apart(report, options, left / 8);
    let rest = apart + &rest;
    left = left.saturating_sub(characters(&rest));
    let (table, rows) = table::table(report, options, left / 2);
    add(&table, &mut left);
    add(&blind_spots::before_values(report), &mut left);
    add(&lines::unread(report, left / 8), &mut left);
    add(&lines::idle(report, options, left / 8), &mut left);
    text.push_str(&new);
    text.push_str(&details(report, options, rows, left));
    text.push_str(&rest);
    text.push_str(&standing);
    text.push_str(&footer);
    out.write_all(text.as_bytes())
}

fn head(report: &Report) -> String {
    let mut text = format!("### {}\n", html(&shorten(&report.headline(), MAX_HEADLINE)));
    let title = report.commit.after.as_ref().filter(|after| !after.summary.is_empty()).map(|after| {
        let id: String = visible(&after.id).chars().take(8).collect();
        format!("{} {}", code(&id), html(&shorten(&visible(&after.summary), MAX_HEADLINE)))
    });
    let parts: Vec<String> = title.into_iter().chain(report.lines_summary()).collect();
    if !parts.is_empty() {
        _ = write!(text, "\n{}\n", parts.join(" · "));
    }
    text
}

/// Returns the details of each cause, and of each group of which the table does not say all, folded; and the number of
/// those that do not fit.
fn details(report: &Report, options: &Options, rows: usize, room: usize) -> String {
    let (causes, groups) = (report.causes.iter().enumerate(), (report.causes.len()..).zip(report.groups_by_use().0));
    let unsaid = |(row, group): (usize, _)| if row < rows { table::left_unsaid(report, group) } else { Unsaid::Values };
    let causes: Vec<&Cause> =
        causes.filter(|(row, cause)| *row >= rows || table::leaves_out(cause)).map(|(_, cause)| cause).collect();
    let groups: Vec<(Unsaid, &Group)> = groups.map(|(row, group)| (unsaid((row, group)), group)).collect();
    let groups: Vec<&(Unsaid, &Group)> = groups.iter().filter(|(unsaid, _)| *unsaid != Unsaid::Nothing).collect();
    let total = groups.len() + causes.len();
    let is_open = total <= MAX_OPEN && groups.iter().any(|(unsaid, _)| *unsaid == Unsaid::Values);
    let (mut text, mut shown, mut is_all, mut left) = (String::new(), 0, true, room);
    let mut add = |detail: &str, left: &mut usize| {
        *left -= characters(detail);
        text.push_str(detail);
        shown += 1;
    };
    for cause in causes {
        let detail = details::cause(report, cause);
        if characters(&detail) <= left {
            add(&detail, &mut left);
        }
    }
    for (at, (_, group)) in groups.iter().enumerate() {
        if left < MIN_DETAILS {
            break;
        }
        // A large group leaves half of the room to those behind it.
        let share = if at + 1 < groups.len() { left / 2 } else { left };
        if let Some((detail, is_whole)) = details::group(report, group, share.max(MIN_DETAILS).min(left), is_open) {
            add(&detail, &mut left);
            is_all &= is_whole;
        }
    }
    if shown < total {
        let full = links::full_report(report, options);
        _ = writeln!(
            text,
            "\n**{} of {} shown**; the details of the others do not fit. {full}",
            number(shown),
            count(total, "group")
        );
    } else if !is_all {
        _ = writeln!(text, "\nSome details do not fit. {}", links::full_report(report, options));
    }
    text
}

/// Returns the policies that are hit, each with its message, in at most `budget` characters.
fn policies(report: &Report, options: &Options, budget: usize) -> String {
    let text = |text: &str| html(&shorten(&visible(text), MAX_MESSAGE));
    let line = |hit: &PolicyHit| {
        let mut line = format!("- **{}** {}: {}", hit.label(), name(&hit.name), text(&hit.found));
        let keys = hit.keys.iter().take(MAX_EXAMPLES).map(|key| name(key));
        let places = hit.places.iter().take(MAX_EXAMPLES);
        let places = places.map(|place| links::link(place, &place.to_string(), options));
        let examples: Vec<String> = keys.chain(places).collect();
        if !examples.is_empty() {
            _ = write!(line, " ({})", examples.join(", "));
        }
        for note in std::iter::once(hit.message.to_string()).chain(hit.notes()) {
            _ = write!(line, "<br>{}", text(&note));
        }
        line + "\n"
    };
    list(&report.policies_heading(), report.policies.iter().map(line), budget)
}

fn footer(report: &Report) -> String {
    let id = |commit: &Commit| code(&shorten(&visible(&commit.id), 64));
    let base = report.commit.before.as_ref().map_or_else(|| "nothing".to_owned(), id);
    let mut text = String::from("\n<sub>");
    if let Some(after) = &report.commit.after {
        _ = write!(text, "base {base} · head {}", id(after));
        if let Some(event) = &report.event {
            _ = write!(text, " on {}", code(&shorten(&visible(&branch_label(event)), escape::MAX_NAME)));
        }
        text.push_str(" · ");
    }
    _ = writeln!(text, "hierad {}</sub>", env!("CARGO_PKG_VERSION"));
    text
}

/// Returns the new findings and those that are gone, in at most `budget` characters.
fn findings(report: &Report, budget: usize) -> String {
    let mut text = String::new();
    for is_new in [true, false] {
        let findings: Vec<&FindingChange> = report.findings.iter().filter(|f| f.is_new == is_new).collect();
        let left = budget.saturating_sub(characters(&text));
        text.push_str(&list(&findings_heading(&findings), findings.iter().map(|finding| finding_line(finding)), left));
    }
    text
}

/// Returns the re-encrypted secrets, in at most `budget` characters.
fn reencrypted(report: &Report, budget: usize) -> String {
    let line = |secret: &Reencrypted| {
        let key = name(&secret.name());
        let place = secret.origin.as_ref().map(|origin| origin.place.to_string());
        let place = place.map(|place| format!(", {}", name(&place)));
        format!("- {key} on {}{}\n", secret.share(report), place.unwrap_or_default())
    };
    list(&reencrypted_heading(&report.reencrypted), report.reencrypted.iter().map(line), budget)
}

/// Returns a list below a heading, or nothing if the list is empty. The heading and the number of what is left out are
/// there even if they do not fit `budget` characters.
fn list(heading: &str, lines: impl ExactSizeIterator<Item = String>, budget: usize) -> String {
    if lines.len() == 0 {
        return String::new();
    }
    let text = format!("\n**{heading}**\n\n");
    let room = budget.saturating_sub(characters(&text));
    text + &items(lines, room)
}

/// Returns as many items of a list as fit `budget` characters, and the number of the others.
fn items(lines: impl ExactSizeIterator<Item = String>, budget: usize) -> String {
    let (mut text, count) = (String::new(), lines.len());
    let mut left = budget.saturating_sub(NOTE_BUDGET);
    for (shown, line) in lines.enumerate() {
        if shown == MAX_LISTED || characters(&line) > left {
            _ = writeln!(text, "- {ELLIPSIS} {} more", number(count - shown));
            break;
        }
        left -= characters(&line);
        text.push_str(&line);
    }
    text
}

fn finding_line(finding: &FindingChange) -> String {
    let diagnostic = &finding.diagnostic;
    let place = diagnostic.place.as_ref().map(|place| name(&place.to_string()) + " ");
    let nodes = if finding.nodes == 0 { String::new() } else { format!(", {}", count(finding.nodes, "node")) };
    let text = html(&shorten(&visible(&diagnostic.text), 400));
    format!("- {} {}{text} [{}]{nodes}\n", diagnostic.severity, place.unwrap_or_default(), diagnostic.code)
}
