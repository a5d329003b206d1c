//! The faults as text: two lines for each, the fault and its fix.

use std::collections::BTreeMap;
use std::io::Write;

use super::Found;
use crate::checks::Fault;
use crate::cli::output::{BAD, HEADING, NEW, QUIET, painted};
use crate::diagnostic::Severity;
use crate::fleet::Fleet;
use crate::visible::visible;

/// The maximum number of faults that are shown one by one: a screenful.
pub(super) const MAX_SHOWN: usize = 17;

/// The number of lines that a fault takes.
pub(super) const LINES_PER_FAULT: usize = 2;

/// Writes about `most` faults, and counts the others.
pub(super) fn write(
    found: &Found,
    fleet: &Fleet,
    (most, color): (usize, bool),
    out: &mut dyn Write,
) -> std::io::Result<()> {
    // The last fault takes no more room than a line that mentions it.
    let shown = if found.faults.len() <= most.saturating_add(1) { found.faults.len() } else { most };
    let (shown_faults, rest) = found.faults.split_at(shown);
    for fault in shown_faults {
        writeln!(out, "{}", line(fault, fleet, color))?;
        writeln!(out, "    {} {}", painted(color, QUIET, "->"), visible(&fault.fix))?;
    }
    if !rest.is_empty() {
        writeln!(out, "and {} more; --full shows all: {}", rest.len(), by_code(rest))?;
    }
    let count = |severity, one: &str| match found.count(severity) {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let (errors, warnings) = (count(Severity::Error, "error"), count(Severity::Warning, "warning"));
    let notes =
        if found.count(Severity::Note) > 0 { format!(", {}", count(Severity::Note, "note")) } else { String::new() };
    let node_count = if fleet.len() == 1 { "1 node".to_owned() } else { format!("{} nodes", fleet.len()) };
    let hidden = if found.hidden > 0 { format!("; {} hidden", found.hidden) } else { String::new() };
    writeln!(out, "{errors}, {warnings}{notes} on {node_count}{hidden}")
}

/// Returns the line of a fault, such as
/// `data/common.yaml:25: error: the file cannot be read: ... [data-syntax] (149 keys on all 143 nodes)`.
fn line(fault: &Fault, fleet: &Fleet, color: bool) -> String {
    let place = fault.places.first().map(|place| painted(color, HEADING, &format!("{place}: "))).unwrap_or_default();
    let severity = match fault.severity {
        Severity::Error => BAD,
        Severity::Warning => NEW,
        Severity::Note => QUIET,
    };
    let severity = painted(color, severity, &fault.severity.to_string());
    let others = match fault.places.len() {
        0 | 1 => String::new(),
        2 => " and at 1 more place".to_owned(),
        places => format!(" and at {} more places", places - 1),
    };
    let concerned = fault.concerned(fleet);
    let concerned = if concerned.is_empty() { String::new() } else { format!(" ({})", concerned.join(" ")) };
    let text = format!(": {} [{}]{concerned}{others}", fault.text, fault.code);
    format!("{place}{severity}{}", visible(&text))
}

/// Counts the faults of each kind, the most frequent first.
fn by_code(faults: &[Fault]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for fault in faults {
        *counts.entry(fault.code).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.iter().map(|(code, count)| format!("{count} {code}")).collect::<Vec<_>>().join(", ")
}
