//! The texts of all answers, each made once.

use std::sync::Arc;

use super::Format;
use super::layout::{Layout, entry};
use crate::disclosure::Disclosure;
use crate::fleet::Answer;
use crate::hiera::Outcome;

/// The texts of answers one after the other, each with the separator that stands before it.
#[derive(Default)]
pub(super) struct Fragments {
    text: String,
    /// Where each ends, which is where the next one starts.
    ends: Vec<usize>,
}

/// Where the texts of a key are: as many as its answers, in their order.
pub(super) struct Column {
    /// How the key's answers divide the nodes.
    pub(super) division: usize,
    /// The number of the text of the first answer.
    first: usize,
}

/// Which answers a column has texts for; those of others are empty.
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

/// How texts are made.
pub(super) struct Writer<'a> {
    pub(super) format: Format,
    pub(super) layout: &'a Layout,
    pub(super) disclosure: &'a Disclosure,
}

impl Fragments {
    /// Makes the texts of those answers for `key` that are of a kind; nothing where there are none.
    pub(super) fn add(
        &mut self,
        key: &str,
        answers: &[&Answer],
        division: usize,
        kind: Kind,
        writer: &Writer<'_>,
    ) -> Option<Column> {
        let is_kind = |answer: &Answer| Kind::of(&answer.outcome) == Some(kind);
        if !answers.iter().any(|answer| is_kind(answer)) {
            return None;
        }
        let first = self.ends.len();
        for answer in answers {
            if is_kind(answer) {
                self.text += writer.layout.separator;
                self.text += &writer.text(key, &answer.outcome);
            }
            self.ends.push(self.text.len());
        }
        Some(Column { division, first })
    }

    /// The text of a column for a part of the nodes.
    pub(super) fn get(&self, column: &Column, part: usize) -> &[u8] {
        let at = column.first + part;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text.as_bytes()[start..self.ends[at]]
    }
}

impl Writer<'_> {
    fn text(&self, key: &str, outcome: &Arc<Outcome>) -> String {
        match &*self.disclosure.outcome(outcome) {
            Outcome::Found(value) => entry(self.format, key, value),
            Outcome::Failed(error) => entry(self.format, key, &error.text.visible().into()),
            Outcome::NotFound => String::new(),
        }
    }
}
