//! Resolves many keys on a whole fleet.

mod faults;
mod shared_classes;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::revision::Revision;
use crate::fleet::revision::node_view::NodeView;
use crate::fleet::{Answer, Effective, NodesByKey, parallel};
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::workers::Workers;

/// Returns the effective values of some keys on some nodes. The result does not depend on `workers`.
pub fn resolve(revision: &Revision, keys: &NodesByKey, workers: &Workers) -> Effective {
    let [effective] = resolve_all([revision], keys, workers);
    effective
}

/// Returns the effective values of some keys in several revisions. Equal outcomes are shared, over all revisions.
pub fn resolve_all<const N: usize>(revisions: [&Revision; N], keys: &NodesByKey, workers: &Workers) -> [Effective; N] {
    // A command that fails again and again is given up, so the order of the requests counts.
    let asks_commands = revisions.iter().any(|revision| revision.asks_commands());
    let workers = &workers.at_most(if asks_commands { 1 } else { usize::MAX });
    let all = shared_classes::all_nodes(&revisions, keys);
    // A set with as many nodes as the fleet is all of it.
    let by_classes = |nodes: &NodeSet| all.as_ref().filter(|all| all.len() == nodes.len());
    let task = |revision, (key, nodes)| (revision, key, by_classes(nodes).unwrap_or(nodes));
    let tasks: Vec<(&Revision, &Arc<str>, &NodeSet)> =
        revisions.iter().flat_map(|revision| keys.iter().map(|of_key| task(*revision, of_key))).collect();
    let found =
        parallel::map(&tasks, workers, "resolving keys", |(revision, key, nodes)| answers(revision, key, nodes));
    let mut found = found.into_iter();
    let stage = workers.begin("gathering answers", Some(tasks.len()));
    let mut known: HashSet<Arc<Outcome>, RandomState> = HashSet::default();
    revisions.map(|_| {
        let mut found: BTreeMap<Arc<str>, Vec<Answer>> =
            keys.keys().cloned().zip(&mut found).filter(|(_, answers)| !answers.is_empty()).collect();
        stage.advance(keys.len() - found.len());
        for answers in found.values_mut() {
            share(answers, &mut known);
            stage.advance(1);
        }
        Effective { keys: found }
    })
}

/// Returns the distinct answers for a key, in the order of their first nodes.
fn answers(revision: &Revision, key: &str, nodes: &NodeSet) -> Vec<Answer> {
    let get = |node, dependencies: &_| NodeView { revision, node, dependencies }.get(key);
    let mut distinct: HashMap<Outcome, NodeSet, RandomState> = HashMap::default();
    for (nodes, outcome) in revision.evaluate_per_class(nodes.clone(), get) {
        if outcome != Outcome::NotFound {
            distinct.entry(outcome).or_default().union_with(&nodes);
        }
    }
    let answer = |(outcome, nodes)| Answer { nodes, outcome: Arc::new(outcome) };
    let mut answers: Vec<Answer> = distinct.into_iter().map(answer).collect();
    answers.sort_by_cached_key(|answer| answer.nodes.first());
    answers
}

/// Replaces outcomes by equal ones that are known.
fn share(answers: &mut [Answer], known: &mut HashSet<Arc<Outcome>, RandomState>) {
    for answer in answers {
        match known.get(&answer.outcome) {
            Some(outcome) => answer.outcome = outcome.clone(),
            None => _ = known.insert(answer.outcome.clone()),
        }
    }
}
