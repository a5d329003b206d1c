//! Evaluates something once for each class of nodes.
//!
//! The nodes of a class agree in all dependencies of the evaluation, and so in its result.

use std::ops::Range;
use std::rc::Rc;

use crate::fleet::Fleet;
use crate::fleet::dependencies::{Dependencies, Dependency, DependencySet};
use crate::fleet::nodes::variables::VariablePath;
use crate::node::{NodeId, NodeSet};

/// Dependencies that are equal on all nodes of a set: the first ones of an evaluation, and those of evaluations before.
struct KnownEqual {
    dependencies: Rc<DependencySet>,
    /// The number of dependencies that are equal.
    count: usize,
    before: Option<Rc<KnownEqual>>,
}

impl KnownEqual {
    /// Returns the number of levels of a dependency that are known to be equal.
    fn levels(known: Option<&Rc<KnownEqual>>, dependency: &Dependency) -> usize {
        let all = std::iter::successors(known, |known| known.before.as_ref());
        let levels = |known: &Rc<KnownEqual>| {
            let (at, _, levels) = known.dependencies.get_full(dependency)?;
            (at < known.count).then_some(*levels)
        };
        all.filter_map(levels).max().unwrap_or_default()
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
    while let Some((mut nodes, known)) = pending.pop() {
        let Some(node) = nodes.first() else { continue };
        // A single node need not be told from others.
        let (result, dependencies) = evaluate_on(node, fleet, !nodes.is_singleton(), &evaluate);
        let dependencies = Rc::new(dependencies.into_set());
        for (at, (dependency, levels)) in dependencies.iter().enumerate() {
            let equal = KnownEqual::levels(known.as_ref(), dependency);
            if equal >= *levels {
                continue;
            }
            // What differs here may not depend on what comes next: where a variable is missing it is read, and others
            // are put into texts unread.
            let mut others = split(dependency, equal..*levels, &nodes);
            let Some(own) = others.iter().position(|class| class.first() == Some(node)) else { continue };
            nodes = others.swap_remove(own);
            if !others.is_empty() {
                let (dependencies, before) = (dependencies.clone(), known.clone());
                let known = Rc::new(KnownEqual { dependencies, count: at + 1, before });
                pending.extend(others.into_iter().map(|class| (class, Some(known.clone()))));
            }
        }
        results.push((nodes, result));
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
