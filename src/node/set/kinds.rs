//! Kinds of nodes, and sets that are made of whole kinds.
//!
//! Kinds have numbers, as nodes have, and sets of these numbers are in the same form.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use foldhash::fast::RandomState;

use super::members::Members;
use super::partition::Partition;
use super::{Form, NodeId, NodeSet};

/// All nodes of a fleet, divided into kinds: nodes that are alike in what most sets are made by.
pub(crate) struct Kinds {
    /// The kind of each node; those with the smallest nodes come first.
    partition: Partition,
    /// How many nodes there are of each kind.
    sizes: Vec<usize>,
    /// How the kinds divide by what was asked for, by its address; nothing for what divides a kind.
    divided: RwLock<HashMap<usize, Divided, RandomState>>,
}

/// What is kept has its address for itself.
type Divided = (Partition, Option<Arc<Partition>>);

impl Kinds {
    /// The kinds of nodes that none of `partitions` tells apart, if there are at the most so many. A partition that makes them more
    /// is left out.
    pub(crate) fn by(nodes: usize, most: usize, partitions: impl IntoIterator<Item = Partition>) -> Option<Arc<Kinds>> {
        let mut kinds = Partition::whole(nodes);
        for partition in partitions {
            // Most often what divides nodes goes with what others have divided them by.
            if kinds.over(&partition).is_none() {
                kinds = kinds.divided(&partition, most).unwrap_or(kinds);
            }
        }
        let sizes = kinds.sets().iter().map(NodeSet::len).collect();
        (kinds.count() <= most).then(|| Arc::new(Kinds { partition: kinds, sizes, divided: RwLock::default() }))
    }

    /// How many kinds there are.
    pub(crate) fn count(&self) -> usize {
        self.sizes.len()
    }

    /// All nodes.
    pub(crate) fn all(self: &Arc<Kinds>) -> NodeSet {
        self.set(NodeSet::first(u32::try_from(self.count()).unwrap_or(u32::MAX)).nodes().clone())
    }

    /// The nodes of the kinds that have these numbers.
    pub(super) fn set(self: &Arc<Kinds>, numbers: impl Into<Arc<Members>>) -> NodeSet {
        let numbers = numbers.into();
        if numbers.len() == 0 {
            return NodeSet::new();
        }
        let set = KindSet { kinds: self.clone(), numbers, len: OnceLock::new(), nodes: OnceLock::new() };
        NodeSet(Form::Kinds(Arc::new(set)))
    }

    /// How the numbers of kinds divide as their nodes do; nothing if a kind is divided.
    fn divided(&self, partition: &Partition) -> Option<Arc<Partition>> {
        let address = partition.address();
        let known = self.divided.read().unwrap_or_else(PoisonError::into_inner).get(&address).cloned();
        let known = known.unwrap_or_else(|| {
            let new = (partition.clone(), self.partition.over(partition).map(Arc::new));
            self.divided.write().unwrap_or_else(PoisonError::into_inner).entry(address).or_insert(new).clone()
        });
        known.1
    }
}

/// The nodes of some kinds.
pub(super) struct KindSet {
    pub(super) kinds: Arc<Kinds>,
    /// The numbers of the kinds; never none.
    pub(super) numbers: Arc<Members>,
    len: OnceLock<usize>,
    nodes: OnceLock<Arc<Members>>,
}

impl KindSet {
    fn sets(&self) -> impl Iterator<Item = &NodeSet> + Clone {
        self.numbers.iter().map(|kind| &self.kinds.partition.sets()[kind.bit()])
    }

    pub(super) fn len(&self) -> usize {
        *self.len.get_or_init(|| self.numbers.iter().map(|kind| self.kinds.sizes[kind.bit()]).sum())
    }

    pub(super) fn is_single(&self) -> bool {
        self.numbers.len() == 1 && self.len() == 1
    }

    pub(super) fn smallest(&self) -> Option<NodeId> {
        self.sets().next()?.smallest()
    }

    pub(super) fn contains(&self, node: NodeId) -> bool {
        self.kinds.partition.find(node).is_some_and(|kind| self.numbers.contains(kind))
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

    /// What `split` makes of the numbers, if no kind is divided by `partition`.
    pub(super) fn split(
        &self,
        partition: &Partition,
        split: impl FnOnce(&Partition, &NodeSet) -> Vec<NodeSet>,
    ) -> Option<Vec<NodeSet>> {
        let divided = self.kinds.divided(partition)?;
        let parts = split(&divided, &NodeSet(Form::Nodes(self.numbers.clone())));
        Some(parts.iter().map(|numbers| self.kinds.set(numbers.nodes().clone())).collect())
    }
}
