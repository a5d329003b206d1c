//! Finds the places that the values of keys come from.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fleet::NodesByKey;
use crate::fleet::dependencies::Dependencies;
use crate::fleet::revision::Revision;
use crate::fleet::revision::node_view::NodeView;
use crate::fleet::run_budget;
use crate::hiera::Outcome;
use crate::hiera::budget::Cost;
use crate::hiera::explain::Recorder;
use crate::hiera::explain::provenance::{Origin, contributions};
use crate::node::NodeSet;
use crate::value::ValuePath;
use crate::workers::Workers;

use super::{in_turn, spending::Spending};

/// The places of a key, each with the nodes whose value comes from there, in the order of the places.
pub type OriginClasses = Vec<(Origin, NodeSet)>;

/// Returns the places of the values of some keys on some nodes. A merged value has that of its contribution of the
/// highest priority. Nodes without a value, or whose value comes from no file, are in no class, and neither are those
/// of keys that exceed the run's budget. The result does not depend on `workers`.
pub fn origins(revision: &Revision, keys: &NodesByKey, workers: &Workers) -> BTreeMap<Arc<str>, OriginClasses> {
    let workers = &in_turn(revision.asks_commands(), workers);
    let tasks: Vec<_> = keys.iter().collect();
    let budget = run_budget::of_run(revision.fleet.len(), workers);
    let find = |(key, nodes): &(&Arc<str>, &NodeSet), limit| of_key(revision, (key, nodes), limit, workers);
    let found = run_budget::evaluate(&tasks, workers, budget, find);
    keys.keys().cloned().zip(found.into_iter().map(Option::unwrap_or_default)).collect()
}

/// Returns the places of a key, and the cost of finding them.
fn of_key(
    revision: &Revision,
    (key, nodes): (&str, &NodeSet),
    limit: Cost,
    workers: &Workers,
) -> (OriginClasses, Cost) {
    let spending = Spending::new(limit, workers);
    let find = |node, dependencies: &Dependencies| {
        dependencies.open();
        let recorder = Recorder::default();
        let view = NodeView { revision, node, dependencies, answers: None };
        let outcome = dependencies.close(spending.look_up(|left| view.explain(key, &recorder, left))).outcome;
        let first = contributions(&recorder.finish(), key).into_iter().next();
        first.filter(|_| matches!(outcome, Outcome::Found(_)))?.origin_of(&ValuePath::default())
    };
    let mut classes: BTreeMap<Origin, NodeSet> = BTreeMap::new();
    for (nodes, origin) in revision.evaluate_per_class(nodes.clone(), find) {
        if let Some(origin) = origin {
            classes.entry(origin).or_default().union_with(&nodes);
        }
    }
    (classes.into_iter().collect(), spending.spent())
}
