//! Notes the names of revisions that are ambiguous.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The names found so far that both a tag and a branch have, as sentences.
#[derive(Debug, Default)]
pub(in crate::git) struct Ambiguous(Mutex<BTreeSet<String>>);

impl Ambiguous {
    pub(in crate::git) fn add(&self, sentence: String) {
        tracing::warn!("{sentence}");
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(sentence);
    }

    /// Returns the sentences noted so far.
    pub(in crate::git) fn warnings(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
