//! The root keys at one location of a level: nodes are told apart only by the files that have a key.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::fleet::levels::class_levels::{ClassLevels, Role};
use crate::fleet::levels::key_source::KeySource;
use crate::hiera::hierarchy::{HierarchyPart, Level, Location};
use crate::node::Partition;
use crate::value::Value;

/// The number of searches class by class before an index is made.
const SEARCHES_BEFORE_INDEX: usize = 32;

/// One location of resolved levels, or all of them together: which node classes find which root keys there.
///
/// Its partition may be coarser than that of the levels: classes that find the same file at the location are joined.
pub(in crate::fleet) struct KeyLocations {
    /// The nodes by what they find.
    pub(in crate::fleet) partition: Partition,
    /// The sources that each class finds.
    sources: Vec<Arc<[KeySource]>>,
    /// The classes for which any key may depend on this location.
    pub(in crate::fleet) any_key_classes: Vec<usize>,
    /// The classes that find each root key.
    index: OnceLock<HashMap<Arc<str>, Vec<usize>, RandomState>>,
    searches: AtomicUsize,
}

impl KeyLocations {
    fn new(partition: Partition, sources: Vec<Arc<[KeySource]>>, any_key_classes: Vec<usize>) -> KeyLocations {
        KeyLocations { partition, sources, any_key_classes, index: OnceLock::new(), searches: AtomicUsize::new(0) }
    }

    /// Returns one entry for each location if all classes have the same number of them, and none of these may answer
    /// any key; otherwise one entry for all together.
    pub(super) fn per_location<'a>(
        partition: &Partition,
        classes: &'a [Arc<ClassLevels>],
        any_key_classes: &[usize],
    ) -> Vec<KeyLocations> {
        let count = classes.first().and_then(|class| locations(&class.part)).map_or(0, |row| row.len());
        let row = |class: &'a Arc<ClassLevels>| locations(&class.part).filter(|row| row.len() == count);
        let are_many = classes.len() > 1 && count > 1;
        match are_many.then(|| classes.iter().map(row).collect::<Option<Vec<_>>>()).flatten() {
            Some(rows) => {
                (0..count).map(|at| KeyLocations::for_location(partition, rows.iter().map(|row| row[at]))).collect()
            }
            None => vec![KeyLocations::combined(partition, classes, any_key_classes)],
        }
    }

    /// Returns one entry for all locations together.
    pub(super) fn combined(
        partition: &Partition,
        classes: &[Arc<ClassLevels>],
        any_key_classes: &[usize],
    ) -> KeyLocations {
        let sources = classes.iter().map(|class| class.sources.clone()).collect();
        KeyLocations::new(partition.clone(), sources, any_key_classes.to_vec())
    }

    /// Returns the entry of the location that each class has here.
    fn for_location<'a>(
        partition: &Partition,
        of_classes: impl Iterator<Item = (&'a Level, &'a Location)>,
    ) -> KeyLocations {
        let mut distinct: IndexSet<Role<'a>, RandomState> = IndexSet::default();
        let (mut numbers, mut sources, mut any_key_classes) = (Vec::new(), Vec::new(), Vec::new());
        for (level, location) in of_classes {
            let role = Role::of(level, location);
            let file = location.file().filter(|_| matches!(role, Role::File(..)));
            let concerns_any_key = role.concerns_any_key(location);
            let (class, is_new) = distinct.insert_full(role);
            numbers.push(class);
            if is_new {
                any_key_classes.extend(concerns_any_key.then_some(class));
                sources.push(file.into_iter().map(|(_, file)| KeySource::File(file.clone())).collect());
            }
        }
        KeyLocations::new(partition.coarsened(&numbers, distinct.len()), sources, any_key_classes)
    }

    /// Returns all sources; some occur twice.
    pub(super) fn sources(&self) -> impl Iterator<Item = &KeySource> {
        self.sources.iter().flat_map(|sources| &**sources)
    }

    /// Returns true if some class finds the key `root`.
    pub(super) fn has(&self, root: &str) -> bool {
        self.sources().any(|source| source.has(root))
    }

    /// Returns the classes for which the answer to `root` may depend on this location.
    pub(in crate::fleet) fn classes_with(&self, root: &str) -> Vec<usize> {
        if root.is_empty() {
            return (0..self.partition.count()).collect(); // eyaml fails on it wherever there is a file
        }
        let is_indexed = self.index.get().is_some();
        let classes = if !is_indexed && self.searches.fetch_add(1, Ordering::Relaxed) < SEARCHES_BEFORE_INDEX {
            let with_key = |(_, sources): &(usize, &Arc<[KeySource]>)| sources.iter().any(|source| source.has(root));
            (0..).zip(&self.sources).filter(with_key).map(|(class, _)| class).collect()
        } else {
            self.index.get_or_init(|| self.index()).get(root).cloned().unwrap_or_default()
        };
        if self.any_key_classes.is_empty() {
            return classes;
        }
        classes.iter().chain(&self.any_key_classes).copied().collect::<BTreeSet<usize>>().into_iter().collect()
    }

    /// Returns the value of a root key in the first file of a class that has it, or `None` if something before it may
    /// fail.
    pub(in crate::fleet) fn first_value(&self, class: usize, root: &str) -> Option<&Value> {
        let may_fail = self.any_key_classes.contains(&class);
        let source = self.sources[class].iter().filter(|_| !may_fail).find(|source| source.has(root))?;
        source.file()?.content()?.get(root)
    }

    fn index(&self) -> HashMap<Arc<str>, Vec<usize>, RandomState> {
        let mut index: HashMap<Arc<str>, Vec<usize>, RandomState> = HashMap::default();
        for (class, sources) in self.sources.iter().enumerate() {
            for key in sources.iter().flat_map(KeySource::keys) {
                let classes = index.entry(key).or_default();
                if classes.last() != Some(&class) {
                    classes.push(class);
                }
            }
        }
        index
    }
}

/// Returns the locations of a part of a hierarchy, or `None` if some may answer any key.
fn locations(part: &HierarchyPart) -> Option<Vec<(&Level, &Location)>> {
    let levels = part.levels.as_ref().ok()?;
    let all = levels.iter().flat_map(|level| level.locations.iter().map(|location| (&**level, location)));
    all.map(|(level, location)| (Role::of(level, location) != Role::AnyKey).then_some((level, location))).collect()
}
