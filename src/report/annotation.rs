//! The messages of a report that belong to lines of files: new errors and findings at their places, and changes at the
//! lines that they come from. Check runs, workflow commands and the like are written from these.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::visible::visible;
use super::wording::{count, share};
use super::{Count, Leaf, Report};
use crate::diagnostic::{Place, Severity};
use crate::hiera::{LookupError, Outcome};

/// The most messages of one line that are told by themselves.
const MAX_MESSAGES: usize = 10;

/// A message at a line of the repository, as the later revision has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The file, from the root of the repository.
    pub path: String,
    /// The line, counted from 1; `None` for the file as a whole.
    pub line: Option<u32>,
    /// An error for what fails now, a note for what changes.
    pub level: Severity,
    /// A few words, on one line.
    pub title: String,
    /// The message; it may have several lines.
    pub message: String,
}

impl Report {
    /// Returns the annotations: errors before warnings and notes, then by place.
    pub fn annotations(&self) -> Vec<Annotation> {
        let mut found = BTreeMap::<(std::cmp::Reverse<Severity>, Place), Vec<Told>>::new();
        let mut add = |severity, place: &Place, told| {
            // Places outside of the repository are absolute.
            if !place.path.starts_with('/') {
                found.entry((std::cmp::Reverse(severity), place.clone())).or_default().push(told);
            }
        };
        for cause in self.causes.iter().filter(|cause| cause.is_new) {
            let what = format!("{} fail{}", count(cause.keys.len(), "key"), self.on(cause.nodes.len()));
            let told = Told::error(what, &cause.error);
            cause.places.iter().for_each(|place| add(Severity::Error, place, told.clone()));
        }
        let is_folded: std::collections::HashSet<usize> =
            self.causes.iter().flat_map(|cause| cause.changes.iter().copied()).collect();
        for (_, change) in self.changes.iter().enumerate().filter(|(at, _)| !is_folded.contains(at)) {
            if let (Some(Outcome::Failed(error)), true) = (change.outcome.after.as_deref(), change.kind.is_error()) {
                let what = format!("{} fails{}", visible(&change.key), self.on(change.nodes.len()));
                let told = Told::error(what, error);
                error.place.iter().for_each(|place| add(Severity::Error, place, told.clone()));
            }
            for leaf in &change.leaves {
                let told = || Told::change(&change.key, leaf, change.label(), &self.on(change.nodes.len()));
                leaf.origins().after.iter().for_each(|origin| add(Severity::Note, &origin.place, told()));
            }
        }
        for finding in self.findings.iter().filter(|finding| finding.is_new) {
            let diagnostic = &finding.diagnostic;
            let text = visible(&diagnostic.text).into_owned();
            let told = Told { what: diagnostic.code.to_owned(), text };
            diagnostic.place.iter().for_each(|place| add(diagnostic.severity, place, told.clone()));
        }
        found.into_iter().map(|((level, place), told)| annotation(level.0, &place, &told)).collect()
    }

    /// Returns ` on 12 of 143 nodes`.
    fn on(&self, nodes: usize) -> String {
        format!(" on {}", share(Count { total: self.nodes.total, changed: nodes }))
    }
}

/// One of the messages at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    what: String,
    text: String,
}

impl Told {
    fn error(what: String, error: &LookupError) -> Told {
        let text = format!("{what}: {}", visible(error.text.visible()));
        Told { what, text }
    }

    fn change(key: &str, leaf: &Leaf, label: &str, on: &str) -> Told {
        let name = leaf.change.path().map_or_else(|| key.to_owned(), |path| path.below(key));
        let text = format!("{} {label}{on}", visible(&name));
        Told { what: text.clone(), text }
    }
}

fn annotation(level: Severity, place: &Place, told: &[Told]) -> Annotation {
    let mut lines: Vec<&str> = told.iter().map(|told| &*told.text).collect();
    lines.dedup();
    let (more, first) = (lines.len().saturating_sub(MAX_MESSAGES), told.first());
    let title = match (lines.len(), first, level) {
        (0 | 1, Some(only), _) => only.what.clone(),
        (n, _, Severity::Note) => count(n, "change"),
        (n, ..) => count(n, "message"),
    };
    let mut message = lines.iter().take(MAX_MESSAGES).copied().collect::<Vec<_>>().join("\n");
    if more > 0 {
        _ = write!(message, "\nand {more} more");
    }
    Annotation { path: visible(&place.path).into_owned(), line: place.line, level, title, message }
}
