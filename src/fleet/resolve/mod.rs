//! The resolution of many keys on a whole fleet.

pub(in crate::fleet) mod classes;
mod kinds;
pub(in crate::fleet) mod reads;
pub(in crate::fleet) mod view;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::parallel;
use crate::fleet::resolve::view::NodeView;
use crate::fleet::revision::Revision;
use crate::fleet::{Answer, Effective};
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::workers::Workers;

/// Keys, and for each the nodes on which it is to be looked up.
pub type NodesByKey = BTreeMap<Arc<str>, NodeSet>;

/// How long it takes to resolve a key, about, in microseconds: as much as there is to be done at least once, and what nodes add.
const A_KEY: usize = 50;
const NODES_A_MICROSECOND: usize = 4;

/// The effective values of the keys of `work`, on the nodes that it names. The result does not depend on `workers`.
pub fn resolve(revision: &Revision, work: &NodesByKey, workers: &Workers) -> Effective {
    let [effective] = resolve_all([revision], work, workers);
    effective
}

/// The effective values of the keys of `work` in several revisions.
pub fn resolve_all<const N: usize>(revisions: [&Revision; N], work: &NodesByKey, workers: &Workers) -> [Effective; N] {
    // A command that fails again and again is not asked any more: who asks first counts.
    let asks_commands = revisions.iter().any(|revision| revision.asks_commands());
    let workers = &workers.at_most(if asks_commands { 1 } else { usize::MAX });
    let all = kinds::all(&revisions, work);
    // Whether these are all nodes, their number tells.
    let by_kinds = |nodes: &NodeSet| all.as_ref().filter(|all| all.len() == nodes.len());
    let task = |revision, (key, nodes)| (revision, key, by_kinds(nodes).unwrap_or(nodes));
    let tasks: Vec<(&Revision, &Arc<str>, &NodeSet)> =
        revisions.iter().flat_map(|revision| work.iter().map(|of_key| task(*revision, of_key))).collect();
    let nodes: usize = tasks.iter().map(|(_, _, nodes)| nodes.len()).sum();
    let workers = &workers.worth(tasks.len() * A_KEY + nodes / NODES_A_MICROSECOND);
    let found =
        parallel::map(&tasks, workers, "resolving keys", |(revision, key, nodes)| answers(revision, key, nodes));
    let mut found = found.into_iter();
    let stage = workers.begin("gathering answers", Some(tasks.len()));
    let mut known: HashSet<Arc<Outcome>, RandomState> = HashSet::default();
    revisions.map(|_| {
        let mut keys: BTreeMap<Arc<str>, Vec<Answer>> =
            work.keys().cloned().zip(&mut found).filter(|(_, answers)| !answers.is_empty()).collect();
        stage.advance(work.len() - keys.len());
        for answers in keys.values_mut() {
            share(answers, &mut known);
            stage.advance(1);
        }
        Effective { keys }
    })
}

/// The distinct answers for a key.
fn answers(revision: &Revision, key: &str, nodes: &NodeSet) -> Vec<Answer> {
    let classes = revision.classes(nodes.clone(), |node, reads| NodeView { revision, node, reads }.get(key));
    let mut distinct: HashMap<Outcome, NodeSet, RandomState> = HashMap::default();
    for (nodes, outcome) in classes {
        if outcome != Outcome::NotFound {
            distinct.entry(outcome).or_default().union_with(&nodes);
        }
    }
    let answer = |(outcome, nodes)| Answer { nodes, outcome: Arc::new(outcome) };
    let mut answers: Vec<Answer> = distinct.into_iter().map(answer).collect();
    answers.sort_by_cached_key(|answer| answer.nodes.first());
    answers
}

/// Keeps equal outcomes once.
fn share(answers: &mut [Answer], known: &mut HashSet<Arc<Outcome>, RandomState>) {
    for answer in answers {
        match known.get(&answer.outcome) {
            Some(outcome) => answer.outcome = outcome.clone(),
            None => _ = known.insert(answer.outcome.clone()),
        }
    }
}
