//! Evaluates something once for each class of nodes.
//!
//! The nodes of a class agree in all dependencies of the evaluation, and so in its result.

use std::ops::Range;
use std::rc::Rc;

use crate::fleet::Fleet;
use crate::fleet::dependencies::{Dependencies, Dependency, DependencySet};
use crate::fleet::nodes::variables::VariablePath;
use crate::node::{NodeId, NodeSet};

/// Dependencies that are equal on all nodes of a set: those of its last split, and of the splits before.
struct KnownEqual {
    dependencies: DependencySet,
    before: Option<Rc<KnownEqual>>,
}

impl KnownEqual {
    /// Returns the number of levels of a dependency that are known to be equal.
    fn levels(known: Option<&Rc<KnownEqual>>, dependency: &Dependency) -> usize {
        let all = std::iter::successors(known, |known| known.before.as_ref());
        all.filter_map(|known| known.dependencies.get(dependency)).max().copied().unwrap_or_default()
    }
}

/// The maximum number of evaluations if variables are missed: a function may read one after the other.
const MOST_ATTEMPTS: usize = 1000;

/// Evaluates something on a node of `fleet`. Variables that it misses are read, and then it is evaluated again.
pub(in crate::fleet) fn evaluate_on<T>(
    node: NodeId,
    fleet: &Fleet,
    is_recording: bool,
    evaluate: impl Fn(NodeId, &Dependencies) -> T,
) -> (T, Dependencies) {
    let mut attempts = 0;
    loop {
        let dependencies = Dependencies::new(is_recording);
        let result = evaluate(node, &dependencies);
        let missed = dependencies.missed();
        attempts += 1;
        if missed.is_empty() || attempts == MOST_ATTEMPTS || !fleet.read_missed(missed) {
            return (result, dependencies);
        }
    }
}

/// Evaluates something for all of `nodes` of `fleet`, once for each class. `split` divides nodes by their values of a
/// dependency, of which only the levels in the range matter. The classes come in the order of their first nodes.
pub(in crate::fleet) fn evaluate_per_class<T>(
    (nodes, fleet): (NodeSet, &Fleet),
    evaluate: impl Fn(NodeId, &Dependencies) -> T,
    split: impl Fn(&Dependency, Range<usize>, &NodeSet) -> Vec<NodeSet>,
) -> Vec<(NodeSet, T)> {
    let mut results = Vec::new();
    let mut pending: Vec<(NodeSet, Option<Rc<KnownEqual>>)> = vec![(nodes, None)];
    while let Some((nodes, known)) = pending.pop() {
        let Some(node) = nodes.first() else { continue };
        // A single node need not be told from others.
        let (result, dependencies) = evaluate_on(node, fleet, !nodes.is_singleton(), &evaluate);
        let dependencies = dependencies.into_set();
        let mut classes = vec![nodes];
        for (dependency, levels) in &dependencies {
            let equal = KnownEqual::levels(known.as_ref(), dependency);
            if equal < *levels {
                classes = classes.iter().flat_map(|nodes| split(dependency, equal..*levels, nodes)).collect();
            }
        }
        let known = Some(Rc::new(KnownEqual { dependencies, before: known }));
        let mut result = Some(result);
        for class in classes {
            // The class of the evaluated node, which is the first of all.
            if class.first() == Some(node) {
                results.extend(result.take().map(|result| (class, result)));
            } else {
                pending.push((class, known.clone()));
            }
        }
    }
    results.sort_by_cached_key(|(nodes, _)| nodes.first());
    results
}

/// Evaluates something that depends on variables only, once for each class. `split` divides nodes by their values of
/// a variable.
pub(in crate::fleet) fn evaluate_per_variable_class<T>(
    nodes: (NodeSet, &Fleet),
    evaluate: impl Fn(NodeId, &Dependencies) -> T,
    split: impl Fn(&VariablePath, &NodeSet) -> Vec<NodeSet>,
) -> Vec<(NodeSet, T)> {
    let split = |dependency: &Dependency, _, nodes: &NodeSet| match dependency {
        Dependency::Variable(path) => split(path, nodes),
        Dependency::Hole(_) | Dependency::Key(..) | Dependency::Options(_) | Dependency::Answer(_) => {
            vec![nodes.clone()]
        }
    };
    evaluate_per_class(nodes, evaluate, split)
}
