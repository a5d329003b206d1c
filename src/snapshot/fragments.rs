//! The texts of all answers, each made once.

use std::sync::Arc;

use super::Format;
use super::layout::{Layout, entry};
use crate::disclosure::Disclosure;
use crate::fleet::Answer;
use crate::hiera::Outcome;

/// The texts of a key's answers of one kind, one after the other, each with the separator that stands before it. Those of other
/// answers are empty.
pub(super) struct Fragments {
    text: String,
    /// Where each ends, which is where the next one starts.
    ends: Vec<usize>,
}

/// Which answers have texts.
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
    /// The text for a part of the nodes.
    pub(super) fn get(&self, part: usize) -> &[u8] {
        let start = part.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text.as_bytes()[start..self.ends[part]]
    }
}

/// How texts are made.
pub(super) struct Writer<'a> {
    pub(super) format: Format,
    pub(super) layout: &'a Layout,
    pub(super) disclosure: &'a Disclosure,
}

impl Writer<'_> {
    /// The texts of those answers for `key` that are of a kind; nothing where there are none.
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
