//! The messages of a report that belong to lines of files: policies that are hit, new errors and findings at their
//! places, changes at the lines that they come from, and changed lines without effect. Check runs, SARIF and workflow
//! commands show them.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use crate::diagnostic::{Place, Severity};
use crate::diff::{ChangeKind, Diff};
use crate::hiera::{LookupError, Outcome};
use crate::report::words::detail::on_one_line;
use crate::report::words::visible::{shorten, shorten_middle, visible};
use crate::report::words::wording::count;
use crate::report::{ChangedLines, KeyChange, Leaf, PolicyHit, Report, Side};

/// The maximum number of messages listed at one place.
const MAX_MESSAGES: usize = 10;

/// The room for the name of a difference, and for both of its values.
const NAME_COLUMNS: usize = 100;
const VALUE_COLUMNS: usize = 120;

/// The room for the text of an error.
const ERROR_COLUMNS: usize = 2000;

/// A message at a line of a file in the later revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The kind of message: `policy`, `failing-key`, `changed-value`, `no-effect`, `unknown-effect`, or the code of a
    /// finding.
    pub code: &'static str,
    /// The file, from the root of the repository.
    pub path: String,
    /// The first and the last line, counted from 1; `None` for the file as a whole.
    pub lines: Option<(u32, u32)>,
    /// An error for what fails now, a note for what changes.
    pub level: Severity,
    /// A few words, on one line.
    pub title: String,
    /// The message; it may have several lines.
    pub message: String,
}

/// The kinds of message that are not findings.
pub(super) const POLICY: &str = "policy";
pub(super) const FAILING_KEY: &str = "failing-key";
pub(super) const CHANGED_VALUE: &str = "changed-value";
pub(super) const NO_EFFECT: &str = "no-effect";
pub(super) const UNKNOWN_EFFECT: &str = "unknown-effect";

impl Report {
    /// Returns the annotations: errors before warnings and notes, then by place.
    pub fn annotations(&self) -> Vec<Annotation> {
        let mut messages = MessagesByPlace::default();
        self.annotate_policies(&mut messages);
        self.annotate_causes(&mut messages);
        self.annotate_changes(&mut messages);
        self.annotate_findings(&mut messages);
        for lines in self.lines.iter().filter(|lines| lines.side == Side::After && lines.is_telling()) {
            messages.add_lines(lines);
        }
        messages.0.into_iter().map(|(key, messages)| key.annotation(&messages)).collect()
    }

    fn annotate_policies(&self, messages: &mut MessagesByPlace) {
        for (hit, level) in self.policies.iter().filter_map(|hit| Some((hit, hit.counts_as()?))) {
            let message = PlaceMessage::policy(hit);
            hit.places.iter().for_each(|place| messages.add(POLICY, level.severity(), place, message.clone()));
        }
    }

    fn annotate_causes(&self, messages: &mut MessagesByPlace) {
        for cause in self.causes.iter().filter(|cause| cause.is_new) {
            let message = PlaceMessage::error(cause.heading(self), &cause.error);
            cause.places.iter().for_each(|place| messages.add(FAILING_KEY, Severity::Error, place, message.clone()));
        }
    }

    fn annotate_changes(&self, messages: &mut MessagesByPlace) {
        let is_folded: HashSet<usize> = self.causes.iter().flat_map(|cause| cause.changes.iter().copied()).collect();
        for (_, change) in self.changes.iter().enumerate().filter(|(at, _)| !is_folded.contains(at)) {
            let on = self.share_of(change.nodes.len());
            let on = on + &change.lacking(change.nodes.len());
            if let (Some(Outcome::Failed(error)), true) = (change.outcome.after.as_deref(), change.kind.is_error()) {
                let message =
                    PlaceMessage::error(format!("{} {} on {on}", name(&change.key), self.label(change)), error);
                error.place.iter().for_each(|place| messages.add(FAILING_KEY, Severity::Error, place, message.clone()));
            }
            for leaf in &change.leaves {
                self.annotate_leaf(change, leaf, &on, messages);
            }
        }
    }

    /// Adds a difference at the changed lines that cause it, or else where its value comes from.
    fn annotate_leaf(&self, change: &KeyChange, leaf: &Leaf, on: &str, messages: &mut MessagesByPlace) {
        let lines = leaf.lines().unwrap_or_default().iter().map(|at| &self.lines[*at]);
        let lines: Vec<_> = lines.filter(|lines| lines.side == Side::After).collect();
        let origin = leaf.origins().after;
        if lines.is_empty() && origin.is_none() {
            return;
        }
        let message = PlaceMessage::change(change, leaf, on);
        for lines in &lines {
            messages.add_to_last(CHANGED_VALUE, Severity::Note, &lines.place, Some(lines.last), message.clone());
        }
        if let (true, Some(origin)) = (lines.is_empty(), origin) {
            messages.add(CHANGED_VALUE, Severity::Note, &origin.place, message);
        }
    }

    fn annotate_findings(&self, messages: &mut MessagesByPlace) {
        for finding in self.findings.iter().filter(|finding| finding.is_new) {
            let diagnostic = &finding.diagnostic;
            let text = visible(&diagnostic.text).into_owned();
            let message = PlaceMessage { what: diagnostic.code.replace('-', " "), text };
            diagnostic.place.iter().for_each(|place| {
                messages.add(diagnostic.code, diagnostic.severity, place, message.clone());
            });
        }
    }
}

/// Messages by the place and kind of their annotation.
#[derive(Default)]
struct MessagesByPlace(BTreeMap<AnnotationKey, Vec<PlaceMessage>>);

/// The place and kind of an annotation, in the order of annotations.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AnnotationKey {
    level: Reverse<Severity>,
    place: Place,
    last: Option<u32>,
    code: &'static str,
}

impl MessagesByPlace {
    fn add(&mut self, code: &'static str, level: Severity, place: &Place, message: PlaceMessage) {
        self.add_to_last(code, level, place, place.line, message);
    }

    fn add_lines(&mut self, lines: &ChangedLines) {
        let Some(words) = lines.words() else { return };
        let code = if lines.effect.as_str() == "none" { NO_EFFECT } else { UNKNOWN_EFFECT };
        let message = PlaceMessage { what: code.replace('-', " "), text: visible(&words).into_owned() };
        self.add_to_last(code, Severity::Note, &lines.place, Some(lines.last), message);
    }

    fn add_to_last(
        &mut self,
        code: &'static str,
        level: Severity,
        place: &Place,
        last: Option<u32>,
        message: PlaceMessage,
    ) {
        // Absolute paths are outside of the repository.
        if !place.path.starts_with('/') {
            let last = last.filter(|_| place.line.is_some());
            self.0
                .entry(AnnotationKey { level: Reverse(level), place: place.clone(), last, code })
                .or_default()
                .push(message);
        }
    }
}

/// One of the messages at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PlaceMessage {
    what: String,
    text: String,
}

impl PlaceMessage {
    fn error(what: String, error: &LookupError) -> PlaceMessage {
        let text = format!("{what}: {}", shorten(&visible(error.text.visible()), ERROR_COLUMNS));
        PlaceMessage { what, text }
    }

    fn policy(hit: &PolicyHit) -> PlaceMessage {
        let what = format!("policy {}", hit.name);
        PlaceMessage { text: visible(&format!("{what}: {}", hit.words())).into_owned(), what }
    }

    /// Returns a title such as `ntp::servers[1] changed on 12 of 143 nodes`, and a text that adds the values.
    fn change(change: &KeyChange, leaf: &Leaf, on: &str) -> PlaceMessage {
        let place = leaf.change.path().map_or(Cow::Borrowed(&*change.key), |path| path.below(&change.key).into());
        let part = leaf.change.part.as_ref().map(Option::is_some);
        let label = match (part, change.kind) {
            (Diff { before: false, after: true }, ChangeKind::Changed) => "added",
            (Diff { before: true, after: false }, ChangeKind::Changed) => "removed",
            _ => change.label(),
        };
        let what = format!("{} {label} on {on}", name(&place));
        let is_one_of_some = change.variants.as_ref().is_some_and(|variants| variants.vary_in(&leaf.change));
        let example = if is_one_of_some { " on the first node, other values on others" } else { "" };
        let values = match on_one_line(&leaf.change, VALUE_COLUMNS) {
            Some(Diff { before: Some(before), after: Some(after) }) => format!(": {before} -> {after}{example}"),
            Some(Diff { before: Some(one), .. } | Diff { after: Some(one), .. }) => format!(": {one}{example}"),
            _ => String::new(),
        };
        PlaceMessage { text: format!("{what}{values}"), what }
    }
}

fn name(text: &str) -> String {
    shorten_middle(&visible(text), NAME_COLUMNS)
}

impl AnnotationKey {
    fn annotation(self, messages: &[PlaceMessage]) -> Annotation {
        let mut texts: Vec<&str> = messages.iter().map(|message| &*message.text).collect();
        texts.dedup();
        let (more, level) = (texts.len().saturating_sub(MAX_MESSAGES), self.level.0);
        let title = match (texts.len(), messages.first(), level) {
            (0 | 1, Some(only), _) => only.what.clone(),
            (n, _, Severity::Note) => count(n, "change"),
            (n, ..) => count(n, "message"),
        };
        let mut message = texts.iter().take(MAX_MESSAGES).copied().collect::<Vec<_>>().join("\n");
        if more > 0 {
            _ = write!(message, "\nand {more} more");
        }
        let lines = self.place.line.map(|first| (first, self.last.unwrap_or(first).max(first)));
        Annotation { code: self.code, path: visible(&self.place.path).into_owned(), lines, level, title, message }
    }
}
