//! Joins changes into groups by their nodes, and puts the most consequential first.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::fold::{fold_keys, fold_leaves};
use super::similarity::items;
use crate::diff::{Change, ChangeKind, LeafChange, LeafKind};
use crate::fleet::Distinction;
use crate::node::NodeSet;
use crate::report::model::node_sets::summary;
use crate::report::words::description::Describer;
use crate::report::words::detail::type_change;
use crate::report::words::node_list;
use crate::report::{Group, Item, NodeNames};
use crate::value::{Rich, Value};

/// The consequence of a change, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Consequence {
    /// The lookup fails.
    Error,
    /// A secret changes, or a value becomes secret or is no longer one.
    Secret,
    /// A value changes its type.
    Type,
    /// The key is no longer found.
    Removal,
    /// Any other change.
    Value,
    /// Only the order of a value changes.
    Order,
}

/// The nodes that are compared.
pub(in crate::report) struct Compared<'a> {
    pub(in crate::report) names: &'a NodeNames,
    pub(in crate::report) nodes: &'a NodeSet,
    /// The variables that tell them apart.
    pub(in crate::report) distinctions: &'a [Distinction],
}

/// Joins similar changes into items, and items on the same nodes into groups. Leaves out the changes at the positions
/// `folded`. The changes at the positions `apart` form separate groups, after the others.
pub(in crate::report) fn groups_by_use(
    changes: &[Change],
    folded: &HashSet<usize>,
    apart: &HashSet<usize>,
    compared: &Compared<'_>,
) -> Vec<Group> {
    if apart.is_empty() {
        return groups(changes, folded, compared);
    }
    let mut all = groups(changes, &folded.union(apart).copied().collect(), compared);
    let others = (0..changes.len()).filter(|at| !apart.contains(at)).collect();
    let of_these = groups(changes, &others, compared);
    all.extend(of_these.into_iter().map(|group| Group { is_apart: true, ..group }));
    all
}

/// Joins similar changes into items, and items on the same nodes into groups. Leaves out the changes at the positions
/// `folded`.
fn groups(changes: &[Change], folded: &HashSet<usize>, compared: &Compared<'_>) -> Vec<Group> {
    let mut sets: Vec<(NodeSet, Vec<Item>)> = Vec::new();
    let mut by_summary: HashMap<(usize, u32), Vec<usize>> = HashMap::new();
    for (item, nodes) in items(changes, folded, &compared.names.fleet) {
        let candidates = by_summary.entry(summary(&nodes)).or_default();
        if let Some(at) = candidates.iter().find(|at| sets[**at].0 == nodes) {
            sets[*at].1.push(item);
        } else {
            candidates.push(sets.len());
            sets.push((nodes, vec![item]));
        }
    }
    let of_item = |item: &Item| consequence(&changes[item.first]);
    for (_, items) in &mut sets {
        *items = fold_keys(std::mem::take(items), changes);
        for item in items.iter_mut() {
            item.leaves = fold_leaves(&changes[item.first]);
        }
        items.sort_by_key(|item| (of_item(item), item.first));
    }
    sets.sort_by_key(|(nodes, items)| (of_item(&items[0]), Reverse(nodes.len()), nodes.first(), items[0].first));
    let mut describer = Describer::new(compared.names.fleet.len(), compared.distinctions);
    sets.into_iter().map(|(nodes, items)| group(nodes, items, compared, &mut describer)).collect()
}

fn group(nodes: NodeSet, items: Vec<Item>, compared: &Compared<'_>, describer: &mut Describer) -> Group {
    let all = compared.nodes;
    let are_most = all.len() - nodes.len() <= nodes.len() / 4;
    let except = if are_most { all.difference(&nodes) } else { NodeSet::new() };
    let needs_none = nodes.is_singleton() || nodes.len() == all.len();
    let who = if needs_none { None } else { describer.describe(&nodes) };
    let who = who.filter(|who| node_list::is_longer(compared.names, [&nodes, &except], who));
    Group { nodes, except, who, items, is_apart: false }
}

fn consequence(change: &Change) -> Consequence {
    let leaves = || change.leaves.iter();
    match change.kind {
        kind if kind.is_error() => Consequence::Error,
        _ if leaves().any(|leaf| is_of_secret(leaf)) => Consequence::Secret,
        _ if leaves().any(|leaf| type_change(leaf).is_some()) => Consequence::Type,
        ChangeKind::Removed => Consequence::Removal,
        ChangeKind::Reordered => Consequence::Order,
        _ => Consequence::Value,
    }
}

/// Returns true if a secret has changed, or a value has become secret or is no longer one.
pub(crate) fn is_of_secret(leaf: &LeafChange) -> bool {
    let is_hidden = |value: &Value| matches!(value, Value::Rich(rich) if matches!(**rich, Rich::Hidden(_)));
    let parts = leaf.part.as_ref().map(Option::as_ref);
    match (leaf.kind, parts.before, parts.after) {
        (LeafKind::Sealed | LeafKind::Unsealed, ..) => true,
        (_, Some(before), Some(after)) => is_hidden(&before.value) || is_hidden(&after.value),
        _ => false,
    }
}
