//! What the data sources of two revisions say differently.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::Fleet;
use super::placed::Placed;
use crate::hiera::backend::DataFile;
use crate::value::{Value, ruby};

/// A path and what is there.
type Sourced<'a> = (&'a Arc<str>, &'a Arc<DataFile>);

/// Keys of which two revisions say different things.
#[derive(Default)]
pub(super) struct Found {
    pub(super) keys: BTreeSet<Arc<str>>,
    /// Pairs of files that were compared.
    compared: HashSet<(usize, usize), RandomState>,
}

impl Found {
    /// Compares what all nodes see of a part of a hierarchy.
    pub(super) fn compare(&mut self, before: &Placed, after: &Placed, fleet: &Fleet) -> Option<()> {
        let same: Vec<Option<usize>> = before.matched(after);
        let mut seen: HashSet<(usize, usize), RandomState> = HashSet::default();
        for node in fleet.all().iter() {
            let (b, a) = (before.partition.part(node), after.partition.part(node));
            if same[b] != Some(a) && seen.insert((b, a)) {
                self.compare_classes(before, b, after, a)?;
            }
        }
        Some(())
    }

    fn compare_classes(&mut self, before: &Placed, b: usize, after: &Placed, a: usize) -> Option<()> {
        if before.for_any_key.contains(&b) || after.for_any_key.contains(&a) {
            return None;
        }
        let (old, new): (Vec<_>, Vec<_>) = (before.files(b).collect(), after.files(a).collect());
        let options = |placed: &Placed, class: usize| {
            let levels = placed.classes[class].levels.iter().flatten();
            levels.map(|level| level.options.clone()).collect::<Vec<_>>()
        };
        let is_same = options(before, b) == options(after, a);
        let same_places = old.len() == new.len() && old.iter().zip(&new).all(|(old, new)| old.0 == new.0);
        if is_same && same_places {
            old.iter().zip(&new).for_each(|((_, old), (_, new))| self.compare_files(old, new));
            return Some(());
        }
        // What both begin and end with stays where it is.
        let equal = |old: Sourced<'_>, new: Sourced<'_>| is_same && old.0 == new.0 && Arc::ptr_eq(old.1, new.1);
        let head = old.iter().zip(&new).take_while(|(old, new)| equal(**old, **new)).count();
        let tails = old[head..].iter().rev().zip(new[head..].iter().rev());
        let tail = tails.take_while(|(old, new)| equal(**old, **new)).count();
        let middle = old[head..old.len() - tail].iter().chain(&new[head..new.len() - tail]);
        middle.for_each(|(_, file)| self.add_file(file));
        Some(())
    }

    /// Adds the keys to which two contents of a file give different values.
    fn compare_files(&mut self, old: &Arc<DataFile>, new: &Arc<DataFile>) {
        let pair = (Arc::as_ptr(old).addr(), Arc::as_ptr(new).addr());
        if Arc::ptr_eq(old, new) || !self.compared.insert(pair) {
            return;
        }
        let (Some(old), Some(new)) = (old.content(), new.content()) else {
            self.add_file(old);
            self.add_file(new);
            return;
        };
        let name = |key: &Value| Arc::from(ruby::to_s(key));
        self.keys.extend(old.iter().filter(|(key, value)| new.get_value(key) != Some(value)).map(|(key, _)| name(key)));
        self.keys.extend(new.keys().filter(|key| old.get_value(key).is_none()).map(name));
    }

    fn add_file(&mut self, file: &DataFile) {
        self.keys.extend(file.keys().map(Arc::from));
    }

    /// Adds all keys of a part that only one revision has.
    pub(super) fn add_placed(&mut self, placed: &Placed) -> Option<()> {
        if !placed.for_any_key.is_empty() {
            return None;
        }
        (0..placed.classes.len()).flat_map(|class| placed.files(class)).for_each(|(_, file)| self.add_file(file));
        Some(())
    }
}
