//! Numbers the sets of nodes of a report, so that its JSON form has each set once.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::node::NodeSet;

/// Distinct sets, in order of first use.
#[derive(Default)]
pub(in crate::report) struct NodeSets<'a> {
    sets: Vec<Cow<'a, NodeSet>>,
    /// The numbers of the sets, by a cheap hash key: size and first node.
    by_summary: HashMap<(usize, u32), Vec<usize>, RandomState>,
}

impl<'a> NodeSets<'a> {
    /// Returns the number of a set, which is new if the set is.
    pub(in crate::report) fn number(&mut self, set: Cow<'a, NodeSet>) -> usize {
        let candidates = self.by_summary.entry(summary(&set)).or_default();
        if let Some(known) = candidates.iter().find(|number| self.sets[**number] == set) {
            return *known;
        }
        let number = self.sets.len();
        candidates.push(number);
        self.sets.push(set);
        number
    }

    /// Returns all sets, by their numbers.
    pub(in crate::report) fn all(&self) -> impl Iterator<Item = &NodeSet> {
        self.sets.iter().map(|set| &**set)
    }
}

/// Returns a cheap hash key of a set: its size and its first node.
pub(in crate::report) fn summary(set: &NodeSet) -> (usize, u32) {
    (set.len(), set.first().map_or(0, |node| node.0))
}
