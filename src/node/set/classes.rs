//! Classes of nodes, and sets that are made of whole classes.
//!
//! Classes have numbers, as nodes have, and sets of these numbers are in the same form.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use foldhash::fast::RandomState;

use super::members::Members;
use super::partition::Partition;
use super::{Form, NodeId, NodeSet};

/// All nodes of a fleet, divided into classes: nodes that are alike in what most sets are made by.
pub(crate) struct NodeClasses {
    /// The class of each node; those with the smallest nodes come first.
    partition: Partition,
    /// How many nodes there are of each class.
    sizes: Vec<usize>,
    /// How the classes divide by what was asked for, by its address; nothing for what divides a class.
    divided: RwLock<HashMap<usize, Divided, RandomState>>,
}

/// What is kept has its address for itself.
type Divided = (Partition, Option<Arc<Partition>>);

impl NodeClasses {
    /// The classes of nodes that none of `partitions` tells apart, if there are at the most so many. A partition that makes them more
    /// is left out.
    pub(crate) fn by(
        nodes: usize,
        most: usize,
        partitions: impl IntoIterator<Item = Partition>,
    ) -> Option<Arc<NodeClasses>> {
        let mut classes = Partition::trivial(nodes);
        for partition in partitions {
            // Most often what divides nodes goes with what others have divided them by.
            if classes.quotient(&partition).is_none() {
                classes = classes.refined(&partition, most).unwrap_or(classes);
            }
        }
        let sizes = classes.classes().iter().map(NodeSet::len).collect();
        (classes.count() <= most)
            .then(|| Arc::new(NodeClasses { partition: classes, sizes, divided: RwLock::default() }))
    }

    /// How many classes there are.
    pub(crate) fn count(&self) -> usize {
        self.sizes.len()
    }

    /// All nodes.
    pub(crate) fn all(self: &Arc<NodeClasses>) -> NodeSet {
        self.set(NodeSet::full(u32::try_from(self.count()).unwrap_or(u32::MAX)).nodes().clone())
    }

    /// The nodes of the classes that have these numbers.
    pub(super) fn set(self: &Arc<NodeClasses>, numbers: impl Into<Arc<Members>>) -> NodeSet {
        let numbers = numbers.into();
        if numbers.len() == 0 {
            return NodeSet::new();
        }
        let set = ClassSet { classes: self.clone(), numbers, len: OnceLock::new(), nodes: OnceLock::new() };
        NodeSet(Form::Classes(Arc::new(set)))
    }

    /// How the numbers of classes divide as their nodes do; nothing if a class is divided.
    fn divided(&self, partition: &Partition) -> Option<Arc<Partition>> {
        let address = partition.address();
        let known = self.divided.read().unwrap_or_else(PoisonError::into_inner).get(&address).cloned();
        let known = known.unwrap_or_else(|| {
            let new = (partition.clone(), self.partition.quotient(partition).map(Arc::new));
            self.divided.write().unwrap_or_else(PoisonError::into_inner).entry(address).or_insert(new).clone()
        });
        known.1
    }
}

/// The nodes of some classes.
pub(super) struct ClassSet {
    pub(super) classes: Arc<NodeClasses>,
    /// The numbers of the classes; never none.
    pub(super) numbers: Arc<Members>,
    len: OnceLock<usize>,
    nodes: OnceLock<Arc<Members>>,
}

impl ClassSet {
    fn sets(&self) -> impl Iterator<Item = &NodeSet> + Clone {
        self.numbers.iter().map(|class| &self.classes.partition.classes()[class.bit()])
    }

    pub(super) fn len(&self) -> usize {
        *self.len.get_or_init(|| self.numbers.iter().map(|class| self.classes.sizes[class.bit()]).sum())
    }

    pub(super) fn is_singleton(&self) -> bool {
        self.numbers.len() == 1 && self.len() == 1
    }

    pub(super) fn first(&self) -> Option<NodeId> {
        self.sets().next()?.first()
    }

    pub(super) fn contains(&self, node: NodeId) -> bool {
        self.classes.partition.find_class(node).is_some_and(|class| self.numbers.contains(class))
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

    /// What `split` makes of the numbers, if no class is divided by `partition`.
    pub(super) fn split(
        &self,
        partition: &Partition,
        split: impl FnOnce(&Partition, &NodeSet) -> Vec<NodeSet>,
    ) -> Option<Vec<NodeSet>> {
        let divided = self.classes.divided(partition)?;
        let parts = split(&divided, &NodeSet(Form::Nodes(self.numbers.clone())));
        Some(parts.iter().map(|numbers| self.classes.set(numbers.nodes().clone())).collect())
    }
}
