//! Writes the report as text for a terminal.
//!
//! The verdict comes first, then the changes, grouped by their nodes: one line for a key if that is enough, otherwise
//! its differences below it. Marks and words carry everything that colours do.

mod blind_spots;
mod causes;
mod change;
pub mod entry;
mod lines;
mod page;
mod policies;

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use self::blind_spots::write_blind_spots;
use self::causes::write_cause;
use self::lines::write_lines;
use self::page::{Line, Page};
use self::policies::write_policies;
use crate::diagnostic::Severity;
use crate::report::words::links::full_command;
use crate::report::words::node_list;
use crate::report::words::secrets::reencrypted_heading;
use crate::report::words::visible::{ELLIPSIS, shorten, shorten_middle, visible, wrap};
use crate::report::words::wording::{author_name, count, findings_heading, number};
use crate::report::{Between, Commit, FindingChange, Group, Reencrypted, Report, Verdict, branch_label};

/// Options of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// True for ANSI colours.
    pub color: bool,
    /// The columns of the terminal.
    pub width: usize,
    /// True to leave nothing out.
    pub full: bool,
    /// True to have the headline on one line, whatever the width.
    pub one_line: bool,
    /// The approximate number of lines, beyond which changes are only counted. `None` for no limit; `full` overrides
    /// it.
    pub lines: Option<usize>,
}

impl Default for Options {
    fn default() -> Options {
        Options { color: false, width: 80, full: false, one_line: false, lines: None }
    }
}

const PLAIN: Style = Style::new();
const HEADING: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const NEW: Style = AnsiColor::Yellow.on_default();
const MOVED: Style = AnsiColor::Cyan.on_default();
const ALARM: Style = AnsiColor::Red.on_default().bold();

/// The minimum width of the text.
const MIN_WIDTH: usize = 40;
/// Limits unless everything is shown: lines of one difference, differences of one key, findings, and re-encrypted
/// secrets.
const MAX_LINES: usize = 24;
const MAX_LEAVES: usize = 40;
const MAX_FINDINGS: usize = 40;
const MAX_REENCRYPTED: usize = 10;

/// Writes the report.
pub fn write(report: &Report, options: Options, out: &mut dyn Write) -> io::Result<()> {
    let options = Options { width: options.width.max(MIN_WIDTH), ..options };
    let mut page = Page::new(out, options);
    head(report, options, &mut page)?;
    write_policies(report, &mut page)?;
    let is_calm = report.verdict() != Verdict::Changes;
    if is_calm {
        write_blind_spots(report, &mut page)?;
    }
    write_changes(report, options, &mut page)?;
    write_reencrypted(report, &mut page)?;
    write_lines(report, &mut page)?;
    for is_new in [true, false] {
        write_findings(report, is_new, &mut page)?;
    }
    if !is_calm {
        write_blind_spots(report, &mut page)?;
    }
    if page.is_shortened() && !options.full {
        page.blank()?;
        page.line(Line::new(0).add(QUIET, format!("{ELLIPSIS} stands where something was left out")))?;
    }
    Ok(())
}

/// Writes as many causes and groups as there is room for, and the number of the others.
fn write_changes(report: &Report, options: Options, page: &mut Page<'_>) -> io::Result<()> {
    let limit = options.lines.filter(|_| !options.full).unwrap_or(usize::MAX);
    let style = change::ChangeStyle::new(report, options);
    let mut left = report.groups.iter().map(|group| group.items.len()).sum::<usize>() + report.causes.len();
    for cause in &report.causes {
        if page.written() < limit {
            write_cause(report, cause, page)?;
            left -= 1;
        }
    }
    let (groups, apart) = report.groups_by_use();
    for group in groups {
        if page.written() < limit {
            left -= write_group(report, group, &style, limit, page)?;
        }
    }
    if let Some(heading) = report.apart_heading().filter(|_| page.written() < limit) {
        page.blank()?;
        page.line(Line::new(0).add(HEADING, heading))?;
    }
    for group in apart {
        if page.written() < limit {
            left -= write_group(report, group, &style, limit, page)?;
        }
    }
    if left > 0 {
        page.blank()?;
        let more = format!("{ELLIPSIS} {}: `{}` shows all", count(left, "more change"), full_command(report));
        page.line(Line::new(0).add(HEADING, more))?;
    }
    Ok(())
}

fn head(report: &Report, options: Options, page: &mut Page<'_>) -> io::Result<()> {
    let room = if options.one_line { usize::MAX } else { page.room() };
    for (at, text) in wrap(&report.headline(), room).into_iter().enumerate() {
        page.unbroken(Line::new(if at == 0 { 0 } else { 2 }).add(HEADING, text))?;
    }
    if let Between::Nodes(compared) = &report.between {
        for (side, node) in [("from", &compared.before), ("to", &compared.after)] {
            page.line(Line::new(0).add(QUIET, format!("{side:<7}")).add(PLAIN, format!("node {node}")))?;
        }
    }
    if let Some(after) = &report.commit.after {
        let before = report.commit.before.as_ref();
        let branch =
            report.event.as_ref().map(|event| format!(" on {}", visible(&branch_label(event)))).unwrap_or_default();
        let side = if report.is_of_facts() { "at" } else { "after" };
        if !report.is_of_facts() {
            page.line(commit("before", before, "", page.width()))?;
        }
        page.line(commit(side, Some(after), &branch, page.width()))?;
    }
    if let Some(time) = report.nodes_fetched() {
        page.line(Line::new(0).add(QUIET, format!("nodes  fetched {time}")))?;
    }
    Ok(())
}

/// Returns a line such as `after   2b6df551 Use the new pool (Ann Author) on production`.
fn commit(side: &str, commit: Option<&Commit>, branch: &str, width: usize) -> Line {
    let line = Line::new(0).add(QUIET, format!("{side:<7}"));
    let Some(commit) = commit else { return line.add(PLAIN, "nothing: this is the first commit") };
    let author = match visible(author_name(&commit.author)) {
        name if name.is_empty() => String::new(),
        name => format!(" ({})", shorten(&name, 30)),
    };
    let id: String = visible(&commit.id).chars().take(8).collect();
    let line = line.add(NEW, format!("{id} "));
    let room = width.saturating_sub(line.width() + page::width(&author) + page::width(branch)).max(10);
    line.add(PLAIN, shorten(&visible(&commit.summary), room)).add(QUIET, author + branch)
}

/// Writes the items of a group until the page has `limit` lines. Returns the number of items written.
fn write_group(
    report: &Report,
    group: &Group,
    style: &change::ChangeStyle<'_>,
    limit: usize,
    page: &mut Page<'_>,
) -> io::Result<usize> {
    page.blank()?;
    page.line(Line::new(0).add(HEADING, node_list::heading(report, group, page.room())))?;
    let (mut lines, mut items) = (Vec::new(), 0);
    for item in &group.items {
        if items > 0 && page.written() + lines.len() >= limit {
            break;
        }
        lines.extend(style.lines(item));
        items += 1;
    }
    for note in report.use_notes(&group.items) {
        let columns = page.width().saturating_sub(2);
        lines.extend(wrap(&note, columns).into_iter().map(|text| Line::new(2).add(QUIET, text)));
    }
    page.lines(lines)?;
    Ok(items)
}

fn write_reencrypted(report: &Report, page: &mut Page<'_>) -> io::Result<()> {
    if report.reencrypted.is_empty() {
        return Ok(());
    }
    page.blank()?;
    page.line(Line::new(0).add(HEADING, reencrypted_heading(&report.reencrypted)))?;
    let shown = if page.is_full() { usize::MAX } else { MAX_REENCRYPTED };
    let line = |secret: &Reencrypted| {
        let name = shorten_middle(&visible(&secret.name()), page.room() / 2);
        let origin = secret.origin.as_ref().map(|origin| visible(&origin.place.to_string()).into_owned());
        Line::new(2).add(PLAIN, name).add(QUIET, format!(" on {}", secret.share(report))).with_origin(origin)
    };
    let lines = report.reencrypted.iter().take(shown).map(line).collect();
    page.lines(lines)?;
    write_more(report.reencrypted.len().saturating_sub(shown), page)
}

fn write_more(more: usize, page: &mut Page<'_>) -> io::Result<()> {
    match more {
        0 => Ok(()),
        more => page.line(Line::new(2).add(QUIET, format!("{ELLIPSIS} {} more", number(more)))),
    }
}

fn write_findings(report: &Report, is_new: bool, page: &mut Page<'_>) -> io::Result<()> {
    let findings: Vec<&FindingChange> = report.findings.iter().filter(|f| f.is_new == is_new).collect();
    if findings.is_empty() {
        return Ok(());
    }
    page.blank()?;
    page.line(Line::new(0).add(HEADING, findings_heading(&findings)))?;
    let shown = if page.is_full() { findings.len() } else { MAX_FINDINGS };
    for finding in findings.iter().take(shown) {
        write_finding(finding, page)?;
    }
    write_more(findings.len() - shown.min(findings.len()), page)
}

fn write_finding(finding: &FindingChange, page: &mut Page<'_>) -> io::Result<()> {
    let diagnostic = &finding.diagnostic;
    let style = match diagnostic.severity {
        _ if !finding.is_new => QUIET,
        Severity::Error => ALARM,
        Severity::Warning => NEW,
        Severity::Note => QUIET,
    };
    let place = diagnostic.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    let nodes = if finding.nodes == 0 { String::new() } else { format!(", {}", count(finding.nodes, "node")) };
    let text = format!("{place}{} [{}]{nodes}", diagnostic.text, diagnostic.code);
    let lead = format!("{:<9}", diagnostic.severity.to_string());
    let room = page.width() - 2 - lead.len();
    for (i, text) in wrap(&visible(&text), room).into_iter().enumerate() {
        let lead = if i == 0 { lead.clone() } else { " ".repeat(lead.len()) };
        page.line(Line::new(2).add(style, lead).add(PLAIN, text))?;
    }
    Ok(())
}
