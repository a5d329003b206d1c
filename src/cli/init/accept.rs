//! Offers to accept the blind spots that every commit has, so that reports name only new ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write;

use super::write::File;
use super::{ask, print_row};
use crate::cli::Result;
use crate::disk::replace;
use crate::puppet::json;
use crate::report::{Acceptable, BlindSpot, count};

/// The names to accept, by code.
type Names<'s> = BTreeMap<&'static str, BTreeSet<&'s str>>;

/// Asks whether to accept the blind spots whose remedy this is, and adds to the settings of the work tree what is
/// wanted. Without a terminal nothing is accepted: somebody has to know that it is fine.
pub(super) fn offer(spots: &[BlindSpot], settings: &File, out: &mut dyn Write) -> Result<()> {
    let names = acceptable_names(spots);
    if names.is_empty() || !ask::is_possible() {
        return Ok(());
    }
    let number = names.values().map(BTreeSet::len).sum();
    for (code, names) in &names {
        let names: Vec<&str> = names.iter().copied().collect();
        print_row(out, "accept?", &format!("{code}: {}", names.join(", ")))?;
    }
    let question = format!("Accept these blind spots ({}), so that reports omit them?", count(number, "name"));
    if !ask::confirm(&question, out)? {
        return Ok(());
    }
    let (path, text, mode) = settings;
    replace(path, (text.clone() + &accept_section(&names)).as_bytes(), *mode)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(print_row(out, "written", &format!("{}: 'accept' counts from the commit after this one on", path.display()))?)
}

fn acceptable_names(spots: &[BlindSpot]) -> Names<'_> {
    let mut all = Names::new();
    let standing = spots.iter().filter(|spot| spot.is_standing);
    for Acceptable { code, names } in standing.filter_map(|spot| spot.fix.as_ref()?.accepts.as_ref()) {
        all.entry(code).or_default().extend(names.iter().map(String::as_str));
    }
    all
}

/// Returns the lines of the settings that accept these names.
fn accept_section(names: &Names<'_>) -> String {
    let mut text = "\n# Blind spots that every commit has and that are harmless here.\naccept:\n".to_owned();
    for (code, names) in names {
        _ = writeln!(text, "  {code}:");
        for name in names {
            _ = writeln!(text, "    - {}", json::string(name));
        }
    }
    text
}
