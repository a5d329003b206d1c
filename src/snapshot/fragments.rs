//! The texts of all answers in a snapshot, each made once.

use std::sync::Arc;

use super::Format;
use super::layout::{Layout, entry};
use crate::disclosure::Disclosure;
use crate::fleet::Answer;
use crate::hiera::Outcome;

/// The texts of a key's values, or of its errors, one after the other, each after its separator. The texts of other
/// answers are empty.
pub(super) struct Fragments {
    text: String,
    /// The end of each text, which is the start of the next one.
    ends: Vec<usize>,
}

/// The answers that have texts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Value,
    Error,
}

impl Kind {
    fn of(outcome: &Outcome) -> Option<Kind> {
        match outcome {
            Outcome::Found(_) => Some(Kind::Value),
            Outcome::Failed(_) => Some(Kind::Error),
            Outcome::NotFound => None,
        }
    }
}

impl Fragments {
    /// Returns the text for a class of nodes.
    pub(super) fn get(&self, class: usize) -> &[u8] {
        let start = class.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text.as_bytes()[start..self.ends[class]]
    }
}

/// Makes texts of answers.
pub(super) struct Writer<'a> {
    pub(super) format: Format,
    pub(super) layout: &'a Layout,
    pub(super) disclosure: &'a Disclosure,
}

impl Writer<'_> {
    /// Returns the texts of the answers for `key` that are of a kind, or `None` if none are.
    pub(super) fn fragments(&self, key: &str, answers: &[Answer], kind: Kind) -> Option<Fragments> {
        let is_kind = |answer: &Answer| Kind::of(&answer.outcome) == Some(kind);
        if !answers.iter().any(is_kind) {
            return None;
        }
        let (mut text, mut ends) = (String::new(), Vec::with_capacity(answers.len()));
        for answer in answers {
            if is_kind(answer) {
                text += self.layout.separator;
                text += &self.text(key, &answer.outcome);
            }
            ends.push(text.len());
        }
        text.shrink_to_fit();
        Some(Fragments { text, ends })
    }

    fn text(&self, key: &str, outcome: &Arc<Outcome>) -> String {
        match &*self.disclosure.outcome(outcome) {
            Outcome::Found(value) => entry(self.format, key, value),
            Outcome::Failed(error) => entry(self.format, key, &error.text.visible().into()),
            Outcome::NotFound => String::new(),
        }
    }
}
