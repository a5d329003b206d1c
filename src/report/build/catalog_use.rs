//! Finds out from the last catalogs which nodes use a changed key, and separates the changes on all others.
//!
//! Puppet looks up the key of a class on nodes with that class. Other nodes may still look it up explicitly, which
//! nobody can see without a record of all lookups. So this only reports what catalogs contain, and never decides a
//! verdict, a policy or a count. Nothing is reported about a key that data refers to. Errors are never separated.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use crate::diff::{Change, ChangeKind};
use crate::fleet::KeyUse;
use crate::node::NodeSet;
use crate::report::words::wording::{count, number};
use crate::report::{Group, Item, KeyChange, Report};

/// The use of a changed key, by the nodes that get the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogUse {
    /// The class of the key, if some catalog has it.
    pub class: Option<Arc<str>>,
    /// The number of nodes whose catalogs use the key.
    pub with: usize,
    /// The number of nodes whose catalogs do not use it.
    pub without: usize,
    /// The number of nodes for which that is not known.
    pub unknown: usize,
    /// True if all lookups, and not just the classes, are known of some of the catalogs.
    has_records: bool,
    /// True if all lookups are known of each catalog that does not use it.
    is_recorded: bool,
    /// The number of variants of the change.
    variants: usize,
}

impl CatalogUse {
    fn new(change: &Change, key_use: &KeyUse) -> CatalogUse {
        let known = change.nodes.intersection(&key_use.known);
        let without = known.difference(&key_use.with);
        CatalogUse {
            class: key_use.class.clone(),
            with: known.len() - without.len(),
            without: without.len(),
            unknown: change.nodes.len() - known.len(),
            has_records: !known.intersection(&key_use.recorded).is_empty(),
            is_recorded: without.difference(&key_use.recorded).is_empty(),
            variants: change.variants.as_ref().map_or(1, |variants| variants.count(&change.nodes)),
        }
    }
}

/// A change of a report, or the part of one on some of its nodes.
pub(super) struct Divided<O> {
    pub(in crate::report) change: Change,
    pub(in crate::report) origins: O,
    pub(in crate::report) catalog_use: Option<Arc<CatalogUse>>,
    /// True if it is on nodes whose catalogs do not use its key.
    pub(in crate::report) is_apart: bool,
}

/// The maximum number of different sets of nodes that use a key by which changes are divided. Each set makes separate
/// groups: with more of them, the report would be too long to read.
const MAX_SETS: usize = 32;

/// Divides changes into those on nodes whose catalogs do not use the key, and all others, unless the keys are used by
/// too many different sets of nodes. Changes stay in order: by key, and then by first node.
pub(super) fn divided<O: Clone>(
    changes: Vec<Change>,
    origins: impl Iterator<Item = O>,
    uses: &BTreeMap<Arc<str>, KeyUse>,
) -> Vec<Divided<O>> {
    let (mut all, divides) = (Vec::with_capacity(changes.len()), are_few(uses));
    for (change, origins) in changes.into_iter().zip(origins) {
        let Some(key_use) = uses.get(&change.key) else {
            all.push(Divided { change, origins, catalog_use: None, is_apart: false });
            continue;
        };
        let catalog_use = Some(Arc::new(CatalogUse::new(&change, key_use)));
        let is_divided = divides && !is_of_error(change.kind);
        let without = if is_divided {
            change.nodes.intersection(&key_use.known).difference(&key_use.with)
        } else {
            NodeSet::new()
        };
        let rest = change.nodes.difference(&without);
        if without.is_empty() || rest.is_empty() {
            let is_apart = rest.is_empty();
            all.push(Divided { change, origins, catalog_use, is_apart });
            continue;
        }
        for (nodes, is_apart) in [(rest, false), (without, true)] {
            let (change, origins, catalog_use) = (change.clone().on(nodes), origins.clone(), catalog_use.clone());
            all.push(Divided { change, origins, catalog_use, is_apart });
        }
    }
    for of_key in all.chunk_by_mut(|one, other| one.change.key == other.change.key) {
        of_key.sort_by_key(|divided| divided.change.nodes.first());
    }
    all
}

/// Returns true if the keys are used by so few sets of nodes that changes are divided by them.
fn are_few(uses: &BTreeMap<Arc<str>, KeyUse>) -> bool {
    let mut sets: Vec<&NodeSet> = Vec::new();
    for KeyUse { with, .. } in uses.values() {
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

/// Counts the parts of a change as one change.
#[derive(Default)]
pub struct CountedChanges(HashSet<*const CatalogUse>);

impl CountedChanges {
    /// Returns true unless another part of the same change has been counted.
    pub fn is_new(&mut self, change: &KeyChange) -> bool {
        change.catalog_use.as_ref().is_none_or(|catalog_use| self.0.insert(Arc::as_ptr(catalog_use)))
    }
}

impl KeyChange {
    fn is_recorded(&self) -> bool {
        self.catalog_use.as_ref().is_some_and(|catalog_use| catalog_use.is_recorded)
    }

    /// Returns `, whose catalogs do not have the class` for this many nodes, or nothing if the change is not apart.
    pub(in crate::report) fn lacking(&self, nodes: usize) -> String {
        if !self.is_apart {
            return String::new();
        }
        let catalogs = if nodes == 1 { "catalog does" } else { "catalogs do" };
        let what = if self.is_recorded() { "use the key" } else { "have the class" };
        format!(", whose {catalogs} not {what}")
    }

    /// Returns the number of variants of the change; parts of a change are not counted separately.
    pub(in crate::report) fn variants_of_whole(&self) -> usize {
        self.catalog_use.as_ref().map_or_else(|| self.variant_count(), |catalog_use| catalog_use.variants)
    }
}

/// The maximum number of classes or keys that are named in one place.
const MAX_NOTES: usize = 3;

impl Report {
    /// Returns the groups on nodes that may use the keys, and those on nodes whose catalogs do not use them.
    pub(in crate::report) fn groups_by_use(&self) -> (&[Group], &[Group]) {
        let at = self.groups.iter().position(|group| group.is_apart).unwrap_or(self.groups.len());
        self.groups.split_at(at)
    }

    /// Returns the heading of the groups on nodes whose catalogs do not use the keys, or `None` if there are none.
    pub(in crate::report) fn apart_heading(&self) -> Option<String> {
        let apart = || self.changes.iter().filter(|change| change.is_apart);
        let keys = apart().map(|change| &change.key).collect::<BTreeSet<_>>().len();
        let nodes = NodeSet::union_of(self.names.fleet.len(), apart().map(|change| change.nodes.clone())).len();
        let catalogs = if nodes == 1 { "catalog does" } else { "catalogs do" };
        let recorded = apart().filter(|change| change.is_recorded()).count();
        let what = match (recorded, keys) {
            (0, 1) => "have its class",
            (0, _) => "have their class",
            (all, 1) if all == apart().count() => "use it",
            (all, _) if all == apart().count() => "use them",
            _ => "use them, or do not have their class",
        };
        (nodes > 0).then(|| format!("{} on {} whose {catalogs} not {what}", count(keys, "key"), count(nodes, "node")))
    }

    /// Returns `; by their catalogs, 149 of these nodes do not use it`, or nothing if each node may use some key that
    /// changes on it.
    pub(in crate::report) fn unused_summary(&self) -> String {
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

    /// Returns a sentence for each class, or key without one, that some of the nodes on which it changes do not use.
    pub(in crate::report) fn use_notes(&self, items: &[Item]) -> Vec<String> {
        let mut by_key: BTreeMap<&str, CatalogUse> = BTreeMap::new();
        let mut parts = CountedChanges::default();
        let positions = items.iter().flat_map(|item| [&item.first].into_iter().chain(&item.others));
        for change in positions.map(|at| &self.changes[*at]) {
            let Some(catalog_use) = change.catalog_use.as_ref().filter(|_| !change.is_apart && parts.is_new(change))
            else {
                continue;
            };
            let none = || CatalogUse { with: 0, without: 0, unknown: 0, has_records: false, ..(**catalog_use).clone() };
            let sum = by_key.entry(&change.key).or_insert_with(none);
            (sum.with, sum.without, sum.unknown) =
                (sum.with + catalog_use.with, sum.without + catalog_use.without, sum.unknown + catalog_use.unknown);
            sum.has_records |= catalog_use.has_records;
        }
        by_key.retain(|_, sum| sum.without > 0);
        let notes: BTreeSet<String> = by_key.iter().map(|(key, sum)| sum.note(key)).collect();
        let are_classes = by_key.values().all(|sum| sum.class.is_some() && !sum.has_records);
        let more = notes.len().saturating_sub(MAX_NOTES);
        let mut notes: Vec<String> = notes.into_iter().take(MAX_NOTES).collect();
        match (more, are_classes) {
            (0, _) => {}
            (1, true) => notes.push("1 more class is not in all of the catalogs".to_owned()),
            (_, true) => notes.push(format!("{} more classes are not in all of the catalogs", number(more))),
            (1, false) => notes.push("1 more class or key is not used by all of the catalogs".to_owned()),
            (_, false) => {
                notes.push(format!("{} more classes or keys are not used by all of the catalogs", number(more)));
            }
        }
        notes
    }
}

impl CatalogUse {
    /// Returns a sentence such as `class apache is in the catalogs of 12 of the 161 nodes where its keys change`; if
    /// lookups are known, too, `class apache, or a lookup of apache::port, is in the catalogs of 12 of the 161 nodes
    /// where it changes`; for a key of no class `motd is used by 12 of the 161 nodes where it changes, by their
    /// catalogs`.
    fn note(&self, key: &str) -> String {
        let all = self.with + self.without + self.unknown;
        let with = if self.with == 0 { "none".to_owned() } else { number(self.with) };
        let unknown = match self.unknown {
            0 => String::new(),
            // For some nodes the classes may be known, but not all lookups.
            unknown if self.has_records => format!("; of {} it is not known", number(unknown)),
            1 => "; the catalog of 1 is not known".to_owned(),
            unknown => format!("; the catalogs of {} are not known", number(unknown)),
        };
        if all == 1 {
            return match &self.class {
                Some(class) if !self.has_records => format!("class {class} is not in the node's catalog"),
                _ => format!("{key} is not used by the node, by its catalog"),
            };
        }
        let of_all = format!("{with} of the {} nodes", number(all));
        match &self.class {
            Some(class) if !self.has_records => {
                format!("class {class} is in the catalogs of {of_all} where its keys change{unknown}")
            }
            Some(class) => {
                format!("class {class}, or a lookup of {key}, is in the catalogs of {of_all} where it changes{unknown}")
            }
            None => format!("{key} is used by {of_all} where it changes, by their catalogs{unknown}"),
        }
    }
}
