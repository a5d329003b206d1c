//! The values of a key over time, worked out backwards from those at the last commit.

use super::{Result, entry, shown};
use crate::app::daemon::answers::broken;
use crate::fleet::Answer;
use crate::git::CommitId;
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::page::content::{Moment, Shown, Timeline};
use crate::pipeline::{Pipeline, RevisionId};
use crate::report::{KeyChange, Report};

/// The maximum number of bands, each with a colour in the style sheet. The last one may stand for all other values.
const MAX_BANDS: usize = 8;

/// The number of the values that are different on each node.
const DIFFERENT_ON_EACH: usize = 0;

/// The nodes with each value, by its number: sets that do not overlap.
#[derive(Default)]
struct NodesByValue(Vec<(usize, NodeSet)>);

impl NodesByValue {
    fn counts(&self, values: usize) -> Vec<usize> {
        let mut counts = vec![0; values];
        for (value, nodes) in &self.0 {
            counts[*value] += nodes.len();
        }
        counts
    }

    /// Moves nodes to a value, or to none.
    fn set(&mut self, nodes: &NodeSet, value: Option<usize>) {
        for (_, others) in &mut self.0 {
            *others = others.difference(nodes);
        }
        self.0.retain(|(_, nodes)| !nodes.is_empty());
        self.0.extend(value.map(|value| (value, nodes.clone())));
    }
}

/// The distinct values so far. The first stands for those that are different on each node.
struct Values<'p> {
    pipeline: &'p Pipeline,
    all: Vec<Option<Shown>>,
}

impl Values<'_> {
    /// Returns the number of a value, which is a new one if it was not there before.
    fn number(&mut self, outcome: Option<&Outcome>, is_different: bool) -> Option<usize> {
        let shown = shown(outcome?, &self.pipeline.disclosure)?;
        if is_different {
            return Some(DIFFERENT_ON_EACH);
        }
        let known = self.all.iter().position(|known| known.as_ref() == Some(&shown));
        Some(known.unwrap_or_else(|| {
            self.all.push(Some(shown));
            self.all.len() - 1
        }))
    }

    fn before(&mut self, change: &KeyChange) -> Option<usize> {
        let is_different = change.variants.as_ref().is_some_and(|variants| variants.sides().before);
        self.number(change.outcome.before.as_deref(), is_different)
    }
}

/// Returns the number of nodes with each value of a key, before and after each commit of `reports`, the oldest first.
/// `reports` have the newest first. Returns `None` if they have no commit.
pub(super) fn timeline(
    pipeline: &Pipeline,
    key: &str,
    nodes: &NodeSet,
    reports: &[Report],
) -> Result<Option<Timeline>> {
    let commits: Vec<(CommitId, &Report)> = reports.iter().filter_map(commit).collect();
    let Some((last, _)) = commits.first() else { return Ok(None) };
    let revision = pipeline.cached_revision(RevisionId::Commit(*last)).map_err(broken)?;
    let effective = pipeline.effective_among(nodes, &revision, [&key.into()]);
    let answers: Vec<Answer> = effective.keys.into_values().flatten().collect();
    let (mut values, mut nodes_by_value) = (Values { pipeline, all: vec![None] }, NodesByValue::default());
    for Answer { nodes: with, outcome, template } in &answers {
        let value = values.number(Some(outcome), template.is_some());
        nodes_by_value.set(&with.intersection(nodes), value);
    }
    let mut states = Vec::new();
    for (id, report) in commits {
        let commit = pipeline.repository().commit(id).map_err(broken)?;
        states.push((Some(entry(commit)), nodes_by_value.counts(values.all.len())));
        for change in report.changes.iter().filter(|change| *change.key == *key) {
            let before = values.before(change);
            nodes_by_value.set(&change.nodes.intersection(nodes), before);
        }
    }
    states.push((None, nodes_by_value.counts(values.all.len())));
    let moments: Vec<Moment> = states.into_iter().rev().map(|(commit, nodes)| Moment { commit, nodes }).collect();
    Ok(Some(limit_bands(&values.all, &moments, nodes.len())))
}

/// Returns a report with its commit, or `None` if it is about new facts: a timeline has the present facts all along.
fn commit(report: &Report) -> Option<(CommitId, &Report)> {
    let commit = report.commit.after.as_ref().filter(|_| !report.is_of_facts())?;
    Some((CommitId::from_hex(&commit.id)?, report))
}

/// Keeps the bands of the values that most nodes have or had, and joins the others with those that are different on
/// each node, behind them.
fn limit_bands(values: &[Option<Shown>], moments: &[Moment], nodes: usize) -> Timeline {
    let at = |moment: &Moment, value: usize| moment.nodes.get(value).copied().unwrap_or(0);
    let sum = |value: usize| moments.iter().map(|moment| at(moment, value)).sum::<usize>();
    let mut order: Vec<usize> = (DIFFERENT_ON_EACH + 1..values.len()).collect();
    order.sort_by_key(|value| std::cmp::Reverse(sum(*value)));
    let rest = order.split_off(order.len().min(MAX_BANDS - 1));
    let has_rest = sum(DIFFERENT_ON_EACH) > 0 || !rest.is_empty();
    let counts = |moment: &Moment| {
        let others = at(moment, DIFFERENT_ON_EACH) + rest.iter().map(|value| at(moment, *value)).sum::<usize>();
        order.iter().map(|value| at(moment, *value)).chain(has_rest.then_some(others)).collect()
    };
    let moments =
        moments.iter().map(|moment| Moment { commit: moment.commit.clone(), nodes: counts(moment) }).collect();
    let shown = order.iter().map(|value| values[*value].clone());
    let bands = shown.chain(has_rest.then_some(None)).collect();
    Timeline { bands, moments, nodes }
}
