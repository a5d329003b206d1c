//! The classes of nodes that no variable distinguishes, by which sets of nodes are described.

use std::collections::HashMap;
use std::sync::Arc;

use fixedbitset::FixedBitSet;
use foldhash::fast::RandomState;

use crate::fleet::{Distinction, VariableValue};
use crate::node::NodeSet;

/// The maximum number of classes of nodes; a variable that would make more is left out.
const MAX_CLASSES: usize = 4096;
/// The maximum number of nodes examined for all described sets together.
const MAX_NODES: usize = 1 << 22;
/// The maximum number of steps of all searches: each class examined for a variable or a term is one.
const MAX_STEPS: usize = 1 << 20;

/// Describes sets of the nodes of a fleet.
pub(in crate::report) struct Describer {
    /// The class of each node.
    class_of_node: Vec<u32>,
    /// The number of nodes of each class.
    sizes: Vec<usize>,
    pub(super) variables: Vec<ClassValues>,
    nodes_left: usize,
    pub(super) steps_left: usize,
}

/// A variable, with its value for each class of nodes.
pub(super) struct ClassValues {
    pub(super) name: Arc<str>,
    /// The position among `values` of each class's value.
    pub(super) value_of_class: Vec<u32>,
    pub(super) values: Vec<VariableValue>,
}

impl Describer {
    /// Divides `nodes` nodes into classes by the variables that distinguish them.
    pub(in crate::report) fn new(nodes: usize, distinctions: &[Distinction]) -> Describer {
        let (mut class_of_node, mut count) = (vec![0_u32; nodes], usize::from(nodes > 0));
        let mut used: Vec<&Distinction> = Vec::new();
        for distinction in distinctions {
            if let Some((finer, more)) = refined(&class_of_node, count, distinction) {
                if more > MAX_CLASSES {
                    continue;
                }
                (class_of_node, count) = (finer, more);
            }
            used.push(distinction);
        }
        let (mut sizes, mut firsts) = (vec![0; count], vec![0; count]);
        for (node, class) in class_of_node.iter().enumerate().rev() {
            sizes[*class as usize] += 1;
            firsts[*class as usize] = node;
        }
        let of_classes = |distinction: &Distinction| {
            let numbers: Vec<u32> = distinction.partition.class_numbers().map(number).collect();
            ClassValues {
                name: distinction.name.clone(),
                value_of_class: firsts.iter().map(|first| numbers.get(*first).copied().unwrap_or_default()).collect(),
                values: distinction.values.clone(),
            }
        };
        let variables = used.into_iter().map(of_classes).collect();
        Describer { class_of_node, sizes, variables, nodes_left: MAX_NODES, steps_left: MAX_STEPS }
    }

    /// Returns the number of classes.
    pub(super) fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Returns the classes that a set consists of, or `None` if it divides one or has all nodes.
    pub(super) fn classes_of(&mut self, nodes: &NodeSet) -> Option<FixedBitSet> {
        if self.variables.is_empty() || nodes.len() == self.class_of_node.len() {
            return None;
        }
        self.nodes_left = self.nodes_left.checked_sub(nodes.len())?;
        let mut seen = vec![0; self.count()];
        for node in nodes.iter() {
            seen[*self.class_of_node.get(node.0 as usize)? as usize] += 1;
        }
        let mut classes = FixedBitSet::with_capacity(self.count());
        for (class, (seen, size)) in seen.iter().zip(&self.sizes).enumerate() {
            if seen == size {
                classes.insert(class);
            } else if *seen > 0 {
                return None;
            }
        }
        Some(classes)
    }
}

/// Returns the common refinement of `count` classes with those of a distinction, and their number; or `None` if it
/// divides no class.
fn refined(class_of_node: &[u32], count: usize, distinction: &Distinction) -> Option<(Vec<u32>, usize)> {
    let mut first: Vec<Option<usize>> = vec![None; count];
    let numbers = || class_of_node.iter().zip(distinction.partition.class_numbers());
    let divides = numbers().any(|(class, value)| *first[*class as usize].get_or_insert(value) != value);
    if !divides {
        return None;
    }
    let mut classes: HashMap<(u32, usize), u32, RandomState> = HashMap::default();
    let finer = numbers().map(|(class, value)| {
        let next = number(classes.len());
        *classes.entry((*class, value)).or_insert(next)
    });
    let finer = finer.collect();
    Some((finer, classes.len()))
}

fn number(class: usize) -> u32 {
    u32::try_from(class).unwrap_or(u32::MAX)
}
