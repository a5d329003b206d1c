//! Updates a partition of the nodes when some of them move to other classes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::levels::class_levels::ClassLevels;
use crate::node::{NodeSet, Partition};

/// Node classes that change, starting from a partition.
///
/// Classes keep their numbers, and a new class takes the number of one that has no nodes left: most updates keep the
/// partition.
pub(super) struct PartitionUpdate<'a> {
    before: &'a Partition,
    classes: Vec<Arc<ClassLevels>>,
    sets: Vec<NodeSet>,
    /// The number of each class.
    numbers: HashMap<Arc<ClassLevels>, usize, RandomState>,
    /// The classes that lost their last node; some of them may have nodes again.
    emptied: Vec<usize>,
}

impl<'a> PartitionUpdate<'a> {
    /// Starts from `before`, with `nodes` taken out of their classes.
    pub(super) fn without(nodes: &NodeSet, before: &'a Partition, classes: &[Arc<ClassLevels>]) -> PartitionUpdate<'a> {
        let mut sets = before.classes().to_vec();
        let touched: BTreeSet<usize> =
            if sets.is_empty() { BTreeSet::new() } else { nodes.iter().map(|node| before.class_of(node)).collect() };
        for at in &touched {
            sets[*at] = sets[*at].difference(nodes);
        }
        let emptied = touched.into_iter().filter(|at| sets[*at].is_empty()).collect();
        PartitionUpdate {
            before,
            classes: classes.to_vec(),
            sets,
            numbers: classes.iter().cloned().zip(0..).collect(),
            emptied,
        }
    }

    /// Adds nodes to a class, which may be a new one.
    pub(super) fn add(&mut self, class: Arc<ClassLevels>, nodes: &NodeSet) {
        let at = self.numbers.get(&class).copied().unwrap_or_else(|| self.insert(class));
        self.sets[at].union_with(nodes);
    }

    /// Adds a class without nodes, and returns its number.
    fn insert(&mut self, class: Arc<ClassLevels>) -> usize {
        while self.emptied.last().is_some_and(|at| !self.sets[*at].is_empty()) {
            self.emptied.pop();
        }
        let at = self.emptied.pop().unwrap_or(self.classes.len());
        self.numbers.insert(class.clone(), at);
        if at == self.classes.len() {
            self.classes.push(class);
            self.sets.push(NodeSet::new());
        } else {
            self.numbers.remove(&std::mem::replace(&mut self.classes[at], class));
        }
        at
    }

    /// Returns the new partition, and the levels of its classes.
    pub(super) fn finish(mut self) -> (Partition, Vec<Arc<ClassLevels>>) {
        for at in self.emptied.into_iter().rev() {
            if self.sets[at].is_empty() {
                self.sets.swap_remove(at);
                self.classes.swap_remove(at);
            }
        }
        (self.before.with_classes(self.sets), self.classes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hiera::LookupError;
    use crate::hiera::hierarchy::HierarchyPart;
    use crate::node::NodeId;

    fn class(name: &str) -> Arc<ClassLevels> {
        Arc::new(ClassLevels::from(HierarchyPart { levels: Err(LookupError::puppet(name)), diagnostics: Vec::new() }))
    }

    fn set(nodes: &[u32]) -> NodeSet {
        nodes.iter().copied().map(NodeId).collect()
    }

    /// Checks the classes after some nodes of the classes a, b and c have moved: names and nodes.
    fn check(moved: &[(&str, &[u32])], expected: &[(&str, &[u32])]) {
        let sets = vec![set(&[0, 1, 2]), set(&[3, 4]), set(&[5])];
        let before = Partition::of_classes(6, sets);
        let mut nodes = NodeSet::new();
        for (_, of_class) in moved {
            nodes.union_with(&set(of_class));
        }
        let mut update = PartitionUpdate::without(&nodes, &before, &["a", "b", "c"].map(class));
        for (name, nodes) in moved {
            update.add(class(name), &set(nodes));
        }
        let (partition, classes) = update.finish();
        assert_eq!(partition.classes(), expected.iter().map(|(_, nodes)| set(nodes)).collect::<Vec<_>>());
        assert!(classes.iter().zip(expected).all(|(found, (name, _))| **found == *class(name)), "{moved:?}");
        for (part, nodes) in (0..).zip(partition.classes()) {
            assert!(nodes.iter().all(|node| partition.class_of(node) == part), "{moved:?}");
        }
    }

    #[test]
    fn untouched_classes_keep_their_numbers() {
        check(&[("d", &[3, 4])], &[("a", &[0, 1, 2]), ("d", &[3, 4]), ("c", &[5])]);
        check(&[("d", &[1])], &[("a", &[0, 2]), ("b", &[3, 4]), ("c", &[5]), ("d", &[1])]);
        check(&[("a", &[3, 4])], &[("a", &[0, 1, 2, 3, 4]), ("c", &[5])]);
        check(&[("c", &[3]), ("b", &[4, 5])], &[("a", &[0, 1, 2]), ("b", &[4, 5]), ("c", &[3])]);
        check(&[("c", &[0, 1, 2]), ("d", &[5])], &[("d", &[5]), ("b", &[3, 4]), ("c", &[0, 1, 2])]);
    }
}
