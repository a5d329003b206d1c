//! Trials: what would a key be without an edit, or with it alone?

use std::collections::HashMap;
use std::sync::Arc;

use super::edits::entries::normal;
use super::on_node::{OnNode, found_value};
use crate::diff::{self, Diff, LeafChange, LeafKind};
use crate::hiera::Outcome;
use crate::report::Side;
use crate::value::Value;

/// Tries what a key would be without an edit, or with it alone. Trials return `None` if they take too much work.
pub(super) struct Trial<'a> {
    on_node: &'a OnNode<'a>,
    leaves: &'a [Arc<LeafChange>],
    /// The edits that any lookup may read.
    relevant: Vec<usize>,
}

impl<'a> Trial<'a> {
    /// Makes trials of the differences `leaves`.
    pub(super) fn new(on_node: &'a OnNode<'a>, leaves: &'a [Arc<LeafChange>]) -> Trial<'a> {
        Trial { on_node, leaves, relevant: on_node.relevant() }
    }

    /// Returns the outcome if `groups` are as on the side other than `base`.
    pub(super) fn outcome(&self, groups: &[usize], base: Side) -> Option<Outcome> {
        let OnNode { revisions, edits, key, allowance, .. } = self.on_node;
        let is_whole = groups.iter().any(|group| edits.is_whole_config(*group));
        // If all of the configuration is among them, the other side is the nearer start.
        let others: Vec<usize> = self.relevant.iter().copied().filter(|group| !groups.contains(group)).collect();
        let (groups, base) = if is_whole { (&others[..], base.other()) } else { (groups, base) };
        let replaced = edits.replaced(groups, base, revisions);
        let revision = base.pick(revisions);
        allowance.look_up(|limit| revision.get_with(key, &replaced, limit))
    }

    /// Returns the number of differences; an error as a whole is one.
    pub(super) fn count(&self) -> usize {
        self.leaves.len().max(1)
    }

    /// Returns for each difference if these entries cause it.
    pub(super) fn causes(&self, groups: &[usize]) -> Option<Vec<bool>> {
        let gone = self.gone_when_undone(groups)?;
        if gone.iter().all(|gone| *gone) {
            return Some(gone);
        }
        Some(gone.iter().zip(self.made_alone(groups)?).map(|(gone, made)| *gone || made).collect())
    }

    /// Returns for each difference if it is gone when these entries are undone.
    pub(super) fn gone_when_undone(&self, groups: &[usize]) -> Option<Vec<bool>> {
        Some(self.are_there(groups, Side::After)?.into_iter().map(|there| !there).collect())
    }

    /// Returns for each difference if these entries alone make it.
    pub(super) fn made_alone(&self, groups: &[usize]) -> Option<Vec<bool>> {
        self.are_there(groups, Side::Before)
    }

    /// Returns for each difference if it is there when these entries are as on the side other than `base`.
    fn are_there(&self, groups: &[usize], base: Side) -> Option<Vec<bool>> {
        let other = self.outcome(groups, base)?;
        let trace = self.on_node.trace.as_ref();
        if self.leaves.is_empty() {
            return Some(vec![other.is_like(&trace.after.outcome)]);
        }
        if matches!(other, Outcome::Failed(_)) {
            return Some(vec![false; self.leaves.len()]);
        }
        let leaves = diff::leaves(Diff::new(found_value(&trace.before.outcome), found_value(&other)));
        let mut by_place: HashMap<(LeafKind, String), Vec<&LeafChange>> = HashMap::new();
        for leaf in &leaves {
            by_place.entry(place(leaf)).or_default().push(leaf);
        }
        let is_like = |a: &LeafChange, b: &LeafChange| a.kind == LeafKind::Reordered || values(a) == values(b);
        let is_there = |leaf: &Arc<LeafChange>| {
            by_place.get(&place(leaf)).is_some_and(|others| others.iter().any(|other| is_like(leaf, other)))
        };
        Some(self.leaves.iter().map(is_there).collect())
    }
}

fn values(leaf: &LeafChange) -> Diff<Option<&Value>> {
    leaf.part.as_ref().map(|part| part.as_ref().map(|part| &part.value))
}

/// Returns the kind and the place of a difference.
fn place(leaf: &LeafChange) -> (LeafKind, String) {
    (leaf.kind, leaf.path().map(|path| normal(&path.0)).unwrap_or_default())
}
