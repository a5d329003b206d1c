//! Writes the report as a Markdown comment for code review.
//!
//! It has the verdict, a table by key, folded details and the compared commits. Forges limit the length of a comment,
//! so there is a budget in characters: parts that do not fit are left out whole, and a note says so. No data can end a
//! fence, a table cell or a tag, or mention anyone.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::detail::{self, DetailLine, Mark, Room};
use super::secrets::reencrypted_heading;
use super::visible::{ELLIPSIS, shorten, shorten_middle, visible};
use super::wording::{count, findings_heading, number, share};
use super::{
    BlindSpot, Cause, Commit, Count, FindingChange, Group, Item, KeyChange, Leaf, Reencrypted, Report, branch_label,
    node_list,
};

/// Options of the comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The most characters.
    pub budget: usize,
}

impl Default for Options {
    /// Returns a budget below GitHub's limit of 65,536, with room for text that a bot adds.
    fn default() -> Options {
        Options { budget: 60_000 }
    }
}

/// The room for one difference, and for the name of a key or of nodes.
const ROOM: Room = Room { columns: 160, lines: 40 };
const MAX_NAME: usize = 120;
/// The room for the verdict, and for one blind spot or the error of a cause.
const MAX_HEADLINE: usize = 400;
const MAX_MESSAGE: usize = 1000;
/// The most keys for one cause.
const MAX_CAUSE_KEYS: usize = 40;
const ROW_NODES: usize = 60;
const DETAIL_NODES: usize = 1000;
/// The most differences for one key.
const MAX_LEAVES: usize = 100;
/// The most rows of the table.
const MAX_ROWS: usize = 200;
/// The most findings of one side, or re-encrypted secrets.
const MAX_LISTED: usize = 30;
/// Up to this many changes are shown unfolded.
const MAX_OPEN: usize = 3;
/// The budget for notes about omitted parts.
const NOTES_BUDGET: usize = 200;

/// Writes the comment.
pub fn write(report: &Report, options: Options, out: &mut dyn Write) -> io::Result<()> {
    let mut comment = Comment { text: head(report), budget: options.budget };
    let footer = footer(report);
    if characters(&comment.text) + characters(&footer) + NOTES_BUDGET > options.budget {
        return out.write_all(shorten_to(&report.headline(), options.budget).as_bytes());
    }
    comment.budget -= characters(&footer) + NOTES_BUDGET;
    let spots = blind_spots(report, comment.left() / 4);
    comment.text.push_str(&spots);
    let rest = reencrypted(report, comment.left() / 8);
    let rest = rest + &findings(report, comment.left() / 4);
    comment.budget -= characters(&rest);
    table(report, &mut comment);
    details(report, &mut comment);
    comment.text.push_str(&rest);
    comment.text.push_str(&footer);
    out.write_all(comment.text.as_bytes())
}

/// The comment under construction.
struct Comment {
    text: String,
    budget: usize,
}

impl Comment {
    fn left(&self) -> usize {
        self.budget.saturating_sub(characters(&self.text))
    }
}

fn characters(text: &str) -> usize {
    text.chars().count()
}

/// Shortens `text` to at most `most` characters.
fn shorten_to(text: &str, most: usize) -> String {
    if characters(text) <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain((most > 0).then_some(ELLIPSIS)).collect()
}

fn head(report: &Report) -> String {
    format!("**{}**\n", html(&shorten(&report.headline(), MAX_HEADLINE)))
}

/// Returns the blind spots, each with its remedy, in at most `budget` characters.
fn blind_spots(report: &Report, budget: usize) -> String {
    let line = |spot: &BlindSpot| {
        let message = html(&shorten(&visible(&spot.message), MAX_MESSAGE));
        let fix = spot.fix.as_ref().map(|fix| {
            let lines: Vec<String> = fix.lines().map(|line| format!("  {}\n", visible(line))).collect();
            let fence = fence(fix);
            format!("  {fence}\n{}  {fence}\n", lines.concat())
        });
        format!("- {message}\n{}", fix.unwrap_or_default())
    };
    list(&count(report.blind_spots.len(), "blind spot"), report.blind_spots.iter().map(line), budget)
}

fn footer(report: &Report) -> String {
    let id = |commit: &Commit| code(&shorten(&visible(&commit.id), 64));
    let base = report.commit.before.as_ref().map_or_else(|| "nothing".to_owned(), id);
    let mut text = String::from("\n<sub>");
    if let Some(after) = &report.commit.after {
        _ = write!(text, "base {base} · head {}", id(after));
        if let Some(event) = &report.event {
            _ = write!(text, " on {}", code(&shorten(&visible(&branch_label(event)), MAX_NAME)));
        }
        text.push_str(" · ");
    }
    _ = writeln!(text, "hierad {}</sub>", env!("CARGO_PKG_VERSION"));
    text
}

/// Adds the table, with a row for each change, in at most a third of the comment.
fn table(report: &Report, comment: &mut Comment) {
    let items: Vec<(&Item, &Group)> = items(report).collect();
    if items.is_empty() && report.causes.is_empty() {
        return;
    }
    let mut left = comment.left() / 3;
    comment.text.push_str("\n| | key | nodes |\n|---|---|---|\n");
    let rows = report.causes.iter().map(|cause| cause_row(report, cause));
    let rows = rows.chain(items.iter().map(|(item, group)| row(report, item, group)));
    for (shown, row) in rows.enumerate() {
        let length = characters(&row);
        if shown == MAX_ROWS || length > left {
            let more = count(report.causes.len() + items.len() - shown, "more change");
            _ = writeln!(comment.text, "| {ELLIPSIS} | {more} | |");
            return;
        }
        left -= length;
        comment.text.push_str(&row);
    }
}

/// Returns a row such as `| changed | ntp::servers | all 143 nodes |`.
fn row(report: &Report, item: &Item, group: &Group) -> String {
    let change = report.first(item);
    let key = code(&shorten_middle(&visible(&change.key), MAX_NAME));
    let names = names(report, group, ROW_NODES).map(|names| format!(": {names}")).unwrap_or_default();
    format!("| {} | {key} | {}{names} |\n", change.label(), share_of(report, group))
}

fn cause_row(report: &Report, cause: &Cause) -> String {
    let nodes = share(Count { total: report.nodes.total, changed: cause.nodes.len() });
    let word = if cause.is_new { "fail" } else { "recover" };
    format!("| {word} | {}: {} | {nodes} |\n", count(cause.keys.len(), "key"), cause_keys(cause, 3))
}

fn items(report: &Report) -> impl Iterator<Item = (&Item, &Group)> {
    report.groups.iter().flat_map(|group| group.items.iter().map(move |item| (item, group)))
}

/// Returns a share such as `3 of 143 nodes`.
fn share_of(report: &Report, group: &Group) -> String {
    share(Count { total: report.nodes.total, changed: group.nodes.len() })
}

/// Returns the names of a group's nodes, such as `db[01-03]`, or `None` if their number says it all.
fn names(report: &Report, group: &Group, columns: usize) -> Option<String> {
    node_list::which(report, group, columns).map(|(but, names)| format!("{but}{}", code(&names)))
}

/// Adds the details of each change, folded, and the number of those that do not fit.
fn details(report: &Report, comment: &mut Comment) {
    let total = report.groups.iter().map(|group| group.items.len()).sum::<usize>() + report.causes.len();
    let mut shown = 0;
    for cause in &report.causes {
        let text = cause_detail(report, cause, total <= MAX_OPEN);
        if characters(&text) <= comment.left() {
            comment.text.push_str(&text);
            shown += 1;
        }
    }
    for (item, group) in items(report) {
        let text = detail(report, item, group, total <= MAX_OPEN);
        if characters(&text) <= comment.left() {
            comment.text.push_str(&text);
            shown += 1;
        }
    }
    if shown < total {
        let (shown, total) = (number(shown), count(total, "change"));
        _ = writeln!(comment.text, "\n**{shown} of {total} shown**; the details of the others do not fit.");
    }
}

/// Returns the error that several keys share, folded.
fn cause_detail(report: &Report, cause: &Cause, open: bool) -> String {
    let open = if open { " open" } else { "" };
    let mark = if cause.is_new { '!' } else { '+' };
    let error = visible(&shorten(&cause.message(), MAX_MESSAGE)).into_owned();
    let fence = fence(&error);
    format!(
        "\n<details{open}><summary>{}</summary>\n\n{fence}diff\n{mark} {error}\n{fence}\n\n{}\n\n</details>\n",
        html(&cause.heading(report)),
        cause_keys(cause, MAX_CAUSE_KEYS)
    )
}

/// Returns some of the keys of a cause, and the number of the others.
fn cause_keys(cause: &Cause, most: usize) -> String {
    let keys = cause.keys.iter().take(most).map(|key| code(&shorten_middle(&visible(key), MAX_NAME)));
    let keys: Vec<String> = keys.collect();
    match cause.keys.len() - keys.len() {
        0 => keys.join(", "),
        more => format!("{} and {} more", keys.join(", "), number(more)),
    }
}

fn detail(report: &Report, item: &Item, group: &Group, open: bool) -> String {
    let change = report.first(item);
    let open = if open { " open" } else { "" };
    let key = html(&shorten_middle(&visible(&change.key), MAX_NAME));
    let share = share_of(report, group);
    let body = body(report, item);
    let fence = fence(&body);
    let names = names(report, group, DETAIL_NODES).map(|names| names + "\n\n").unwrap_or_default();
    let note = item.note().map(|note| format!("({note})\n\n")).unwrap_or_default();
    format!(
        "\n<details{open}><summary>{} <code>{key}</code> on {share}</summary>\n\n\
         {names}{fence}diff\n{body}{fence}\n\n{note}</details>\n",
        change.label()
    )
}

fn body(report: &Report, item: &Item) -> String {
    let change = report.first(item);
    let mut text = String::new();
    if change.leaves.is_empty() {
        let various = detail::varying_sides(report, item);
        push_lines(detail::outcomes(change, various, ROOM.columns, ROOM), &mut text);
    }
    for leaf in change.leaves.iter().take(MAX_LEAVES) {
        text.push_str(&leaf_head(change, leaf).unwrap_or_default());
        push_lines(detail::lines(&leaf.change, ROOM), &mut text);
    }
    if let Some(more @ 1..) = change.leaves.len().checked_sub(MAX_LEAVES) {
        _ = writeln!(text, "{ELLIPSIS} {}", count(more, "more difference"));
    }
    text
}

/// Returns a line such as `@@ ntp::servers[1] @@ data/common.yaml:12`, or `None` if the key says it all.
fn leaf_head(change: &KeyChange, leaf: &Leaf) -> Option<String> {
    let mut rest = String::new();
    if let Some(note) = detail::note(&leaf.change) {
        _ = write!(rest, " {note}");
    }
    if let Some(origin) = leaf.places() {
        _ = write!(rest, " {}", shorten_middle(&origin, ROOM.columns));
    }
    let is_whole = leaf.change.path().is_none_or(|path| path.0.is_empty());
    let path = shorten_middle(&visible(&leaf.path(change)), ROOM.columns);
    (!is_whole || !rest.is_empty()).then(|| format!("@@ {path} @@{rest}\n"))
}

fn push_lines(lines: Vec<DetailLine>, text: &mut String) {
    for line in lines {
        let mark = match line.mark {
            Mark::Both | Mark::Omitted => ' ',
            Mark::Removed => '-',
            Mark::Added => '+',
            Mark::Failed => '!',
        };
        _ = writeln!(text, "{mark} {}", line.text);
    }
}

/// Returns a fence of more backticks than the body has in a row.
fn fence(body: &str) -> String {
    let longest = body.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
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
        let name = code(&shorten_middle(&visible(&secret.name()), MAX_NAME));
        let place = secret.origin.as_ref().map(|origin| origin.place.to_string());
        let place = place.map(|place| format!(", {}", code(&shorten_middle(&visible(&place), MAX_NAME))));
        format!("- {name} on {}{}\n", secret.share(report), place.unwrap_or_default())
    };
    list(&reencrypted_heading(&report.reencrypted), report.reencrypted.iter().map(line), budget)
}

/// Returns a list below a heading, in at most `budget` characters, or nothing if the list is empty.
fn list(heading: &str, lines: impl ExactSizeIterator<Item = String>, budget: usize) -> String {
    let mut text = format!("\n**{heading}**\n\n");
    let count = lines.len();
    let mut left = budget.saturating_sub(characters(&text) + NOTES_BUDGET / 2);
    if count == 0 || left == 0 {
        return String::new();
    }
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
    let place =
        diagnostic.place.as_ref().map(|place| code(&shorten_middle(&visible(&place.to_string()), MAX_NAME)) + " ");
    let nodes = if finding.nodes == 0 { String::new() } else { format!(", {}", count(finding.nodes, "node")) };
    let text = html(&shorten(&visible(&diagnostic.text), 400));
    format!("- {} {}{text} [{}]{nodes}\n", diagnostic.severity, place.unwrap_or_default(), diagnostic.code)
}

/// Formats text as code, in Markdown or in HTML.
fn code(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '/' | '-');
    if !text.is_empty() && text.chars().all(plain) {
        return format!("`{text}`");
    }
    format!("<code>{}</code>", html(text))
}

/// Escapes text so that neither HTML nor Markdown gives it a meaning.
fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_word = false;
    for c in text.chars() {
        let is_own = c == '_' && in_word || matches!(c, ',' | '.' | ':' | '/' | '-');
        if c.is_ascii_punctuation() && !is_own {
            _ = write!(out, "&#{};", u32::from(c));
        } else {
            out.push(c);
        }
        in_word = c.is_alphanumeric();
    }
    out
}
