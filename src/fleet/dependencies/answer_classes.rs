//! The answers for a key that others refer to, by the classes of nodes that agree in what they depend on.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;

use super::{Dependency, DependencySet};
use crate::hiera::sources::SharedAnswer;
use crate::node::{NodeId, Partition};

/// The answers whose evaluation had the same dependencies.
pub(in crate::fleet) struct AnswerClasses {
    pub(in crate::fleet) partition: Partition,
    dependencies: DependencySet,
    answers: Mutex<HashMap<usize, Arc<SharedAnswer>, RandomState>>,
}

impl AnswerClasses {
    /// Makes classes without answers. `partition` must divide the nodes by these dependencies.
    pub(in crate::fleet) fn new(dependencies: DependencySet, partition: Partition) -> AnswerClasses {
        AnswerClasses { partition, dependencies, answers: Mutex::default() }
    }

    pub(in crate::fleet) fn has(&self, dependencies: &DependencySet) -> bool {
        self.dependencies == *dependencies
    }

    /// Returns the answer of a node, if one of its class has been found.
    pub(in crate::fleet) fn get(&self, node: NodeId) -> Option<Arc<SharedAnswer>> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(&self.partition.class_of(node)).cloned()
    }

    /// Keeps the answer of a node for its class.
    pub(in crate::fleet) fn keep(&self, node: NodeId, answer: SharedAnswer) {
        let answer = SharedAnswer { roots: self.roots(), ..answer };
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.insert(self.partition.class_of(node), Arc::new(answer));
    }

    /// Returns the root keys among the dependencies, and those that they depend on.
    fn roots(&self) -> HashSet<Arc<str>, RandomState> {
        let mut roots = HashSet::default();
        for dependency in self.dependencies.keys() {
            match dependency {
                Dependency::Key(root, _) => _ = roots.insert(root.clone()),
                Dependency::Answer(classes) => roots.extend(classes.roots()),
                Dependency::Variable(_) | Dependency::Hole(_) | Dependency::Options(_) => {}
            }
        }
        roots
    }
}

impl std::fmt::Debug for AnswerClasses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.dependencies.fmt(f)
    }
}

impl PartialEq for AnswerClasses {
    /// Compares identities: there is one for each key and set of dependencies.
    fn eq(&self, other: &AnswerClasses) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for AnswerClasses {}

impl Hash for AnswerClasses {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}
