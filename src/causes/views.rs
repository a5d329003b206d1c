//! Revisions as single nodes see them, shared by all that look at a node: its hierarchies are resolved once, and a glob
//! may take long to walk.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::diff::Diff;
use crate::fleet::{NodeRevision, Revision};
use crate::node::NodeId;

/// The maximum number of nodes that are kept.
const MAX_VIEWS: usize = 64;

/// Both revisions as a node sees them.
pub(super) type View<'a> = Arc<Diff<NodeRevision<'a>>>;

/// Both revisions as the nodes see them that were looked at.
pub(super) struct Views<'a> {
    revisions: Diff<&'a Revision>,
    known: Mutex<HashMap<NodeId, View<'a>>>,
}

impl<'a> Views<'a> {
    pub(super) fn new(revisions: Diff<&'a Revision>) -> Views<'a> {
        Views { revisions, known: Mutex::default() }
    }

    /// Returns both revisions as a node sees them.
    pub(super) fn of(&self, node: NodeId) -> View<'a> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_VIEWS && !known.contains_key(&node) {
            known.clear();
        }
        known.entry(node).or_insert_with(|| Arc::new(self.revisions.map(|revision| revision.of_node(node)))).clone()
    }
}
