//! Makes a [`Report`] of changes and findings: counts, groups, order.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::causes::causes;
use super::secrets::redacted;
use super::similarity::items;
use super::{
    Arrival, BlindSpot, Commit, Count, FindingChange, Group, Item, KeyChange, Leaf, NodeNames, Origin, Reencrypted,
    Report,
};
use crate::diagnostic::{Diagnostic, Severity};
use crate::diff::{Change, ChangeKind, Changes, Diff};
use crate::disclosure::Disclosure;
use crate::fleet::{Finding, Fleet};
use crate::node::NodeSet;

/// What a report is made of.
#[derive(Clone)]
pub struct Input<'a> {
    /// The revisions.
    pub commit: Diff<Option<Commit>>,
    /// How the commit has come to a branch, where that is known.
    pub arrival: Option<Arrival>,
    /// What the nodes are called.
    pub names: NodeNames,
    /// The nodes that were compared.
    pub nodes: NodeSet,
    /// The number of keys that were compared.
    pub keys: usize,
    /// The changes, as [`crate::diff::changes`] gives them.
    pub changes: Changes,
    /// Where they come from.
    pub origins: Origins,
    /// What may be seen of secrets.
    pub disclosure: &'a Disclosure,
    /// What was found wrong on either side.
    pub findings: Diff<&'a [Finding]>,
    /// What the commit may have changed unseen, the most important first.
    pub blind_spots: Vec<BlindSpot>,
    /// The sides on which nothing at all could be read.
    pub is_unreadable: Diff<bool>,
}

/// Where parts of changed values come from, as far as that is known: for those before the end of each list.
#[derive(Debug, Clone, Default)]
pub struct Origins {
    /// For each change, and each of its differences.
    pub changes: Vec<Vec<Diff<Option<Origin>>>>,
    /// For each secret that was encrypted anew.
    pub reencrypted: Vec<Option<Origin>>,
}

impl Report {
    /// The report of `input`.
    pub fn new(input: Input<'_>) -> Report {
        let Changes { changes, reencrypted } = input.changes;
        // What is alike among secrets must not be told either, so they are hidden before anything is compared.
        let changes: Vec<Change> = changes.into_iter().map(|change| redacted(change, input.disclosure)).collect();
        let fleet = input.names.fleet.clone();
        let nodes = NodeSet::union_of(fleet.len(), changes.iter().map(|change| change.nodes.clone()));
        let keys: BTreeSet<&Arc<str>> = changes.iter().map(|change| &change.key).collect();
        let keys = Count { total: input.keys, changed: keys.len() };
        let causes = causes(&changes);
        let folded: HashSet<usize> = causes.iter().flat_map(|cause| cause.changes.iter().copied()).collect();
        let groups = groups(&changes, &folded, &fleet, &input.nodes);
        let mut blind_spots = input.blind_spots;
        blind_spots.extend(emptiness(input.nodes.len(), keys.total).filter(|_| blind_spots.is_empty()));
        let origins = input.origins.changes.into_iter().chain(std::iter::repeat_with(Vec::new));
        let origin = input.origins.reencrypted.into_iter().chain(std::iter::repeat(None));
        Report {
            names: input.names,
            commit: input.commit,
            arrival: input.arrival,
            nodes: Count { total: input.nodes.len(), changed: nodes.len() },
            keys,
            groups,
            causes,
            changes: changes.into_iter().zip(origins).map(|(c, origins)| key_change(c, origins)).collect(),
            reencrypted: reencrypted
                .into_iter()
                .zip(origin)
                .map(|(secret, origin)| Reencrypted {
                    key: secret.key,
                    path: input.disclosure.path(&secret.path).into_owned(),
                    nodes: secret.nodes,
                    origin,
                })
                .collect(),
            findings: findings(input.findings),
            blind_spots,
            is_unreadable: input.is_unreadable,
        }
    }

    /// The change that stands for all of an item.
    pub fn first(&self, item: &Item) -> &KeyChange {
        &self.changes[item.first]
    }
}

impl ChangeKind {
    /// Whether the key is an error now.
    pub fn is_error(self) -> bool {
        matches!(self, ChangeKind::Failed | ChangeKind::ErrorChanged)
    }
}

fn key_change(change: Change, origins: Vec<Diff<Option<Origin>>>) -> KeyChange {
    let origins = origins.into_iter().chain(std::iter::repeat_with(Diff::default));
    KeyChange {
        nodes: change.nodes,
        key: change.key,
        kind: change.kind,
        outcome: change.outcome,
        leaves: change.leaves.into_iter().zip(origins).map(|(change, origin)| Leaf { change, origin }).collect(),
    }
}

/// What is cheap to ask of a set and tells most apart: its size and its first node.
fn summary(nodes: &NodeSet) -> (usize, u32) {
    (nodes.len(), nodes.first().map_or(0, |node| node.0))
}

/// Joins the changes of each key that read the same, and those that concern the same nodes.
fn groups(changes: &[Change], folded: &HashSet<usize>, fleet: &Fleet, all: &NodeSet) -> Vec<Group> {
    let mut sets: Vec<(bool, NodeSet, Vec<Item>)> = Vec::new();
    let mut by_summary: HashMap<(bool, usize, u32), Vec<usize>> = HashMap::new();
    for (item, nodes) in items(changes, folded, fleet) {
        let fails = changes[item.first].kind.is_error();
        let (len, smallest) = summary(&nodes);
        let candidates = by_summary.entry((fails, len, smallest)).or_default();
        if let Some(at) = candidates.iter().find(|at| sets[**at].1 == nodes) {
            sets[*at].2.push(item);
        } else {
            candidates.push(sets.len());
            sets.push((fails, nodes, vec![item]));
        }
    }
    sets.sort_by_key(|(fails, nodes, items)| (!fails, std::cmp::Reverse(nodes.len()), nodes.first(), items[0].first));
    let group = |(_, nodes, items): (bool, NodeSet, Vec<Item>)| {
        let are_most = all.len() - nodes.len() <= nodes.len() / 4;
        let except = if are_most { all.difference(&nodes) } else { NodeSet::new() };
        Group { nodes, except, items }
    };
    sets.into_iter().map(group).collect()
}

/// That there is nothing to compare, if so.
fn emptiness(nodes: usize, keys: usize) -> Option<BlindSpot> {
    let (code, headline, fix) = match (nodes, keys) {
        (0, _) => ("no-profiles", "there are no node profiles", "add profiles of the nodes"),
        (_, 0) => (
            "no-keys",
            "no data file has a key",
            "put data where the hierarchy looks for it; `hierad check` tells more",
        ),
        _ => return None,
    };
    let message = format!("{headline}, so no change can be seen");
    Some(BlindSpot { code, headline: headline.to_owned(), message, fix: Some(fix.to_owned()), ..BlindSpot::default() })
}

/// Findings of one side only. A line that has moved is the same finding.
fn findings(findings: Diff<&[Finding]>) -> Vec<FindingChange> {
    let keys = findings.map(|list| list.iter().map(|f| without_line(&f.diagnostic)).collect::<BTreeSet<_>>());
    let only = |list: &[Finding], other: &BTreeSet<_>, is_new| -> Vec<FindingChange> {
        let mut only: Vec<FindingChange> = list
            .iter()
            .filter(|finding| !other.contains(&without_line(&finding.diagnostic)))
            .map(|f| FindingChange { is_new, diagnostic: f.diagnostic.clone(), nodes: f.nodes.len() })
            .collect();
        only.sort_by(|a, b| order(&a.diagnostic).cmp(&order(&b.diagnostic)));
        only
    };
    let mut changed = only(findings.after, &keys.before, true);
    changed.extend(only(findings.before, &keys.after, false));
    changed
}

fn without_line(diagnostic: &Diagnostic) -> (Option<&str>, Severity, &str, &str) {
    let path = diagnostic.place.as_ref().map(|place| &*place.path);
    (path, diagnostic.severity, diagnostic.code, &diagnostic.text)
}

fn order(diagnostic: &Diagnostic) -> (std::cmp::Reverse<Severity>, &Diagnostic) {
    (std::cmp::Reverse(diagnostic.severity), diagnostic)
}
