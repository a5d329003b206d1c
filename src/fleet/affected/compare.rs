//! What the data sources of two revisions say differently, and to whom.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::resolve::NodesByKey;
use crate::fleet::revision::placed::Placed;
use crate::hiera::backend::DataFile;
use crate::node::{NodeId, NodeSet};
use crate::value::Value;

/// A path and what is there.
type Sourced<'a> = (&'a Arc<str>, &'a Arc<DataFile>);

/// Root keys of which two revisions say different things, with the nodes to which they do.
#[derive(Default)]
pub(in crate::fleet) struct Found {
    pub(in crate::fleet) keys: HashMap<Arc<str>, NodeSet, RandomState>,
    /// The keys that differ between two contents of a file.
    compared: HashMap<(usize, usize), Arc<[Arc<str>]>, RandomState>,
}

impl Found {
    /// The keys in order.
    pub(in crate::fleet) fn into_work(self) -> NodesByKey {
        self.keys.into_iter().collect()
    }

    /// Compares what all nodes see of a part of a hierarchy.
    pub(in crate::fleet) fn compare(&mut self, before: &Placed, after: &Placed) -> Option<()> {
        for ((b, a), nodes) in otherwise(before, after) {
            self.compare_classes((before, b), (after, a), &nodes)?;
        }
        Some(())
    }

    /// Compares what `nodes` see, which are of a class before and of another after.
    fn compare_classes(
        &mut self,
        (before, b): (&Placed, usize),
        (after, a): (&Placed, usize),
        nodes: &NodeSet,
    ) -> Option<()> {
        if before.for_any_key.contains(&b) || after.for_any_key.contains(&a) {
            return None;
        }
        let (old, new): (Vec<_>, Vec<_>) = (before.classes[b].files().collect(), after.classes[a].files().collect());
        let options = |placed: &Placed, class: usize| {
            let levels = placed.classes[class].part.levels.iter().flatten();
            levels.map(|level| level.options.clone()).collect::<Vec<_>>()
        };
        let is_same = options(before, b) == options(after, a);
        let same_places = old.len() == new.len() && old.iter().zip(&new).all(|(old, new)| old.0 == new.0);
        if is_same && same_places {
            old.iter().zip(&new).for_each(|((_, old), (_, new))| self.compare_files(old, new, nodes));
            return Some(());
        }
        // What is found at one place alone is not merged, not even with itself.
        if old.len() != new.len() && old.len().min(new.len()) <= 1 {
            old.iter().chain(&new).for_each(|(_, file)| self.add_file(file, nodes));
            return Some(());
        }
        // What both begin and end with stays where it is.
        let equal = |old: Sourced<'_>, new: Sourced<'_>| is_same && old.0 == new.0 && Arc::ptr_eq(old.1, new.1);
        let head = old.iter().zip(&new).take_while(|(old, new)| equal(**old, **new)).count();
        let tails = old[head..].iter().rev().zip(new[head..].iter().rev());
        let tail = tails.take_while(|(old, new)| equal(**old, **new)).count();
        let middle = old[head..old.len() - tail].iter().chain(&new[head..new.len() - tail]);
        middle.for_each(|(_, file)| self.add_file(file, nodes));
        Some(())
    }

    /// Adds the keys to which two contents of a file give different values.
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

    /// Adds all keys of a part that only one revision has.
    pub(in crate::fleet) fn add_placed(&mut self, placed: &Placed) -> Option<()> {
        if !placed.for_any_key.is_empty() {
            return None;
        }
        for (class, nodes) in placed.classes.iter().zip(placed.partition.classes()) {
            class.files().for_each(|(_, file)| self.add_file(file, nodes));
        }
        Some(())
    }
}

/// The root keys to which two contents of a file give different values.
fn differing(old: &DataFile, new: &DataFile) -> Vec<Arc<str>> {
    let (Some(before), Some(after)) = (old.content(), new.content()) else {
        return old.keys().iter().chain(new.keys()).cloned().collect();
    };
    let name = |key: &Value| Arc::from(key.to_s());
    let changed = before.beside(after).filter(|((_, value), other)| *other != Some(value));
    let new = after.beside(before).filter(|(_, other)| other.is_none());
    changed.chain(new).map(|((key, _), _)| name(key)).collect()
}

/// The nodes that see something else, by what they see.
fn otherwise(before: &Placed, after: &Placed) -> BTreeMap<(usize, usize), NodeSet> {
    if std::ptr::eq(before, after) {
        return BTreeMap::new();
    }
    let (old, new) = (before.partition.classes(), after.partition.classes());
    let mut nodes = NodeSet::new();
    for (b, a) in before.matched(after).into_iter().enumerate() {
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

/// The nodes by the part of each of two divisions that they are in.
pub(in crate::fleet) fn pairs(
    before: impl Iterator<Item = usize>,
    after: impl Iterator<Item = usize>,
) -> BTreeMap<(usize, usize), NodeSet> {
    let mut pairs: BTreeMap<(usize, usize), Vec<NodeId>> = BTreeMap::new();
    for (node, pair) in (0..).map(NodeId).zip(before.zip(after)) {
        pairs.entry(pair).or_default().push(node);
    }
    pairs.into_iter().map(|(pair, nodes)| (pair, nodes.into_iter().collect())).collect()
}
