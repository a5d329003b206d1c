//! Classes of nodes, and sets of whole classes.
//!
//! Classes are numbered like nodes, and sets of these numbers have the same form. Operations on two sets of the same
//! classes take time in proportion to the number of classes, not of nodes.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use foldhash::fast::RandomState;

use super::members::Members;
use super::partition::Partition;
use super::{Form, NodeId, NodeSet};

/// All nodes of a fleet, in classes that most sets do not divide.
pub(crate) struct NodeClasses {
    /// The classes, in the order of their first nodes.
    partition: Partition,
    /// The number of nodes of each class.
    sizes: Vec<usize>,
    /// The quotients by other partitions, under the partitions' addresses; `None` for a partition that divides a
    /// class.
    quotients: RwLock<HashMap<usize, Quotient, RandomState>>,
}

/// A partition and its quotient. While the partition is kept, no other one can have its address.
type Quotient = (Partition, Option<Arc<Partition>>);

impl NodeClasses {
    /// Returns classes of nodes that no partition distinguishes, or `None` if there are more than `max_classes`.
    /// Partitions that would exceed that number are left out.
    pub(crate) fn by(
        nodes: usize,
        max_classes: usize,
        partitions: impl IntoIterator<Item = Partition>,
    ) -> Option<Arc<NodeClasses>> {
        let mut classes = Partition::trivial(nodes);
        for partition in partitions {
            // Most partitions divide the nodes no further than earlier ones.
            if classes.quotient(&partition).is_none() {
                classes = classes.refined(&partition, max_classes).unwrap_or(classes);
            }
        }
        let sizes = classes.classes().iter().map(NodeSet::len).collect();
        (classes.count() <= max_classes)
            .then(|| Arc::new(NodeClasses { partition: classes, sizes, quotients: RwLock::default() }))
    }

    /// Returns the number of classes.
    pub(crate) fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Returns all nodes.
    pub(crate) fn all(self: &Arc<NodeClasses>) -> NodeSet {
        self.set(NodeSet::full(u32::try_from(self.count()).unwrap_or(u32::MAX)).nodes().clone())
    }

    /// Returns the nodes of the classes with these numbers.
    pub(super) fn set(self: &Arc<NodeClasses>, numbers: impl Into<Arc<Members>>) -> NodeSet {
        let numbers = numbers.into();
        if numbers.len() == 0 {
            return NodeSet::new();
        }
        let set = ClassSet { classes: self.clone(), numbers, len: OnceLock::new(), nodes: OnceLock::new() };
        NodeSet(Form::Classes(Arc::new(set)))
    }

    /// Returns the quotient by `partition`, or `None` if it divides a class.
    fn quotient(&self, partition: &Partition) -> Option<Arc<Partition>> {
        let address = partition.address();
        let known = self.quotients.read().unwrap_or_else(PoisonError::into_inner).get(&address).cloned();
        let known = known.unwrap_or_else(|| {
            let new = (partition.clone(), self.partition.quotient(partition).map(Arc::new));
            self.quotients.write().unwrap_or_else(PoisonError::into_inner).entry(address).or_insert(new).clone()
        });
        known.1
    }
}

/// The nodes of some classes.
pub(super) struct ClassSet {
    pub(super) classes: Arc<NodeClasses>,
    /// The numbers of the classes; never empty.
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

    /// Returns the individual nodes.
    pub(super) fn nodes(&self) -> &Arc<Members> {
        self.nodes.get_or_init(|| {
            let mut sets = self.sets().map(NodeSet::nodes);
            match (sets.next(), sets.next()) {
                (Some(only), None) => only.clone(),
                _ => Arc::new(Members::of_disjoint(self.sets().map(|set| &**set.nodes()), self.len())),
            }
        })
    }

    /// Applies `split` to the numbers of the classes. Returns `None` if `partition` divides a class.
    pub(super) fn split(
        &self,
        partition: &Partition,
        split: impl FnOnce(&Partition, &NodeSet) -> Vec<NodeSet>,
    ) -> Option<Vec<NodeSet>> {
        let quotient = self.classes.quotient(partition)?;
        let parts = split(&quotient, &NodeSet(Form::Nodes(self.numbers.clone())));
        Some(parts.iter().map(|numbers| self.classes.set(numbers.nodes().clone())).collect())
    }
}
