//! The resolution of many keys on a whole fleet.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;

use super::revision::Revision;
use super::view::NodeView;
use super::{Answer, Effective};
use crate::hiera::Outcome;
use crate::node::NodeSet;

/// Keys, and for each the nodes on which it is to be looked up.
pub type Work = BTreeMap<Arc<str>, NodeSet>;

/// The effective values of the keys of `work`, on the nodes that it names. The result does not depend on `threads`.
pub fn resolve(revision: &Revision, work: &Work, threads: NonZeroUsize) -> Effective {
    let keys: Vec<(&Arc<str>, &NodeSet)> = work.iter().collect();
    // A command that fails again and again is not asked any more: who asks first counts.
    let threads = if revision.asks_commands() { NonZeroUsize::MIN } else { threads };
    let next = AtomicUsize::new(0);
    let found: Mutex<BTreeMap<Arc<str>, Vec<Answer>>> = Mutex::default();
    let work = || {
        while let Some((key, nodes)) = keys.get(next.fetch_add(1, Ordering::Relaxed)) {
            let answers = answers(revision, key, nodes);
            if !answers.is_empty() {
                found.lock().unwrap_or_else(PoisonError::into_inner).insert(Arc::clone(key), answers);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.get().min(keys.len()) {
            // Where there is no other thread, this one does it all.
            _ = std::thread::Builder::new().name("resolve".into()).spawn_scoped(scope, work);
        }
        work();
    });
    let mut keys = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    share(&mut keys);
    Effective { keys }
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
fn share(keys: &mut BTreeMap<Arc<str>, Vec<Answer>>) {
    let mut known: HashSet<Arc<Outcome>, RandomState> = HashSet::default();
    for answer in keys.values_mut().flatten() {
        match known.get(&answer.outcome) {
            Some(outcome) => answer.outcome = outcome.clone(),
            None => _ = known.insert(answer.outcome.clone()),
        }
    }
}
