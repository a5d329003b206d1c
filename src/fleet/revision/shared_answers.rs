//! Answers for keys that others refer to, found once for each class of nodes while many keys are resolved.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;

use crate::fleet::dependencies::{AnswerClasses, Dependencies, Dependency, DependencySet};
use crate::fleet::revision::Revision;
use crate::hiera::sources::SharedAnswer;
use crate::node::{NodeId, Partition};
use crate::value::Value;

/// The number of times that a key is looked up for others before its answers are kept.
const LOOKUPS_BEFORE_KEEPING: usize = 16;

/// The maximum number of sets of dependencies for which the answers of one key are kept.
const MOST_KINDS: usize = 8;

/// The maximum number of class numbers to keep: each set of dependencies takes one per node.
const MOST_NUMBERS: usize = 1 << 24;

/// The maximum number of parts of values to keep; each takes a few tens of bytes.
const MOST_PARTS: usize = 1 << 21;

/// The answers that are kept while keys are resolved in a revision.
#[derive(Default)]
pub(in crate::fleet) struct SharedAnswers {
    keys: Mutex<HashMap<Box<str>, KeyAnswers, RandomState>>,
    /// The number of class numbers that are kept.
    numbers: AtomicUsize,
    /// The number of parts of values that are kept.
    parts: AtomicUsize,
}

/// The answers for a key.
#[derive(Default)]
struct KeyAnswers {
    lookups: usize,
    kinds: Vec<Arc<AnswerClasses>>,
}

impl SharedAnswers {
    /// Returns an answer for `key` on a node that `fits`, or keeps the result of `find`.
    pub(super) fn get(
        &self,
        key: &str,
        (revision, node, dependencies): (&Revision, NodeId, &Dependencies),
        fits: &dyn Fn(&SharedAnswer) -> bool,
        find: &mut dyn FnMut() -> Option<SharedAnswer>,
    ) -> Option<Arc<SharedAnswer>> {
        let Some(kinds) = self.kinds(key) else {
            find();
            return None;
        };
        for classes in kinds {
            if let Some(answer) = classes.get(node).filter(|answer| fits(answer)) {
                dependencies.record(|| Dependency::Answer(classes));
                return Some(answer);
            }
        }
        let (answer, own_dependencies) = dependencies.record_part(find);
        let is_whole = |set: &DependencySet| !set.keys().any(|dependency| matches!(dependency, Dependency::Hole(_)));
        if let Some(answer) = answer.filter(|_| dependencies.is_recording() && is_whole(&own_dependencies)) {
            self.keep(key, (revision, node), answer, own_dependencies);
        }
        None
    }

    /// Returns the answers that are kept for a key, or `None` until enough lookups have asked for it.
    fn kinds(&self, key: &str) -> Option<Vec<Arc<AnswerClasses>>> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(of_key) = keys.get_mut(key) else {
            keys.insert(key.into(), KeyAnswers::default());
            return None;
        };
        of_key.lookups += 1;
        (of_key.lookups > LOOKUPS_BEFORE_KEEPING).then(|| of_key.kinds.clone())
    }

    fn keep(
        &self,
        key: &str,
        (revision, node): (&Revision, NodeId),
        answer: SharedAnswer,
        own_dependencies: DependencySet,
    ) {
        let count = answer.value.as_ref().map_or(1, count_parts);
        if self.parts.fetch_add(count, Ordering::Relaxed) > MOST_PARTS {
            return;
        }
        let known = self.kinds(key).unwrap_or_default();
        if let Some(classes) = known.iter().find(|classes| classes.has(&own_dependencies)) {
            return classes.keep(node, answer);
        }
        let count = revision.fleet.len();
        if known.len() >= MOST_KINDS || self.numbers.fetch_add(count, Ordering::Relaxed) > MOST_NUMBERS {
            return;
        }
        let mut sets = vec![revision.fleet.all()];
        for (dependency, levels) in &own_dependencies {
            sets = sets.iter().flat_map(|nodes| revision.split(dependency, 0..*levels, nodes)).collect();
        }
        let classes = AnswerClasses::new(own_dependencies, Partition::of_classes(count, sets));
        classes.keep(node, answer);
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.entry(key.into()).or_default().kinds.push(Arc::new(classes));
    }
}

fn count_parts(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count_parts).sum::<usize>(),
        Value::Hash(hash) => 1 + hash.values().map(|value| 1 + count_parts(value)).sum::<usize>(),
        _ => 1,
    }
}
