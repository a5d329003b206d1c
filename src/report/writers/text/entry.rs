//! Writes a report as an entry of a history, in the manner of `git log`.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::page::{Line, Page};
use super::{MIN_WIDTH, NEW, Options, PLAIN, QUIET, write_changes};
use crate::diff::Diff;
use crate::report::words::detail;
use crate::report::words::secrets::secrecy_note;
use crate::report::words::visible::{shorten, visible, wrap};
use crate::report::words::wording::{author_name, count, day, number, share};
use crate::report::{Between, Commit, Count, KeyChange, Leaf, Report};

/// The indent of a commit's message.
const INDENT: usize = 4;

/// The maximum number of new facts that are shown.
const MAX_FACTS: usize = 5;

/// The columns of a message, and of a change, on the line of a commit.
const COLUMNS: usize = 60;

/// Writes the commit, its changes, and the number of other keys that it changes.
pub fn write(report: &Report, options: Options, out: &mut dyn Write) -> io::Result<()> {
    let options = Options { width: options.width.max(MIN_WIDTH), ..options };
    let mut page = Page::new(out, options);
    if let (Between::Facts, Some(Commit { id, .. })) = (&report.between, &report.commit.after) {
        page.line(Line::new(0).add(NEW, format!("facts of nodes, after commit {id}")))?;
        page.line(Line::new(0).add(PLAIN, format!("Date:   {}", report.facts_time.as_deref().unwrap_or_default())))?;
        page.blank()?;
        write_facts(report, &mut page)?;
    } else if let Some(Commit { id, summary, author, time }) = &report.commit.after {
        page.line(Line::new(0).add(NEW, format!("commit {id}")))?;
        page.line(Line::new(0).add(PLAIN, format!("Author: {author}")))?;
        page.line(Line::new(0).add(PLAIN, format!("Date:   {}", time.as_deref().unwrap_or_default())))?;
        page.blank()?;
        for text in wrap(&visible(summary), page.width().saturating_sub(INDENT)) {
            page.line(Line::new(INDENT).add(PLAIN, text))?;
        }
    }
    write_changes(report, options, &mut page)?;
    if report.other_keys > 0 {
        page.blank()?;
        page.line(Line::new(0).add(QUIET, format!("and {}", count(report.other_keys, "other key"))))?;
    }
    Ok(())
}

/// Writes what facts are new.
fn write_facts(report: &Report, page: &mut Page<'_>) -> io::Result<()> {
    let findings = &report.findings;
    let shown = findings.iter().take(MAX_FACTS).map(|finding| visible(&finding.diagnostic.text).into_owned());
    let more = findings.len().saturating_sub(MAX_FACTS);
    let more = (more > 0).then(|| format!("and {} more", number(more)));
    let width = page.width().saturating_sub(INDENT);
    for text in shown.chain(more).flat_map(|text| wrap(&text, width)) {
        page.line(Line::new(INDENT).add(PLAIN, text))?;
    }
    Ok(())
}

/// Writes the commit and its changes on one line.
pub fn write_line(report: &Report, options: Options, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(out, Options { width: usize::MAX, ..options });
    let Some(Commit { id, summary, author, time }) = &report.commit.after else { return Ok(()) };
    let id: String = id.chars().take(8).collect();
    let is_of_facts = report.between == Between::Facts;
    let time = if is_of_facts { &report.facts_time } else { time };
    let day = day(time.as_deref().unwrap_or_default());
    let (author, summary) = match report.findings.first().filter(|_| is_of_facts) {
        Some(finding) => ("facts of nodes", &*finding.diagnostic.text),
        None => (author_name(author), &**summary),
    };
    let room = if options.one_line { usize::MAX } else { COLUMNS };
    let line = Line::new(0).add(NEW, format!("{id} ")).add(QUIET, format!("{day} {author}: "));
    page.line(line.add(PLAIN, shorten(summary, room)).add(QUIET, format!(" ({})", in_short(report))))
}

/// Returns the changes in few words, such as `port: 80 -> 8080 on 2 of 5 nodes`, or the numbers of keys and nodes.
pub fn in_short(report: &Report) -> String {
    let [first, others @ ..] = &report.changes[..] else { return report.headline() };
    if others.iter().any(|change| change.key != first.key) {
        return report.headline();
    }
    if others.is_empty() {
        return change_in_short(report, first);
    }
    let labels: BTreeSet<&str> = report.changes.iter().map(KeyChange::label).collect();
    format!("{} {}{}", first.key, Vec::from_iter(labels).join(", "), on(report, report.nodes.changed))
}

/// Returns each of the changes in few words, at most `most` of them; one line for all if there are more, of several
/// keys.
pub fn each_in_short(report: &Report, most: usize) -> Vec<String> {
    let changes = &report.changes;
    let has_keys = changes.windows(2).any(|pair| pair[0].key != pair[1].key);
    if changes.is_empty() || has_keys && changes.len() > most {
        return vec![in_short(report)];
    }
    let more = changes.len().saturating_sub(most);
    let shown = changes.iter().take(most).map(|change| change_in_short(report, change));
    shown.chain((more > 0).then(|| format!("and {}", count(more, "more change")))).collect()
}

fn change_in_short(report: &Report, change: &KeyChange) -> String {
    let on = on(report, change.nodes.len());
    let Some((path, values)) = values_in_short(change) else { return format!("{} {}{on}", change.key, change.label()) };
    let values = match (values.before, values.after) {
        (Some(before), Some(after)) => format!("{before} -> {after}"),
        (Some(gone), None) => format!("- {gone}"),
        (None, Some(new)) => format!("+ {new}"),
        (None, None) => String::new(),
    };
    format!("{path}: {values}{on}")
}

/// Returns both sides of a change on one line, shortened if they must be, with their path; `None` if the nodes have
/// various values, or if a part of the value is a secret on one side only.
fn values_in_short(change: &KeyChange) -> Option<(String, Diff<Option<String>>)> {
    if let [leaf] = &change.leaves[..]
        && let Some(values) = detail::on_one_line(&leaf.change, COLUMNS)
    {
        return Some((leaf.path(change), values));
    }
    let is_sealed = |leaf: &Leaf| secrecy_note(leaf.change.kind).is_some();
    let can_be_told = change.variants.is_none() && !change.leaves.iter().any(is_sealed);
    can_be_told.then(|| (change.key.to_string(), detail::shortened(change, COLUMNS)))
}

fn on(report: &Report, changed: usize) -> String {
    match report.nodes {
        Count { total: 1, .. } => String::new(),
        nodes => format!(" on {}", share(Count { changed, ..nodes })),
    }
}
