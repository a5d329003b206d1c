//! Who finds a root key where: location by location, so that nodes are told apart only by the files that have the key.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::fleet::revision::class::{Class, file};
use crate::hiera::backend::{Backend, DataFile};
use crate::hiera::hierarchy::{Content, Level, Location, Part};
use crate::node::Partition;
use crate::value::{Hash, Value};

/// So many keys are looked for in one part after the other; for more an index is made.
const FEW: usize = 32;

/// One location of a part of a hierarchy, or all of them together, as all nodes see it.
pub(in crate::fleet) struct Lane {
    /// The nodes, divided by what they see.
    pub(in crate::fleet) partition: Partition,
    /// What has root keys in each part.
    seen: Vec<Arc<[Keyed]>>,
    /// Those parts of which any key may depend on it.
    pub(in crate::fleet) for_any_key: Vec<usize>,
    /// The parts in which each root key is.
    index: OnceLock<HashMap<Arc<str>, Vec<usize>, RandomState>>,
    asked: AtomicUsize,
}

/// Something that has root keys.
#[derive(Clone)]
pub(in crate::fleet) enum Keyed {
    /// A data file.
    File(Arc<DataFile>),
    /// The values that the settings declare.
    Values(Arc<Hash>),
}

impl Keyed {
    /// The root keys.
    pub(in crate::fleet) fn keys(&self) -> Vec<Arc<str>> {
        match self {
            Keyed::File(file) => file.keys().to_vec(),
            Keyed::Values(values) => values.keys().map(|key| key.to_s().into()).collect(),
        }
    }

    fn has(&self, root: &str) -> bool {
        match self {
            Keyed::File(file) => file.has(root),
            Keyed::Values(values) => values.keys().any(|key| key.to_s() == root),
        }
    }

    /// The data file that it is.
    pub(in crate::fleet) fn file(&self) -> Option<&Arc<DataFile>> {
        match self {
            Keyed::File(file) => Some(file),
            Keyed::Values(_) => None,
        }
    }

    /// What tells it from another one.
    pub(in crate::fleet) fn address(&self) -> usize {
        match self {
            Keyed::File(file) => Arc::as_ptr(file).addr(),
            Keyed::Values(values) => Arc::as_ptr(values).addr(),
        }
    }
}

/// What of `before` is not in `after`, and the other way round.
pub(in crate::fleet) fn moved<'k>(
    before: impl Iterator<Item = &'k Keyed>,
    after: impl Iterator<Item = &'k Keyed>,
) -> (Vec<&'k Keyed>, Vec<&'k Keyed>) {
    type ByAddress<'k> = HashMap<usize, &'k Keyed, RandomState>;
    let before: ByAddress<'k> = before.map(|keyed| (keyed.address(), keyed)).collect();
    let after: ByAddress<'k> = after.map(|keyed| (keyed.address(), keyed)).collect();
    let without = |one: &ByAddress<'k>, other: &ByAddress<'k>| {
        one.iter().filter(|(address, _)| !other.contains_key(address)).map(|(_, keyed)| *keyed).collect()
    };
    (without(&before, &after), without(&after, &before))
}

/// What there is at a location: the options of its level, and the file with its path.
type At<'a> = (&'a Value, Option<(&'a Arc<str>, *const DataFile)>);

impl Lane {
    fn new(partition: Partition, seen: Vec<Arc<[Keyed]>>, for_any_key: Vec<usize>) -> Lane {
        Lane { partition, seen, for_any_key, index: OnceLock::new(), asked: AtomicUsize::new(0) }
    }

    /// The lanes of a part: one for each location, if all classes have the same ones and nothing but files at them.
    pub(in crate::fleet) fn of<'a>(
        partition: &Partition,
        classes: &'a [Arc<Class>],
        for_any_key: &[usize],
    ) -> Vec<Lane> {
        let count = classes.first().and_then(|class| locations(&class.part)).map_or(0, |row| row.len());
        let row = |class: &'a Arc<Class>| locations(&class.part).filter(|row| row.len() == count);
        let are_many = classes.len() > 1 && count > 1;
        match are_many.then(|| classes.iter().map(row).collect::<Option<Vec<_>>>()).flatten() {
            Some(rows) => (0..count).map(|at| Lane::at(partition, rows.iter().map(|row| row[at]))).collect(),
            None => vec![Lane::whole(partition, classes, for_any_key)],
        }
    }

    /// All locations together.
    pub(in crate::fleet) fn whole(partition: &Partition, classes: &[Arc<Class>], for_any_key: &[usize]) -> Lane {
        let seen = classes.iter().map(|class| class.keyed.clone()).collect();
        Lane::new(partition.clone(), seen, for_any_key.to_vec())
    }

    /// The location that each class has here.
    fn at<'a>(partition: &Partition, of_classes: impl Iterator<Item = (&'a Level, &'a Location)>) -> Lane {
        let mut parts: IndexSet<At<'a>, RandomState> = IndexSet::default();
        let (mut of_class, mut seen, mut for_any_key) = (Vec::new(), Vec::new(), Vec::new());
        for (level, location) in of_classes {
            let file = file(location);
            let (part, is_new) =
                parts.insert_full((&level.options, file.map(|(path, file)| (path, Arc::as_ptr(file)))));
            of_class.push(part);
            if is_new {
                for_any_key.extend(file.filter(|(_, file)| file.concerns_all_keys()).map(|_| part));
                seen.push(file.into_iter().map(|(_, file)| Keyed::File(file.clone())).collect());
            }
        }
        Lane::new(partition.coarsened(&of_class, parts.len()), seen, for_any_key)
    }

    /// What has root keys here, some of it again.
    pub(in crate::fleet) fn keyed(&self) -> impl Iterator<Item = &Keyed> {
        self.seen.iter().flat_map(|seen| &**seen)
    }

    /// Whether somebody sees the root key here.
    pub(in crate::fleet) fn has(&self, root: &str) -> bool {
        self.keyed().any(|keyed| keyed.has(root))
    }

    /// The parts of which the answers to `root` may depend on this.
    pub(in crate::fleet) fn parts_with(&self, root: &str) -> Vec<usize> {
        if root.is_empty() {
            return (0..self.partition.count()).collect(); // eyaml fails on it wherever there is a file
        }
        let parts = if self.index.get().is_none() && self.asked.fetch_add(1, Ordering::Relaxed) < FEW {
            let with_key = |(_, seen): &(usize, &Arc<[Keyed]>)| seen.iter().any(|keyed| keyed.has(root));
            (0..).zip(&self.seen).filter(with_key).map(|(part, _)| part).collect()
        } else {
            self.index.get_or_init(|| self.index()).get(root).cloned().unwrap_or_default()
        };
        if self.for_any_key.is_empty() {
            return parts;
        }
        parts.iter().chain(&self.for_any_key).copied().collect::<BTreeSet<usize>>().into_iter().collect()
    }

    /// The value of a root key in the first file of a part that has it; nothing where something may fail before it.
    pub(in crate::fleet) fn first(&self, part: usize, root: &str) -> Option<&Value> {
        let is_for_any_key = self.for_any_key.contains(&part);
        let keyed = self.seen[part].iter().filter(|_| !is_for_any_key).find(|keyed| keyed.has(root))?;
        keyed.file()?.content()?.get(root)
    }

    fn index(&self) -> HashMap<Arc<str>, Vec<usize>, RandomState> {
        let mut index: HashMap<Arc<str>, Vec<usize>, RandomState> = HashMap::default();
        for (part, seen) in self.seen.iter().enumerate() {
            for key in seen.iter().flat_map(Keyed::keys) {
                let parts = index.entry(key).or_default();
                if parts.last() != Some(&part) {
                    parts.push(part);
                }
            }
        }
        index
    }
}

/// The locations of a part, if all of them are files, or nothing.
fn locations(part: &Part) -> Option<Vec<(&Level, &Location)>> {
    let mut found = Vec::new();
    for level in part.levels.as_ref().ok()? {
        let is_plain = |location: &Location| {
            matches!(location, Location::Path { content: Content::Absent | Content::File(..), .. })
        };
        let are_files = matches!(level.backend, Backend::Files(_) | Backend::Eyaml(_));
        if !are_files || !level.locations.iter().all(is_plain) {
            return None;
        }
        found.extend(level.locations.iter().map(|location| (&**level, location)));
    }
    Some(found)
}
