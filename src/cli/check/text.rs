//! The faults as text: two lines for each, the fault and its fix.

use std::collections::BTreeMap;
use std::io::Write;

use super::Found;
use crate::checks::Fault;
use crate::diagnostic::Severity;
use crate::fleet::Fleet;
use crate::visible::visible;

/// The most faults that are shown one by one: a screen.
const SHOWN: usize = 17;

pub(super) fn write(found: &Found, fleet: &Fleet, is_full: bool, out: &mut dyn Write) -> std::io::Result<()> {
    // The last fault takes no more room than a line that mentions it.
    let shown = if is_full || found.faults.len() <= SHOWN + 1 { found.faults.len() } else { SHOWN };
    let (told, rest) = found.faults.split_at(shown);
    for fault in told {
        writeln!(out, "{}", visible(&line(fault, fleet)))?;
        writeln!(out, "    -> {}", visible(&fault.fix))?;
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
    let of = if fleet.len() == 1 { "1 node".to_owned() } else { format!("{} nodes", fleet.len()) };
    let hidden = if found.hidden > 0 { format!("; {} hidden", found.hidden) } else { String::new() };
    writeln!(out, "{errors}, {warnings}{notes} on {of}{hidden}")
}

/// `data/common.yaml:25: error: the file cannot be read: ... [data-syntax] (149 keys on all 143 nodes)`
fn line(fault: &Fault, fleet: &Fleet) -> String {
    let place = fault.places.first().map(|place| format!("{place}: ")).unwrap_or_default();
    let others = match fault.places.len() {
        0 | 1 => String::new(),
        2 => " and at 1 more place".to_owned(),
        places => format!(" and at {} more places", places - 1),
    };
    let concerned: Vec<String> = keys(fault).into_iter().chain(nodes(fault, fleet)).collect();
    let concerned = if concerned.is_empty() { String::new() } else { format!(" ({})", concerned.join(" ")) };
    format!("{place}{}: {} [{}]{concerned}{others}", fault.severity, fault.text, fault.code)
}

fn keys(fault: &Fault) -> Option<String> {
    match (fault.keys.len(), fault.keys.first()?) {
        (1, key) => Some(format!("'{key}' fails")),
        (count, key) => Some(format!("{count} keys fail, such as '{key}',")),
    }
}

fn nodes(fault: &Fault, fleet: &Fleet) -> Option<String> {
    let first = fleet.names(&fault.nodes).next()?;
    Some(match fault.nodes.len() {
        count if count == fleet.len() && count > 1 => format!("on all {count} nodes"),
        1 => format!("on {first}"),
        count => format!("on {count} of {} nodes, such as {first}", fleet.len()),
    })
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
