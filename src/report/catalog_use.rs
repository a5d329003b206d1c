//! Tells which nodes have the class of a changed key in their catalogs, and puts the changes of all others apart.
//!
//! It tells of the key of a class that some catalog has, unless data refers to the key. Puppet looks that key up on
//! nodes with the class. Others may still look it up explicitly, which nobody can see: so it tells what catalogs have,
//! and never decides on a verdict, a policy or a count. Errors are never apart.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::wording::{count, number};
use super::{Group, Item, KeyChange, Report};
use crate::diff::{Change, ChangeKind};
use crate::node::NodeSet;

/// The class of a key, and the catalogs that have it.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyClass {
    /// The name of the class.
    pub class: Arc<str>,
    /// The nodes with the class in their catalogs.
    pub with: NodeSet,
    /// The nodes whose catalogs are known.
    pub known: NodeSet,
}

/// The class of a changed key, and the numbers of nodes that get the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassUse {
    /// The name of the class.
    pub class: Arc<str>,
    /// The number of those with the class in their catalogs.
    pub with: usize,
    /// The number of those whose catalogs do not have it.
    pub without: usize,
    /// The number of those whose catalogs are not known.
    pub unknown: usize,
    /// The number of variants of the change.
    variants: usize,
}

impl ClassUse {
    fn new(change: &Change, of: &KeyClass) -> ClassUse {
        let known = change.nodes.intersection(&of.known).len();
        let with = change.nodes.intersection(&of.with).len();
        let variants = change.variants.as_ref().map_or(1, |variants| variants.count(&change.nodes));
        let (without, unknown) = (known - with.min(known), change.nodes.len() - known);
        ClassUse { class: of.class.clone(), with, without, unknown, variants }
    }
}

/// A change of a report, or the part of one on some of its nodes.
pub(super) struct Divided<O> {
    pub(super) change: Change,
    pub(super) origins: O,
    pub(super) class_use: Option<Arc<ClassUse>>,
    /// True if it is on nodes whose catalogs do not have the class of its key.
    pub(super) is_apart: bool,
}

/// The most sets of nodes with a class by which changes are divided. Each makes groups of its own: with more of them
/// nobody would read the report, and it would be long.
const MAX_SETS: usize = 32;

/// Divides changes into those on nodes whose catalogs do not have the class of the key, and all others, unless the
/// classes are on too many sets of nodes. They stay in order: by key, and then by first node.
pub(super) fn divided<O: Clone>(
    changes: Vec<Change>,
    origins: impl Iterator<Item = O>,
    classes: &BTreeMap<Arc<str>, KeyClass>,
) -> Vec<Divided<O>> {
    let (mut all, divides) = (Vec::with_capacity(changes.len()), are_few(classes));
    for (change, origins) in changes.into_iter().zip(origins) {
        let Some(of) = classes.get(&change.key) else {
            all.push(Divided { change, origins, class_use: None, is_apart: false });
            continue;
        };
        let class_use = Some(Arc::new(ClassUse::new(&change, of)));
        let is_divided = divides && !is_of_error(change.kind);
        let without =
            if is_divided { change.nodes.intersection(&of.known).difference(&of.with) } else { NodeSet::new() };
        let rest = change.nodes.difference(&without);
        if without.is_empty() || rest.is_empty() {
            let is_apart = rest.is_empty();
            all.push(Divided { change, origins, class_use, is_apart });
            continue;
        }
        for (nodes, is_apart) in [(rest, false), (without, true)] {
            let (change, origins, class_use) = (change.clone().on(nodes), origins.clone(), class_use.clone());
            all.push(Divided { change, origins, class_use, is_apart });
        }
    }
    for of_key in all.chunk_by_mut(|one, other| one.change.key == other.change.key) {
        of_key.sort_by_key(|divided| divided.change.nodes.first());
    }
    all
}

/// Returns true if the classes are on so few sets of nodes that changes are divided by them.
fn are_few(classes: &BTreeMap<Arc<str>, KeyClass>) -> bool {
    let mut sets: Vec<&NodeSet> = Vec::new();
    for KeyClass { with, .. } in classes.values() {
        if !sets.contains(&with) {
            sets.push(with);
        }
        if sets.len() > MAX_SETS {
            return false;
        }
    }
    true
}

fn is_of_error(kind: ChangeKind) -> bool {
    kind.is_error() || kind == ChangeKind::Recovered
}

/// Tells the parts of one change from further changes.
#[derive(Default)]
pub struct Parts(HashSet<*const ClassUse>);

impl Parts {
    /// Returns true unless another part of the same change was there already.
    pub fn is_new(&mut self, change: &KeyChange) -> bool {
        change.class_use.as_ref().is_none_or(|of| self.0.insert(Arc::as_ptr(of)))
    }
}

impl KeyChange {
    /// Returns the number of variants of the change, whose parts are not counted for themselves.
    pub(super) fn variants_of_whole(&self) -> usize {
        self.class_use.as_ref().map_or_else(|| self.variant_count(), |of| of.variants)
    }
}

/// The most classes that are told of in one place.
const MAX_CLASSES: usize = 3;

impl Report {
    /// Returns the groups on nodes that may use the keys, and those on nodes whose catalogs do not have their class.
    pub(super) fn groups_by_use(&self) -> (&[Group], &[Group]) {
        let at = self.groups.iter().position(|group| group.is_apart).unwrap_or(self.groups.len());
        self.groups.split_at(at)
    }

    /// Returns the heading of the groups on nodes whose catalogs do not have the class, or `None` if there are none.
    pub(super) fn apart_heading(&self) -> Option<String> {
        let apart = || self.changes.iter().filter(|change| change.is_apart);
        let keys = apart().map(|change| &change.key).collect::<BTreeSet<_>>().len();
        let nodes = NodeSet::union_of(self.names.fleet.len(), apart().map(|change| change.nodes.clone())).len();
        let catalogs = if nodes == 1 { "catalog does" } else { "catalogs do" };
        let (keys, their) = (count(keys, "key"), if keys == 1 { "its" } else { "their" });
        (nodes > 0).then(|| format!("{keys} on {} whose {catalogs} not have {their} class", count(nodes, "node")))
    }

    /// Returns `; by their catalogs, 149 of these nodes do not use it`, or nothing if each node may use some key that
    /// changes on it.
    pub(super) fn unused_summary(&self) -> String {
        if !self.changes.iter().any(|change| change.is_apart) {
            return String::new();
        }
        let others = self.changes.iter().filter(|change| !change.is_apart).map(|change| change.nodes.clone());
        let unused = self.nodes.changed - NodeSet::union_of(self.names.fleet.len(), others).len();
        let them = if self.keys.changed == 1 { "it" } else { "them" };
        match unused {
            0 => String::new(),
            1 if self.nodes.changed == 1 => format!("; by its catalog, the node does not use {them}"),
            all if all == self.nodes.changed => format!("; by their catalogs, none of these nodes uses {them}"),
            1 => format!("; by their catalogs, 1 of these nodes does not use {them}"),
            some => format!("; by their catalogs, {} of these nodes do not use {them}", number(some)),
        }
    }

    /// Returns a sentence for each class of the keys of some items that not all nodes with the changes have.
    pub(super) fn use_notes(&self, items: &[Item]) -> Vec<String> {
        let mut by_key: BTreeMap<&str, ClassUse> = BTreeMap::new();
        let mut parts = Parts::default();
        let positions = items.iter().flat_map(|item| [&item.first].into_iter().chain(&item.others));
        for change in positions.map(|at| &self.changes[*at]) {
            let Some(of) = change.class_use.as_ref().filter(|_| !change.is_apart && parts.is_new(change)) else {
                continue;
            };
            let none = || ClassUse { with: 0, without: 0, unknown: 0, ..(**of).clone() };
            let sum = by_key.entry(&change.key).or_insert_with(none);
            (sum.with, sum.without, sum.unknown) =
                (sum.with + of.with, sum.without + of.without, sum.unknown + of.unknown);
        }
        let notes: BTreeSet<String> = by_key.values().filter(|of| of.without > 0).map(ClassUse::note).collect();
        let more = notes.len().saturating_sub(MAX_CLASSES);
        let mut notes: Vec<String> = notes.into_iter().take(MAX_CLASSES).collect();
        match more {
            0 => {}
            1 => notes.push("1 more class is not in all of the catalogs".to_owned()),
            more => notes.push(format!("{} more classes are not in all of the catalogs", number(more))),
        }
        notes
    }
}

impl ClassUse {
    /// `class apache is in the catalogs of 12 of the 161 nodes where its keys change`
    fn note(&self) -> String {
        let all = self.with + self.without + self.unknown;
        let with = if self.with == 0 { "none".to_owned() } else { number(self.with) };
        let unknown = match self.unknown {
            0 => String::new(),
            1 => "; the catalog of 1 is not known".to_owned(),
            unknown => format!("; the catalogs of {} are not known", number(unknown)),
        };
        format!(
            "class {} is in the catalogs of {with} of the {} nodes where its keys change{unknown}",
            self.class,
            number(all)
        )
    }
}
