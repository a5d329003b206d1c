//! How the nodes divide by what they see, while that changes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::revision::class::Class;
use crate::node::{NodeSet, Partition};

/// Classes with their nodes. What is not touched stays where it is, and a new class takes the place of one that nobody is left in:
/// most often the nodes divide as before.
pub(in crate::fleet) struct Division<'a> {
    before: &'a Partition,
    classes: Vec<Arc<Class>>,
    sets: Vec<NodeSet>,
    /// Where each class is.
    places: HashMap<Arc<Class>, usize, RandomState>,
    /// The classes that nobody was left in: somebody may have come since.
    left: Vec<usize>,
}

impl<'a> Division<'a> {
    /// The division that there was, without `nodes`.
    pub(in crate::fleet) fn without(nodes: &NodeSet, before: &'a Partition, classes: &[Arc<Class>]) -> Division<'a> {
        let mut sets = before.classes().to_vec();
        let touched: BTreeSet<usize> =
            if sets.is_empty() { BTreeSet::new() } else { nodes.iter().map(|node| before.class_of(node)).collect() };
        for at in &touched {
            sets[*at] = sets[*at].difference(nodes);
        }
        let left = touched.into_iter().filter(|at| sets[*at].is_empty()).collect();
        Division { before, classes: classes.to_vec(), sets, places: classes.iter().cloned().zip(0..).collect(), left }
    }

    /// Adds nodes to a class.
    pub(in crate::fleet) fn add(&mut self, class: Arc<Class>, nodes: &NodeSet) {
        let at = self.places.get(&class).copied().unwrap_or_else(|| self.place(class));
        self.sets[at].union_with(nodes);
    }

    /// Finds a place for a new class.
    fn place(&mut self, class: Arc<Class>) -> usize {
        while self.left.last().is_some_and(|at| !self.sets[*at].is_empty()) {
            self.left.pop();
        }
        let at = self.left.pop().unwrap_or(self.classes.len());
        self.places.insert(class.clone(), at);
        if at == self.classes.len() {
            self.classes.push(class);
            self.sets.push(NodeSet::new());
        } else {
            self.places.remove(&std::mem::replace(&mut self.classes[at], class));
        }
        at
    }

    /// The nodes divided, and their classes.
    pub(in crate::fleet) fn finish(mut self) -> (Partition, Vec<Arc<Class>>) {
        for at in self.left.into_iter().rev() {
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
    use crate::hiera::hierarchy::Part;
    use crate::node::NodeId;

    fn class(name: &str) -> Arc<Class> {
        Arc::new(Class::from(Part { levels: Err(LookupError::puppet(name)), diagnostics: Vec::new() }))
    }

    fn set(nodes: &[u32]) -> NodeSet {
        nodes.iter().copied().map(NodeId).collect()
    }

    /// What becomes of the classes a, b and c when some nodes see something else: names and nodes.
    fn check(seen: &[(&str, &[u32])], expected: &[(&str, &[u32])]) {
        let sets = vec![set(&[0, 1, 2]), set(&[3, 4]), set(&[5])];
        let before = Partition::of_classes(6, sets);
        let mut nodes = NodeSet::new();
        for (_, of_class) in seen {
            nodes.union_with(&set(of_class));
        }
        let mut division = Division::without(&nodes, &before, &["a", "b", "c"].map(class));
        for (name, nodes) in seen {
            division.add(class(name), &set(nodes));
        }
        let (partition, classes) = division.finish();
        assert_eq!(partition.classes(), expected.iter().map(|(_, nodes)| set(nodes)).collect::<Vec<_>>());
        assert!(classes.iter().zip(expected).all(|(of, (name, _))| **of == *class(name)), "{seen:?}");
        for (part, nodes) in (0..).zip(partition.classes()) {
            assert!(nodes.iter().all(|node| partition.class_of(node) == part), "{seen:?}");
        }
    }

    #[test]
    fn what_is_not_touched_stays_where_it_is() {
        check(&[("d", &[3, 4])], &[("a", &[0, 1, 2]), ("d", &[3, 4]), ("c", &[5])]);
        check(&[("d", &[1])], &[("a", &[0, 2]), ("b", &[3, 4]), ("c", &[5]), ("d", &[1])]);
        check(&[("a", &[3, 4])], &[("a", &[0, 1, 2, 3, 4]), ("c", &[5])]);
        check(&[("c", &[3]), ("b", &[4, 5])], &[("a", &[0, 1, 2]), ("b", &[4, 5]), ("c", &[3])]);
        check(&[("c", &[0, 1, 2]), ("d", &[5])], &[("d", &[5]), ("b", &[3, 4]), ("c", &[0, 1, 2])]);
    }
}
