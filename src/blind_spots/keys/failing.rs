//! Finds keys that fail both before and after: their values may change without showing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::blind_spots::accept::{self, Accepted};
use crate::blind_spots::suggestions;
use crate::blind_spots::{DiffContext, wording};
use crate::disclosure::Disclosure;
use crate::fleet::{Answer, Effective, Fleet};
use crate::hiera::{LookupError, Outcome};
use crate::node::NodeSet;
use crate::report::BlindSpot;

/// The keys that fail for one cause, and their nodes.
#[derive(Default)]
pub(crate) struct Failing {
    pub(crate) nodes: NodeSet,
    pub(crate) keys: BTreeSet<Arc<str>>,
}

/// Keys that fail, by their errors.
#[derive(Default)]
pub(crate) struct Causes(pub(crate) BTreeMap<LookupError, Failing>);

impl Causes {
    /// Collects the errors among answers.
    pub(crate) fn of<'a>(answers: impl IntoIterator<Item = (&'a Arc<str>, &'a Vec<Answer>)>) -> Causes {
        let mut causes = Causes::default();
        for (key, answers) in answers {
            for (error, nodes) in answers.iter().filter_map(failed) {
                causes.add(error, key, nodes);
            }
        }
        causes
    }

    fn add(&mut self, error: &LookupError, key: &Arc<str>, nodes: &NodeSet) {
        let failing = self.0.entry(error.clone()).or_default();
        failing.nodes.union_with(nodes);
        failing.keys.insert(key.clone());
    }

    /// Returns a blind spot for each error, whatever its places; those with the most keys come first.
    fn spots(self, spot: impl Fn(LookupError, Failing) -> BlindSpot) -> Vec<BlindSpot> {
        let mut anywhere: BTreeMap<LookupError, Failing> = BTreeMap::new();
        for (error, Failing { nodes, keys }) in self.0 {
            let failing = anywhere.entry(LookupError { place: None, ..error }).or_default();
            failing.nodes.union_with(&nodes);
            failing.keys.extend(keys);
        }
        let mut spots: Vec<BlindSpot> = anywhere.into_iter().map(|(error, failing)| spot(error, failing)).collect();
        spots.sort_by_key(|spot| std::cmp::Reverse(spot.keys.len()));
        spots
    }
}

/// Returns the error of an answer and its nodes, or `None` if it is not an error.
fn failed(answer: &Answer) -> Option<(&LookupError, &NodeSet)> {
    match &*answer.outcome {
        Outcome::Failed(error) => Some((error, &answer.nodes)),
        _ => None,
    }
}

impl DiffContext<'_> {
    /// Returns blind spots for the affected keys that fail on both sides, by cause.
    pub(crate) fn failing_keys(&self) -> Vec<BlindSpot> {
        let mut causes = Causes::default();
        for (key, after) in &self.effective.after.keys {
            let Some(before) = self.effective.before.keys.get(key) else { continue };
            if self.accepted.has_key("failing-keys", key) {
                continue;
            }
            for (error, nodes) in failing_on_both_sides(before, after) {
                causes.add(error, key, &nodes);
            }
        }
        let all = self.revisions.after.fleet.len();
        causes.spots(|error, failing| spot(self.disclosure, &error, failing, all))
    }
}

/// Returns blind spots for the keys that fail at one revision, by cause.
pub(crate) fn of_answers(
    effective: &Effective,
    fleet: &Fleet,
    accepted: &Accepted,
    disclosure: &Disclosure,
) -> Vec<BlindSpot> {
    let answers = effective.keys.iter().filter(|(key, _)| !accepted.has_key("failing-keys", key));
    Causes::of(answers).spots(|error, Failing { nodes, keys }| {
        let (count, node_share) = (wording::count(keys.len(), "key"), wording::nodes_of(&nodes, fleet.len()));
        let verb = if keys.len() == 1 { "fails" } else { "fail" };
        let headline = format!("{count} {verb} on {node_share}");
        let error = disclosure.error(&error);
        let message = format!("{headline}: {}", error.text.visible());
        let (fix, keys) = (suggestions::fix_for_error(&error), keys.into_iter().collect());
        BlindSpot { code: "failing-keys", headline, message, fix, nodes, keys, ..BlindSpot::default() }
    })
}

/// Returns the errors after the change, each with the nodes that had an error before it too.
fn failing_on_both_sides<'a>(
    before: &'a [Answer],
    after: &'a [Answer],
) -> impl Iterator<Item = (&'a LookupError, NodeSet)> {
    let failed_before: Vec<&NodeSet> = before.iter().filter_map(failed).map(|(_, nodes)| nodes).collect();
    after.iter().filter_map(failed).filter_map(move |(error, nodes)| {
        let mut both = NodeSet::new();
        for failed in &failed_before {
            both.union_with(&failed.intersection(nodes));
        }
        (!both.is_empty()).then_some((error, both))
    })
}

fn spot(disclosure: &Disclosure, error: &LookupError, Failing { nodes, keys }: Failing, all: usize) -> BlindSpot {
    let error = disclosure.error(error);
    let (count, node_share) = (wording::count(keys.len(), "key"), wording::nodes_of(&nodes, all));
    let fails = if keys.len() == 1 { "fails" } else { "fail" };
    let names = wording::some(keys.iter().map(|key| &**key));
    let fix = suggestions::fix_for_error(&error);
    let is_function = error.missing_function().is_some();
    let first = keys.first().map_or("", |key| &**key);
    let words = "`hierad check` names each cause; if they may fail, add to hierad.yaml";
    let accept = || accept::remedy(words, "failing-keys", [first]);
    BlindSpot {
        code: if is_function { "unknown-function" } else { "failing-keys" },
        headline: format!("{count} {fails} before and after on {node_share}"),
        message: format!(
            "{count} that the commit may change ({names}) {fails} before and after on {node_share}: {}",
            error.text.visible().trim_end_matches([' ', ';', '\n'])
        ),
        fix: Some(fix.unwrap_or_else(accept)),
        nodes,
        keys: keys.into_iter().collect(),
        ..BlindSpot::default()
    }
}
