//! Finds edits that depend on each other: undoing one of them alone changes a value that the commit leaves as it is.
//!
//! Data that moves from one file to another changes nothing; either half alone does. Such lines are undone together
//! and reported together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::allowance::Allowance;
use super::edits::{Edits, Group};
use super::on_node::{OnNode, found_value};
use super::search::{MAX_GROUPS, MAX_PARTS, Search};
use super::trial::Trial;
use crate::diff::{self, Changes, Diff, LeafChange};
use crate::fleet::parallel;
use crate::hiera::Outcome;
use crate::hiera::key::asks_for;
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::node::NodeSet;
use crate::report::Side;
use crate::value::Segment;
use crate::workers::Workers;

/// The maximum number of keys for which such edits are looked for.
const MAX_KEYS: usize = 500;

/// Lines, and others that have to be undone with them.
pub(super) struct Bond {
    pub(super) lines: BTreeSet<usize>,
    pub(super) with: BTreeSet<usize>,
}

/// The edits of a commit that depend on each other.
#[derive(Default)]
pub(super) struct Bonds {
    pub(super) all: Vec<Bond>,
    /// The edits whose dependencies are not fully known.
    pub(super) unknown: BTreeSet<usize>,
}

/// Returns the edits that depend on each other.
pub(super) fn find(changes: &Changes, search: &Search<'_>, workers: &Workers) -> Bonds {
    let edits = search.edits;
    let mut bonds = Bonds::default();
    if edits.groups.len() < 2 {
        return bonds;
    }
    let keys = edits_by_key(edits);
    let mut tried: Vec<_> = keys.iter().collect();
    let rest = tried.split_off(tried.len().min(MAX_KEYS));
    bonds.unknown.extend(rest.into_iter().flat_map(|(_, groups)| groups));
    bonds.unknown.extend(edits_of_all_keys(edits));
    let mut by_key: HashMap<&str, Vec<&NodeSet>> = tried.iter().map(|(key, _)| (&***key, Vec::new())).collect();
    for change in &changes.changes {
        by_key.entry(&change.key).and_modify(|nodes| nodes.push(&change.nodes));
    }
    let found = parallel::map(&tried, workers, "tracing lines", |(key, groups)| {
        let allowance = Allowance::share(workers.limits.steps, tried.len());
        let own_changes = by_key.get(&***key).map_or(&[][..], Vec::as_slice);
        let key_edits = KeyEdits { search, key, groups, own_changes, allowance: &allowance };
        key_edits.bonds().ok_or(*groups)
    });
    for found in found {
        match found {
            Ok(found) => bonds.all.extend(found),
            Err(groups) => bonds.unknown.extend(groups),
        }
    }
    bonds
}

/// Returns the edits that may depend on each other for any key: files that concern all keys, and patterns.
fn edits_of_all_keys(edits: &Edits) -> impl Iterator<Item = usize> {
    let is_pattern = |group: &Group| group.option.as_ref().is_some_and(|name| name.starts_with('^'));
    let is_lone = edits.groups.iter().filter(|group| is_pattern(group)).count() < 2;
    let is_whole = |group: &Group| group.root.is_none() && group.config.is_none();
    let is_of_all = move |group: &Group| is_whole(group) || !is_lone && is_pattern(group);
    edits.groups.iter().enumerate().filter(move |(_, group)| is_of_all(group)).map(|(at, _)| at)
}

/// Returns the keys with their edits.
fn edits_by_key(edits: &Edits) -> BTreeMap<Arc<str>, Vec<usize>> {
    let mut keys: BTreeMap<Arc<str>, Vec<usize>> = BTreeMap::new();
    for (at, group) in edits.groups.iter().enumerate() {
        let key = group.option.as_ref().or(group.root.as_ref());
        let key = key.filter(|key| !key.starts_with('^') && ***key != *LOOKUP_OPTIONS);
        if let Some(key) = key.and_then(asks_for) {
            keys.entry(key).or_default().push(at);
        }
    }
    keys
}

/// The edits of a key.
struct KeyEdits<'a, 's> {
    search: &'a Search<'s>,
    key: &'a Arc<str>,
    groups: &'a [usize],
    /// The nodes of each of the key's changes.
    own_changes: &'a [&'a NodeSet],
    allowance: &'a Allowance,
}

impl KeyEdits<'_, '_> {
    /// Returns the edits that depend on each other for this key, or `None` if finding them takes too much work.
    fn bonds(&self) -> Option<Vec<Bond>> {
        let parts = self.parts();
        if parts.len() > MAX_PARTS {
            return None;
        }
        let mut found = Vec::new();
        for part in parts {
            let on_node = self.search.on_node(self.key, part.first()?, self.allowance)?;
            add_bonds(&on_node, &mut found)?;
        }
        Some(found)
    }

    /// Divides the nodes that read the key's edits by the files that they read, and by the key's changes.
    fn parts(&self) -> Vec<NodeSet> {
        let files: BTreeSet<usize> = self.groups.iter().map(|group| self.search.edits.groups[*group].edit).collect();
        let readers = files
            .iter()
            .map(|file| &self.search.edits.all[*file].nodes)
            .flat_map(|nodes| [&nodes.before, &nodes.after]);
        let readers: Vec<&NodeSet> = readers.collect();
        let all =
            NodeSet::union_of(self.search.revisions.after.fleet.len(), readers.iter().map(|nodes| (*nodes).clone()));
        let mut parts = vec![all];
        for nodes in readers.into_iter().chain(self.own_changes.iter().copied()) {
            let split = |part: NodeSet| [part.intersection(nodes), part.difference(nodes)];
            parts = parts.into_iter().flat_map(split).filter(|part| !part.is_empty()).collect();
            if parts.len() > MAX_PARTS {
                break;
            }
        }
        parts
    }
}

/// Adds the edits that depend on each other on a node. Returns `None` if finding them takes too much work.
fn add_bonds(on_node: &OnNode<'_>, bonds: &mut Vec<Bond>) -> Option<()> {
    let groups = on_node.groups();
    if groups.len() < 2 {
        return Some(());
    }
    if groups.len() > MAX_GROUPS {
        return None;
    }
    let effect = CommitEffect::of(on_node);
    for group in &groups {
        let side_effects = effect.side_effects(&[*group])?;
        if side_effects.is_empty() {
            continue;
        }
        let with = effect.remedy(*group, &groups)?;
        let lines = |group: usize| effect.lines(group, &side_effects);
        bonds.push(Bond { lines: lines(*group), with: with.into_iter().flat_map(lines).collect() });
    }
    Some(())
}

/// The changes that a commit makes to a key on a node.
struct CommitEffect<'a> {
    on_node: &'a OnNode<'a>,
    trial: Trial<'a>,
    leaves: Vec<Arc<LeafChange>>,
}

/// A difference, or `None` for the value as a whole.
type Difference = Option<Arc<LeafChange>>;

impl<'a> CommitEffect<'a> {
    fn of(on_node: &'a OnNode<'a>) -> CommitEffect<'a> {
        let leaves = diff::leaves(on_node.trace.as_ref().map(|trace| found_value(&trace.outcome)));
        CommitEffect { on_node, trial: Trial::new(on_node, &[]), leaves }
    }

    /// Returns the differences that result from undoing `groups` in places where the commit does not change the key.
    fn side_effects(&self, groups: &[usize]) -> Option<Vec<Difference>> {
        let undone = self.trial.outcome(groups, Side::After)?;
        let after = &self.on_node.trace.after.outcome;
        if matches!((&undone, after), (Outcome::Failed(_), _) | (_, Outcome::Failed(_))) {
            let is_own = undone.is_like(after) || undone.is_like(&self.on_node.trace.before.outcome);
            return Some(if is_own { Vec::new() } else { vec![None] });
        }
        let differences = diff::leaves(Diff::new(found_value(&undone), found_value(after)));
        Some(differences.into_iter().filter(|leaf| !self.changes(leaf)).map(Some).collect())
    }

    /// Returns true if the commit changes the key at the place of a difference.
    fn changes(&self, leaf: &LeafChange) -> bool {
        let segments = |leaf: &LeafChange| leaf.path().map(|path| path.0.clone()).unwrap_or_default();
        let is_like = |(a, b): (&Segment, &Segment)| a == b || matches!((a, b), (Segment::Index(_), Segment::Index(_)));
        let path = segments(leaf);
        self.leaves.iter().any(|own| segments(own).iter().zip(&path).all(is_like))
    }

    /// Returns a minimal set of `groups` that must be undone with `group` so that nothing else changes.
    fn remedy(&self, group: usize, groups: &[usize]) -> Option<Vec<usize>> {
        let mut undone = groups.to_vec();
        for other in groups.iter().filter(|other| **other != group) {
            let fewer: Vec<usize> = undone.iter().copied().filter(|at| at != other).collect();
            if self.side_effects(&fewer)?.is_empty() {
                undone = fewer;
            }
        }
        undone.retain(|other| *other != group);
        Some(undone)
    }

    fn lines(&self, group: usize, differences: &[Difference]) -> BTreeSet<usize> {
        let lines_of_difference = |difference: &Difference| match difference {
            Some(leaf) => self.on_node.leaf_lines(group, leaf),
            None => self.on_node.edits.groups[group].all_lines().collect(),
        };
        differences.iter().flat_map(lines_of_difference).collect()
    }
}
