//! Resolves many keys on a whole fleet.

mod faults;
mod filled;
mod origins;
mod shared_classes;
mod sharing;
mod spending;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Display;
use std::hash::Hash;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::dependencies::Dependencies;
use crate::fleet::revision::Revision;
use crate::fleet::revision::node_view::NodeView;
use crate::fleet::revision::shared_answers::SharedAnswers;
use crate::fleet::run_budget;
use crate::fleet::template::{Evaluated, Template};
use crate::fleet::{Answer, Effective, NodesByKey};
use crate::hiera::budget::Cost;
use crate::hiera::{LookupError, Outcome};
use crate::node::NodeSet;
use crate::workers::Workers;

use sharing::SharedParts;
use spending::Spending;

pub use origins::{OriginClasses, origins};

/// Returns the effective values of some keys on some nodes, without templates. The result does not depend on `workers`.
pub fn resolve(revision: &Revision, keys: &NodesByKey, workers: &Workers) -> Effective {
    let [effective] = resolve_all([revision], keys, workers);
    filled::filled(effective, workers)
}

/// Returns the effective values of some keys in several revisions; answers that differ from node to node only by
/// texts inserted into them are templates. Equal outcomes and templates are shared, across all revisions. Keys that
/// exceed the run's budget fail.
pub fn resolve_all<const N: usize>(revisions: [&Revision; N], keys: &NodesByKey, workers: &Workers) -> [Effective; N] {
    let asks_commands = revisions.iter().any(|revision| revision.asks_commands());
    let workers = &in_turn(asks_commands, workers);
    let all = shared_classes::all_nodes(&revisions, keys);
    // A set with as many nodes as the fleet contains all of them.
    let by_classes = |nodes: &NodeSet| all.as_ref().filter(|all| all.len() == nodes.len());
    let shared = [(); N].map(|()| SharedAnswers::default());
    let shared = shared.each_ref().map(|shared| Some(shared).filter(|_| !asks_commands));
    let tasks: Vec<Task<'_>> = revisions
        .iter()
        .zip(shared)
        .flat_map(|(revision, shared)| {
            keys.iter().map(move |(key, nodes)| (*revision, key, by_classes(nodes).unwrap_or(nodes), shared))
        })
        .collect();
    let nodes = revisions.first().map_or(0, |revision| revision.fleet.len());
    let budget = run_budget::of_run(nodes, workers);
    let too_many = run_budget::too_many(tasks.len(), budget).map(|reason| Arc::new(failed(reason)));
    let found = match &too_many {
        Some(_) => tasks.iter().map(|_| None).collect(),
        None => run_budget::evaluate(&tasks, workers, budget, |task, limit| answers(*task, limit, workers)),
    };
    let left_out = |task| left_out(task, too_many.as_ref(), workers);
    let found = found.into_iter().zip(&tasks).map(|(answers, task)| answers.unwrap_or_else(|| left_out(*task)));
    let mut found = found.collect::<Vec<_>>().into_iter();
    let stage = workers.begin("gathering answers", Some(tasks.len()));
    let mut known = KnownAnswers::default();
    revisions.map(|_| {
        let mut found: BTreeMap<Arc<str>, Vec<Answer>> =
            keys.keys().cloned().zip(&mut found).filter(|(_, answers)| !answers.is_empty()).collect();
        stage.advance(keys.len() - found.len());
        for answers in found.values_mut() {
            for answer in answers.iter_mut() {
                known.share(answer);
            }
            stage.advance(1);
        }
        Effective { keys: found }
    })
}

/// Returns the workers that may look keys up: a command that fails repeatedly is no longer used, so the order of the
/// requests matters if there are any.
fn in_turn(asks_commands: bool, workers: &Workers) -> Workers {
    workers.at_most(if asks_commands { 1 } else { usize::MAX })
}

/// A key, the nodes on which it is looked up in a revision, and answers that it may share with others.
type Task<'t> = (&'t Revision, &'t Arc<str>, &'t NodeSet, Option<&'t SharedAnswers>);

/// Returns the distinct answers for a key, in the order of their first nodes, and their total cost. Beyond the limit,
/// the rest is not evaluated.
fn answers((revision, key, nodes, answers): Task<'_>, limit: Cost, workers: &Workers) -> (Vec<Answer>, Cost) {
    let spending = Spending::new(limit, workers);
    let look_up = |node, dependencies: &Dependencies| {
        spending.look_up(|left| NodeView { revision, node, dependencies, answers }.get(key, left))
    };
    let shared = RefCell::default();
    let get = |node, dependencies: &Dependencies| {
        dependencies.open();
        let Evaluated { outcome, template } = dependencies.close(look_up(node, dependencies));
        Evaluated { outcome: SharedParts::share(&shared, outcome), template }
    };
    let mut distinct: HashMap<Evaluated, NodeSet, RandomState> = HashMap::default();
    for (nodes, evaluated) in revision.evaluate_per_class(nodes.clone(), get) {
        if evaluated.outcome != Outcome::NotFound {
            distinct.entry(evaluated).or_default().union_with(&nodes);
        }
    }
    let answer = |(Evaluated { outcome, template }, nodes)| Answer {
        nodes,
        outcome: Arc::new(outcome),
        template: template.map(Arc::new),
    };
    let mut answers: Vec<Answer> = distinct.into_iter().map(answer).collect();
    answers.sort_by_cached_key(|answer| answer.nodes.first());
    (answers, spending.spent())
}

/// Returns the answer for a key that was left out, because there are `too_many` answers or the budget of the run is
/// used up.
fn left_out((_, key, nodes, _): Task<'_>, too_many: Option<&Arc<Outcome>>, workers: &Workers) -> Vec<Answer> {
    let used_up = || {
        format!("the budget of the run is used up, and '{key}' takes more than its share ('limits' in hierad.yaml)")
            .into()
    };
    let outcome = match (workers.stop.reason(), too_many) {
        (None, Some(too_many)) => too_many.clone(),
        (reason, _) => Arc::new(failed(reason.unwrap_or_else(used_up))),
    };
    vec![Answer::new(nodes.clone(), outcome)]
}

fn failed(reason: impl Display) -> Outcome {
    Outcome::Failed(LookupError::unknown(reason))
}

/// Outcomes and templates that are known already.
#[derive(Default)]
struct KnownAnswers {
    outcomes: HashSet<Arc<Outcome>, RandomState>,
    templates: HashSet<Arc<Template>, RandomState>,
}

impl KnownAnswers {
    /// Replaces the parts of an answer by equal ones that are known.
    fn share(&mut self, answer: &mut Answer) {
        match &mut answer.template {
            Some(template) => share(template, &mut self.templates),
            None => share(&mut answer.outcome, &mut self.outcomes),
        }
    }
}

fn share<T: Eq + Hash>(one: &mut Arc<T>, known: &mut HashSet<Arc<T>, RandomState>) {
    match known.get(one) {
        Some(equal) => *one = equal.clone(),
        None => _ = known.insert(one.clone()),
    }
}
