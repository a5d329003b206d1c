//! The resolution of many keys on a whole fleet.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::parallel;
use super::revision::Revision;
use super::view::NodeView;
use super::{Answer, Effective};
use crate::hiera::Outcome;
use crate::node::NodeSet;

/// Keys, and for each the nodes on which it is to be looked up.
pub type Work = BTreeMap<Arc<str>, NodeSet>;

/// The effective values of the keys of `work`, on the nodes that it names. The result does not depend on `threads`.
pub fn resolve(revision: &Revision, work: &Work, threads: NonZeroUsize) -> Effective {
    let [effective] = resolve_all([revision], work, threads);
    effective
}

/// The effective values of the keys of `work` in several revisions.
pub fn resolve_all<const N: usize>(revisions: [&Revision; N], work: &Work, threads: NonZeroUsize) -> [Effective; N] {
    // A command that fails again and again is not asked any more: who asks first counts.
    let asks_commands = revisions.iter().any(|revision| revision.asks_commands());
    let threads = if asks_commands { NonZeroUsize::MIN } else { threads };
    let tasks: Vec<(&Revision, &Arc<str>, &NodeSet)> =
        revisions.iter().flat_map(|revision| work.iter().map(|(key, nodes)| (*revision, key, nodes))).collect();
    let mut found = parallel::map(&tasks, threads, |(revision, key, nodes)| answers(revision, key, nodes)).into_iter();
    let mut known: HashSet<Arc<Outcome>, RandomState> = HashSet::default();
    revisions.map(|_| {
        let mut keys: BTreeMap<Arc<str>, Vec<Answer>> =
            work.keys().cloned().zip(&mut found).filter(|(_, answers)| !answers.is_empty()).collect();
        share(&mut keys, &mut known);
        Effective { keys }
    })
}

/// The distinct answers for a key.
fn answers(revision: &Revision, key: &str, nodes: &NodeSet) -> Vec<Answer> {
    let classes = revision.classes(nodes.clone(), |node, reads| NodeView { revision, node, reads }.get(key));
    let mut distinct: HashMap<Outcome, NodeSet, RandomState> = HashMap::default();
    for (nodes, outcome) in classes {
        if outcome != Outcome::NotFound {
            distinct.entry(outcome).or_default().extend(&nodes);
        }
    }
    let answer = |(outcome, nodes)| Answer { nodes, outcome: Arc::new(outcome) };
    let mut answers: Vec<Answer> = distinct.into_iter().map(answer).collect();
    answers.sort_by_key(|answer| answer.nodes.smallest());
    answers
}

/// Keeps equal outcomes once.
fn share(keys: &mut BTreeMap<Arc<str>, Vec<Answer>>, known: &mut HashSet<Arc<Outcome>, RandomState>) {
    for answer in keys.values_mut().flatten() {
        match known.get(&answer.outcome) {
            Some(outcome) => answer.outcome = outcome.clone(),
            None => _ = known.insert(answer.outcome.clone()),
        }
    }
}
