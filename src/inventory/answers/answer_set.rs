//! The answers of several sources that are used together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The file of each source's answer, by the beginning of the file's name, which identifies the source.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AnswerSet(BTreeMap<String, String>);

impl AnswerSet {
    /// Returns the set of some answers, given as the name of each source with its file.
    pub(in crate::inventory) fn of<'a>(answers: impl IntoIterator<Item = (&'a str, &'a str)>) -> AnswerSet {
        AnswerSet(answers.into_iter().map(|(name, file)| (name.to_owned(), file.to_owned())).collect())
    }

    /// Returns the file of the answer of a source.
    pub(in crate::inventory) fn file(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the files.
    pub(in crate::inventory) fn files(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }

    /// Reads a set as [`to_text`](AnswerSet::to_text) writes it, or returns `None` if the text is not a set.
    pub fn from_text(text: &str) -> Option<AnswerSet> {
        serde_json::from_str(text).ok()
    }

    /// Returns the set as a line of text.
    pub fn to_text(&self) -> String {
        serde_json::json!(self.0).to_string()
    }
}
