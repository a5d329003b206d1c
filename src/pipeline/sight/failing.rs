//! Keys that fail before and after: that no change of them shows does not mean that there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::accept::{self, Accepted};
use super::{Scene, words};
use crate::disclosure::Disclosure;
use crate::fleet::{Answer, Effective, Fleet};
use crate::hiera::{LookupError, Outcome};
use crate::node::NodeSet;
use crate::pipeline::advice;
use crate::report::BlindSpot;

/// What fails for one cause.
#[derive(Default)]
struct Failing {
    nodes: NodeSet,
    keys: BTreeSet<Arc<str>>,
}

impl Scene<'_> {
    /// Keys that the commit reaches and that fail on both sides, by cause.
    pub(super) fn failing_keys(&self) -> Vec<BlindSpot> {
        let mut causes: BTreeMap<LookupError, Failing> = BTreeMap::new();
        for (key, after) in &self.effective.after.keys {
            let Some(before) = self.effective.before.keys.get(key) else { continue };
            if self.accepted.has("failing-keys", key) {
                continue;
            }
            for (error, nodes) in failing(before, after) {
                let failing = causes.entry(LookupError { place: None, ..error.clone() }).or_default();
                failing.nodes.extend(&nodes);
                failing.keys.insert(key.clone());
            }
        }
        let all = self.revisions.after.fleet.len();
        let mut spots: Vec<BlindSpot> =
            causes.into_iter().map(|(error, failing)| spot(self.disclosure, &error, failing, all)).collect();
        spots.sort_by_key(|spot| std::cmp::Reverse(spot.keys.len()));
        spots
    }
}

/// Keys that fail at one revision, by cause.
pub(super) fn of_answers(
    effective: &Effective,
    fleet: &Fleet,
    accepted: &Accepted,
    disclosure: &Disclosure,
) -> Vec<BlindSpot> {
    let mut causes: BTreeMap<LookupError, Failing> = BTreeMap::new();
    for (key, answers) in effective.keys.iter().filter(|(key, _)| !accepted.has("failing-keys", key)) {
        for answer in answers {
            if let Outcome::Failed(error) = &*answer.outcome {
                let failing = causes.entry(LookupError { place: None, ..error.clone() }).or_default();
                failing.nodes.extend(&answer.nodes);
                failing.keys.insert(key.clone());
            }
        }
    }
    let spots = causes.into_iter().map(|(error, failing)| {
        let (count, of) = (words::count(failing.keys.len(), "key"), words::nodes_of(&failing.nodes, fleet.len()));
        let verb = if failing.keys.len() == 1 { "fails" } else { "fail" };
        let error = disclosure.error(&error).into_owned();
        let message = format!("{count} {verb} on {of}: {}", error.text.visible());
        BlindSpot {
            code: "failing-keys",
            headline: format!("{count} {verb} on {of}"),
            message,
            nodes: failing.nodes,
            keys: failing.keys.into_iter().collect(),
            ..BlindSpot::default()
        }
    });
    let mut spots: Vec<BlindSpot> = spots.collect();
    spots.sort_by_key(|spot| std::cmp::Reverse(spot.keys.len()));
    spots
}

/// The errors after, with the nodes on which there was one before, too.
fn failing<'a>(before: &'a [Answer], after: &'a [Answer]) -> impl Iterator<Item = (&'a LookupError, NodeSet)> {
    let error = |answer: &'a Answer| match &*answer.outcome {
        Outcome::Failed(error) => Some((error, &answer.nodes)),
        _ => None,
    };
    let failed: Vec<&NodeSet> = before.iter().filter_map(error).map(|(_, nodes)| nodes).collect();
    after.iter().filter_map(error).filter_map(move |(error, nodes)| {
        let mut both = NodeSet::new();
        for failed in &failed {
            both.extend(&failed.and(nodes));
        }
        (!both.is_empty()).then_some((error, both))
    })
}

fn spot(disclosure: &Disclosure, error: &LookupError, Failing { nodes, keys }: Failing, all: usize) -> BlindSpot {
    let error = disclosure.error(error);
    let (count, of) = (words::count(keys.len(), "key"), words::nodes_of(&nodes, all));
    let fails = if keys.len() == 1 { "fails" } else { "fail" };
    let names = words::some(keys.iter().map(|key| &**key));
    let fix = advice::fix_of_error(&error.text);
    let is_function = advice::missing_function(&error.text).is_some();
    let first = keys.first().map_or("", |key| &**key);
    let accept = accept::line("failing-keys", [first]);
    let accept = || format!("`hierad check` names each cause; if they may fail, put into hierad.yaml: {accept}");
    BlindSpot {
        code: if is_function { "unknown-function" } else { "failing-keys" },
        headline: format!("{count} {fails} before and after on {of}"),
        message: format!(
            "{count} that the commit may change ({names}) {fails} before and after on {of}: {}",
            error.text.visible().trim_end_matches([' ', ';', '\n'])
        ),
        fix: Some(fix.unwrap_or_else(accept)),
        nodes,
        keys: keys.into_iter().collect(),
        ..BlindSpot::default()
    }
}
