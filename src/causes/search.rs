//! Finds the changed lines that cause a change.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::allowance::Allowance;
use super::edits::Edits;
use super::on_node::{OnNode, found_value};
use super::sources::Sources;
use super::trial::Trial;
use super::turns;
use super::views::Views;
use crate::diff::{self, Change, Diff, LeafChange};
use crate::fleet::{Revision, parallel};
use crate::hiera::key::root_of;
use crate::node::{NodeId, NodeSet};
use crate::report::{Origin, Source};
use crate::workers::Workers;

/// The maximum number of entries that are tried for one change on one node.
pub(super) const MAX_GROUPS: usize = 24;
/// The maximum number of sets of nodes that read different files, for one change.
pub(super) const MAX_PARTS: usize = 24;

/// The lines that cause something, or `None` if they are not known.
pub(super) type Lines = Option<BTreeSet<usize>>;

/// A change with its causes.
#[derive(Default)]
pub(super) struct TracedChange {
    pub(super) leaves: Vec<TracedLeaf>,
    pub(super) lines: Lines,
    /// The causes on each part of the nodes.
    pub(super) parts: Vec<(NodeSet, Lines)>,
    /// The nodes on which the causes are unknown.
    pub(super) untraced: NodeSet,
}

/// The position of a change, and its causes.
pub(super) type Traced = (usize, TracedChange);

/// A difference with its causes.
#[derive(Default)]
pub(super) struct TracedLeaf {
    pub(super) origin: Diff<Option<Origin>>,
    pub(super) sources: Diff<Vec<Source>>,
    pub(super) lines: Lines,
}

pub(super) struct Search<'a> {
    pub(super) revisions: Diff<&'a Revision>,
    pub(super) edits: &'a Edits,
    /// The maximum number of steps of a run, if it is set.
    pub(super) steps: Option<usize>,
    pub(super) views: Views<'a>,
}

impl<'a> Search<'a> {
    pub(super) fn new(revisions: Diff<&'a Revision>, edits: &'a Edits, steps: Option<usize>) -> Search<'a> {
        Search { revisions, edits, steps, views: Views::new(revisions) }
    }

    /// Finds the causes of as many changes as the limits allow.
    pub(super) fn changes(&self, changes: &[Change], workers: &Workers) -> Vec<Traced> {
        let positions = turns::traced_changes(changes);
        parallel::map(&positions, workers, "tracing changes", |at| {
            (*at, self.change(&changes[*at], &Allowance::share(self.steps, positions.len())))
        })
    }

    /// Finds the causes of a change.
    pub(super) fn change(&self, change: &Change, allowance: &Allowance) -> TracedChange {
        let Some(first) = change.nodes.first() else { return TracedChange::default() };
        let Some(on_node) = self.on_node(&change.key, first, allowance) else {
            return TracedChange { untraced: change.nodes.clone(), ..TracedChange::default() };
        };
        let groups = on_node.groups();
        let (leaf_lines, lines) = causing_lines(&on_node, &change.leaves, &groups);
        let sources = Sources::new(self.revisions, self.edits, (&change.key, first, &on_node.trace));
        let of_leaf = |(leaf, lines): (&Arc<LeafChange>, Lines)| {
            let (origin, sources) = sources.trace_leaf(leaf);
            TracedLeaf { origin, sources, lines }
        };
        let mut traced = TracedChange {
            leaves: change.leaves.iter().zip(leaf_lines).map(of_leaf).collect(),
            lines,
            ..TracedChange::default()
        };
        for (at, nodes) in self.parts(change, &groups).into_iter().enumerate() {
            let lines = match nodes.first() {
                Some(node) if node == first => traced.lines.clone(),
                Some(node) if at < MAX_PARTS => self
                    .on_node(&change.key, node, allowance)
                    .and_then(|on_node| add_part(&mut traced, change, &on_node)),
                _ => None,
            };
            if lines.is_none() {
                traced.untraced.union_with(&nodes);
            }
            traced.parts.push((nodes, lines));
        }
        traced
    }

    /// Looks a key up on a node. Returns `None` if that takes too much work.
    pub(super) fn on_node<'c>(
        &'c self,
        key: &'c Arc<str>,
        node: NodeId,
        allowance: &'c Allowance,
    ) -> Option<OnNode<'c>> {
        OnNode::new((self.views.of(node), self.edits), key, node, allowance)
    }

    /// Returns the differences of a change on a node.
    fn leaves_on(change: &Change, on_node: &OnNode<'_>) -> Vec<Arc<LeafChange>> {
        if change.leaves.is_empty() || change.nodes.first() == Some(on_node.node) {
            return change.leaves.clone();
        }
        diff::leaves(on_node.trace.as_ref().map(|trace| found_value(&trace.outcome)))
    }

    /// Divides the nodes of a change by the files with candidate entries that they read.
    fn parts(&self, change: &Change, groups: &[usize]) -> Vec<NodeSet> {
        let own_root = root_of(&change.key);
        let mut roots: BTreeSet<Option<&Arc<str>>> = BTreeSet::from([Some(&own_root)]);
        roots.extend(groups.iter().map(|group| self.edits.groups[*group].root.as_ref()));
        let groups = roots.into_iter().flat_map(|root| self.edits.index.with_root(root));
        let files: BTreeSet<usize> = groups.map(|group| self.edits.groups[group].edit).collect();
        let mut parts = vec![change.nodes.clone()];
        for edit in files.into_iter().map(|edit| &self.edits.all[edit]) {
            for nodes in [&edit.nodes.before, &edit.nodes.after] {
                let split = |part: NodeSet| [part.intersection(nodes), part.difference(nodes)];
                parts = parts.into_iter().flat_map(split).filter(|part| !part.is_empty()).collect();
            }
            if parts.len() > MAX_PARTS * 2 {
                break;
            }
        }
        parts
    }
}

/// Adds the lines that cause the change on another node, and returns them.
fn add_part(traced: &mut TracedChange, change: &Change, on_node: &OnNode<'_>) -> Lines {
    let (leaves, lines) = causing_lines(on_node, &Search::leaves_on(change, on_node), &on_node.groups());
    let add = |all: &mut Lines, more: &Lines| match (all, more) {
        (Some(all), Some(more)) => all.extend(more),
        (all @ None, Some(_)) => all.clone_from(more),
        (_, None) => {}
    };
    traced.leaves.iter_mut().zip(&leaves).for_each(|(leaf, lines)| add(&mut leaf.lines, lines));
    add(&mut traced.lines, &lines);
    lines
}

/// Returns the lines that cause each of `leaves`, and the change as a whole.
fn causing_lines(on_node: &OnNode<'_>, leaves: &[Arc<LeafChange>], groups: &[usize]) -> (Vec<Lines>, Lines) {
    let unknown = || (vec![None; leaves.len()], None);
    if groups.len() > MAX_GROUPS {
        return unknown();
    }
    let has_secrets = on_node.trace.before.steps.has_secrets() || on_node.trace.after.steps.has_secrets();
    // Nothing else that the lookup read differs.
    if let ([only], false) = (groups, has_secrets) {
        return lines_of(on_node, leaves, vec![vec![*only]; leaves.len()], &[*only]);
    }
    tried_lines(on_node, leaves, groups).unwrap_or_else(unknown)
}

/// Returns the lines that cause each of `leaves`, and the change as a whole, by trial. Returns `None` if the trials
/// take too much work.
fn tried_lines(on_node: &OnNode<'_>, leaves: &[Arc<LeafChange>], groups: &[usize]) -> Option<(Vec<Lines>, Lines)> {
    let trial = Trial::new(on_node, leaves);
    let gone_without: Vec<Vec<bool>> = groups.iter().map(|group| trial.causes(&[*group])).collect::<Option<_>>()?;
    let mut by_leaf: Vec<Vec<usize>> = (0..trial.count())
        .map(|leaf| groups.iter().zip(&gone_without).filter(|(_, gone)| gone[leaf]).map(|(group, _)| *group).collect())
        .collect();
    if by_leaf.iter().any(Vec::is_empty) {
        let without_all =
            if groups.is_empty() { vec![false; trial.count()] } else { trial.gone_when_undone(groups)? };
        for (causes, without_all) in by_leaf.iter_mut().zip(without_all) {
            if causes.is_empty() && without_all {
                causes.extend(groups);
            }
        }
    }
    let whole: BTreeSet<usize> = by_leaf.iter().flatten().copied().collect();
    Some(lines_of(on_node, leaves, by_leaf, &whole.into_iter().collect::<Vec<_>>()))
}

/// Returns the lines of the entries that cause each of `leaves`, and the change as a whole.
fn lines_of(
    on_node: &OnNode<'_>,
    leaves: &[Arc<LeafChange>],
    by_leaf: Vec<Vec<usize>>,
    whole: &[usize],
) -> (Vec<Lines>, Lines) {
    let unless_empty = |lines: BTreeSet<usize>| Some(lines).filter(|lines| !lines.is_empty());
    if leaves.is_empty() {
        let lines = whole.iter().flat_map(|group| on_node.edits.groups[*group].all_lines());
        return (Vec::new(), unless_empty(lines.collect()));
    }
    let of_leaf = |(leaf, groups): (&Arc<LeafChange>, Vec<usize>)| {
        unless_empty(groups.into_iter().flat_map(|group| on_node.leaf_lines(group, leaf)).collect())
    };
    let leaves: Vec<Lines> = leaves.iter().zip(by_leaf).map(of_leaf).collect();
    let is_complete = leaves.iter().all(Option::is_some);
    let all = leaves.iter().flatten().flatten().copied().collect();
    (leaves, if is_complete { unless_empty(all) } else { None })
}
