//! Addresses of the lines of a commit, and the command that shows a whole report.

use std::fmt::Write as _;

use super::visible::visible;
use crate::diagnostic::Place;
use crate::report::{Commit, Report};

/// Returns the address of a place below `base`, or `None` if there is no base that is valid in a link, or if the
/// place is not in the repository.
pub(in crate::report) fn address(base: Option<&str>, place: &Place) -> Option<String> {
    // A browser would resolve such a path to an address outside of the base.
    let leaves_base = place.path.starts_with('/') || place.path.split('/').any(|name| matches!(name, "." | ".."));
    let base = base.filter(|base| is_address(base) && !leaves_base)?;
    let line = place.line.map(|line| format!("#L{line}")).unwrap_or_default();
    Some(format!("{}/{}{line}", base.trim_end_matches('/'), escaped(&place.path)))
}

/// Returns the command that shows the whole report, or only its flag if a command about other facts has made it.
pub(in crate::report) fn full_command(report: &Report) -> String {
    if report.is_of_facts() {
        return "--full".to_owned();
    }
    let short =
        |commit: &Option<Commit>| commit.as_ref().map(|commit| visible(&commit.id).chars().take(8).collect::<String>());
    match (short(&report.commit.before), short(&report.commit.after)) {
        (Some(before), Some(after)) => format!("hierad diff --full {before} {after}"),
        _ => "hierad diff --full".to_owned(),
    }
}

/// Returns true if `text` can stand in a link as it is.
pub fn is_address(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#@!$&*+,;=%".contains(c);
    (text.starts_with("https://") || text.starts_with("http://")) && text.chars().all(is_plain)
}

/// Escapes a path for an address.
fn escaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'/' => out.push(char::from(byte)),
            byte => _ = write!(out, "%{byte:02X}"),
        }
    }
    out
}
