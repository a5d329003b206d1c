//! Compares the data of two revisions: finds the root keys that differ, and the nodes for which they do.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::NodesByKey;
use crate::fleet::affected::functions::Functions;
use crate::fleet::levels::ResolvedLevels;
use crate::hiera::backend::DataFile;
use crate::node::{NodeId, NodeSet, Partition};
use crate::value::Value;

/// A data file with its path.
type FileAt<'a> = (&'a Arc<str>, &'a Arc<DataFile>);

/// Root keys for which two revisions have different data, with the nodes for which they do.
#[derive(Default)]
pub(super) struct ChangedKeys {
    keys: HashMap<Arc<str>, NodeSet, RandomState>,
    /// The keys that differ between two versions of a file, by the addresses of the versions.
    compared: HashMap<(usize, usize), Arc<[Arc<str>]>, RandomState>,
    /// The nodes on which any key may differ, since a file of theirs cannot be read on one side.
    pub(super) any_key_on: NodeSet,
    /// True if functions in Ruby were asked because files that they read differ.
    pub(super) asks_functions: bool,
}

impl ChangedKeys {
    /// Returns the keys in order.
    pub(super) fn into_nodes_by_key(self) -> NodesByKey {
        self.keys.into_iter().collect()
    }

    /// Adds the keys that differ between two versions of a level. Returns `None` if any key may differ.
    pub(super) fn compare(
        &mut self,
        before: &ResolvedLevels,
        after: &ResolvedLevels,
        functions: &Functions<'_>,
    ) -> Option<()> {
        let pairs = nodes_that_differ(before, after);
        let stage = functions.begin(
            pairs
                .keys()
                .filter(|(b, a)| before.classes[*b].function().or(after.classes[*a].function()).is_some())
                .count(),
        );
        for ((b, a), nodes) in pairs {
            match before.classes[b].function().zip(after.classes[a].function()) {
                Some((old, new)) => {
                    self.asks_functions = true;
                    for key in &functions.differing(old, new)? {
                        self.add(key, &nodes);
                    }
                    if let Some(stage) = &stage {
                        stage.advance(1);
                    }
                }
                None => self.compare_classes((before, b), (after, a), &nodes),
            }
        }
        Some(())
    }

    /// Adds the keys that differ for `nodes`, which are in class `b` before and in class `a` after.
    fn compare_classes(
        &mut self,
        (before, b): (&ResolvedLevels, usize),
        (after, a): (&ResolvedLevels, usize),
        nodes: &NodeSet,
    ) {
        if before.any_key_classes.contains(&b) || after.any_key_classes.contains(&a) {
            self.any_key_on.union_with(nodes);
            return;
        }
        let (old, new): (Vec<_>, Vec<_>) = (before.classes[b].files().collect(), after.classes[a].files().collect());
        let options = |levels: &ResolvedLevels, class: usize| {
            levels.classes[class].levels().map(|level| level.options.clone()).collect::<Vec<_>>()
        };
        let is_same = options(before, b) == options(after, a);
        let same_places = old.len() == new.len() && old.iter().zip(&new).all(|(old, new)| old.0 == new.0);
        if is_same && same_places {
            old.iter().zip(&new).for_each(|((_, old), (_, new))| self.compare_files(old, new, nodes));
            return;
        }
        // A value that is found in only one place is not merged, not even with itself.
        if old.len() != new.len() && old.len().min(new.len()) <= 1 {
            old.iter().chain(&new).for_each(|(_, file)| self.add_file(file, nodes));
            return;
        }
        // Leaves out the equal files at the beginning and the end of both lists.
        let equal = |old: FileAt<'_>, new: FileAt<'_>| is_same && old.0 == new.0 && Arc::ptr_eq(old.1, new.1);
        let head = old.iter().zip(&new).take_while(|(old, new)| equal(**old, **new)).count();
        let tails = old[head..].iter().rev().zip(new[head..].iter().rev());
        let tail = tails.take_while(|(old, new)| equal(**old, **new)).count();
        let middle = old[head..old.len() - tail].iter().chain(&new[head..new.len() - tail]);
        middle.for_each(|(_, file)| self.add_file(file, nodes));
    }

    /// Adds the keys that have different values in two versions of a file.
    fn compare_files(&mut self, old: &Arc<DataFile>, new: &Arc<DataFile>, nodes: &NodeSet) {
        if Arc::ptr_eq(old, new) {
            return;
        }
        let pair = (Arc::as_ptr(old).addr(), Arc::as_ptr(new).addr());
        let keys = self.compared.entry(pair).or_insert_with(|| differing(old, new).into()).clone();
        keys.iter().for_each(|key| self.add(key, nodes));
    }

    fn add_file(&mut self, file: &DataFile, nodes: &NodeSet) {
        file.keys().iter().for_each(|key| self.add(key, nodes));
    }

    fn add(&mut self, key: &Arc<str>, nodes: &NodeSet) {
        match self.keys.get_mut(key) {
            Some(known) => known.union_with(nodes),
            None => _ = self.keys.insert(key.clone(), nodes.clone()),
        }
    }

    /// Adds all keys of a level that only one revision has.
    pub(super) fn add_all(&mut self, levels: &ResolvedLevels) {
        for (at, (class, nodes)) in levels.classes.iter().zip(levels.partition.classes()).enumerate() {
            if levels.any_key_classes.contains(&at) {
                self.any_key_on.union_with(nodes);
            }
            class.files().for_each(|(_, file)| self.add_file(file, nodes));
        }
    }
}

/// Returns the root keys that have different values in two versions of a file.
fn differing(old: &DataFile, new: &DataFile) -> Vec<Arc<str>> {
    let (Some(before), Some(after)) = (old.content(), new.content()) else {
        return old.keys().iter().chain(new.keys()).cloned().collect();
    };
    let name = |key: &Value| Arc::from(key.to_s());
    let changed = before.beside(after).filter(|((_, value), other)| *other != Some(value));
    let new = after.beside(before).filter(|(_, other)| other.is_none());
    changed.chain(new).map(|((key, _), _)| name(key)).collect()
}

/// Returns the nodes whose levels differ, by their classes before and after.
fn nodes_that_differ(before: &ResolvedLevels, after: &ResolvedLevels) -> BTreeMap<(usize, usize), NodeSet> {
    if std::ptr::eq(before, after) {
        return BTreeMap::new();
    }
    let (old, new) = (before.partition.classes(), after.partition.classes());
    let mut nodes = NodeSet::new();
    for (b, a) in before.matching_classes(after).into_iter().enumerate() {
        match a {
            Some(a) if old[b] == new[a] => {}
            Some(a) => nodes.union_with(&old[b].difference(&new[a])),
            None => nodes.union_with(&old[b]),
        }
    }
    let mut pairs: BTreeMap<(usize, usize), NodeSet> = BTreeMap::new();
    for node in nodes.iter() {
        pairs.entry((before.partition.class_of(node), after.partition.class_of(node))).or_default().insert(node);
    }
    pairs
}

/// Returns all nodes by their classes in two partitions.
pub(super) fn pairs(before: &Partition, after: &Partition) -> BTreeMap<(usize, usize), NodeSet> {
    let mut pairs: BTreeMap<(usize, usize), Vec<NodeId>> = BTreeMap::new();
    let classes = before.class_numbers().zip(after.class_numbers());
    for (node, pair) in (0..).map(NodeId).zip(classes) {
        pairs.entry(pair).or_default().push(node);
    }
    pairs.into_iter().map(|(pair, nodes)| (pair, nodes.into_iter().collect())).collect()
}
