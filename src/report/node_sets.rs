//! Sets of nodes by number: a report in JSON says each of them once.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::node::NodeSet;

/// Distinct sets, in the order in which they came.
#[derive(Default)]
pub(super) struct NodeSets<'a> {
    sets: Vec<&'a NodeSet>,
    /// What is cheap to ask of a set and tells most apart, its size and its first node, with the numbers of those that have it.
    by_summary: HashMap<(usize, u32), Vec<usize>, RandomState>,
}

impl<'a> NodeSets<'a> {
    /// The number of a set.
    pub(super) fn number(&mut self, set: &'a NodeSet) -> usize {
        let summary = (set.len(), set.first().map_or(0, |node| node.0));
        let candidates = self.by_summary.entry(summary).or_default();
        if let Some(known) = candidates.iter().find(|number| self.sets[**number] == set) {
            return *known;
        }
        let number = self.sets.len();
        candidates.push(number);
        self.sets.push(set);
        number
    }

    /// All sets.
    pub(super) fn all(&self) -> &[&'a NodeSet] {
        &self.sets
    }
}
