//! Sets of nodes by their kinds.

use std::sync::{Arc, OnceLock};

use super::members::Members;
use super::{Form, NodeId, NodeSet};

/// All nodes of a fleet, divided into kinds: nodes that are alike in what most sets are made by.
pub struct Kinds {
    /// The kind of each node, by its number.
    of: Arc<[u32]>,
    sets: Vec<NodeSet>,
}

impl Kinds {
    /// Kinds of which this is the one of each node, by its number, and these are the nodes. None is empty, and they stand in the order
    /// of their first nodes.
    pub fn new(of: Arc<[u32]>, sets: Vec<NodeSet>) -> Arc<Kinds> {
        Arc::new(Kinds { of, sets })
    }

    /// The nodes of each kind.
    pub fn sets(&self) -> &[NodeSet] {
        &self.sets
    }

    /// All nodes.
    pub fn all(self: &Arc<Kinds>) -> NodeSet {
        self.of_numbers(&NodeSet::first(u32::try_from(self.sets.len()).unwrap_or(u32::MAX)))
    }

    /// The nodes of the kinds that have these numbers.
    pub fn of_numbers(self: &Arc<Kinds>, numbers: &NodeSet) -> NodeSet {
        self.set(numbers.nodes().clone())
    }

    pub(super) fn set(self: &Arc<Kinds>, of: impl Into<Arc<Members>>) -> NodeSet {
        let of = of.into();
        if of.len() == 0 {
            return NodeSet::new();
        }
        NodeSet(Form::Kinds(Arc::new(OfKinds {
            kinds: self.clone(),
            of,
            len: OnceLock::new(),
            nodes: OnceLock::new(),
        })))
    }
}

/// The nodes of some kinds.
pub(super) struct OfKinds {
    pub(super) kinds: Arc<Kinds>,
    /// The numbers of the kinds.
    pub(super) of: Arc<Members>,
    len: OnceLock<usize>,
    nodes: OnceLock<Arc<Members>>,
}

impl OfKinds {
    fn sets(&self) -> impl Iterator<Item = &NodeSet> + Clone {
        self.of.iter().map(|kind| &self.kinds.sets[kind.bit()])
    }

    pub(super) fn len(&self) -> usize {
        *self.len.get_or_init(|| self.sets().map(NodeSet::len).sum())
    }

    pub(super) fn is_single(&self) -> bool {
        self.of.len() == 1 && self.sets().all(NodeSet::is_single)
    }

    pub(super) fn smallest(&self) -> Option<NodeId> {
        self.sets().next()?.smallest()
    }

    pub(super) fn contains(&self, node: NodeId) -> bool {
        self.kinds.of.get(node.bit()).is_some_and(|kind| self.of.contains(NodeId(*kind)))
    }

    /// The nodes, one by one.
    pub(super) fn nodes(&self) -> &Arc<Members> {
        self.nodes.get_or_init(|| {
            let mut sets = self.sets().map(NodeSet::nodes);
            match (sets.next(), sets.next()) {
                (Some(only), None) => only.clone(),
                _ => Arc::new(Members::of_disjoint(self.sets().map(|set| &**set.nodes()), self.len())),
            }
        })
    }
}
