//! Who finds a root key where: location by location, so that nodes are told apart only by the files that have the key.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::fleet::partition::Partition;
use crate::hiera::backend::{Backend, DataFile, Declared};
use crate::hiera::hierarchy::{Content, Level, Location, Part};
use crate::value::{Value, ruby};

/// One location of a part of a hierarchy, or all of them together, as all nodes see it.
#[derive(Clone)]
pub(in crate::fleet) struct Lane {
    /// The nodes, divided by what they see.
    pub(in crate::fleet) partition: Partition,
    /// Which of the nodes see a root key.
    index: HashMap<Arc<str>, Vec<usize>, RandomState>,
    /// Those of which any key may depend on it.
    for_any_key: Vec<usize>,
}

/// What there is at a location: the options of its level, and the file with its path.
type At<'a> = (&'a Value, Option<(&'a Arc<str>, *const DataFile)>);

impl Lane {
    /// The lanes of a part: one for each location, if all classes have the same ones and nothing but files at them.
    pub(in crate::fleet) fn of(partition: &Partition, classes: &[Part], for_any_key: &[usize]) -> Vec<Lane> {
        let rows: Option<Vec<Vec<(&Level, &Location)>>> = classes.iter().map(locations).collect();
        match rows.filter(|rows| rows.len() > 1 && rows.iter().all(|row| row.len() > 1 && row.len() == rows[0].len())) {
            Some(rows) => (0..rows[0].len()).map(|at| Lane::at(partition, rows.iter().map(|row| row[at]))).collect(),
            None => vec![Lane::whole(partition, classes, for_any_key)],
        }
    }

    /// All locations together.
    pub(in crate::fleet) fn whole(partition: &Partition, classes: &[Part], for_any_key: &[usize]) -> Lane {
        let mut lane =
            Lane { partition: partition.clone(), index: HashMap::default(), for_any_key: for_any_key.to_vec() };
        for (class, part) in classes.iter().enumerate() {
            for level in part.levels.iter().flatten() {
                if let Backend::Declared(Declared::Values(values)) = &level.backend {
                    lane.add(class, values.keys().map(ruby::to_s));
                }
                for location in &level.locations {
                    if let Location::Path { content: Content::File(_, file), .. } = location {
                        lane.add(class, file.keys());
                    }
                }
            }
        }
        lane
    }

    /// The location that each class has here.
    fn at<'a>(partition: &Partition, of_classes: impl Iterator<Item = (&'a Level, &'a Location)>) -> Lane {
        let mut parts: IndexSet<At<'a>, RandomState> = IndexSet::default();
        let mut lane = Lane { partition: Partition::default(), index: HashMap::default(), for_any_key: Vec::new() };
        let mut of_class = Vec::new();
        for (level, location) in of_classes {
            let Location::Path { path, content, .. } = location else { continue };
            let file = match content {
                Content::File(_, file) => Some(file),
                _ => None,
            };
            let (part, is_new) = parts.insert_full((&level.options, file.map(|file| (path, Arc::as_ptr(file)))));
            of_class.push(part);
            if is_new && let Some(file) = file {
                lane.add(part, file.keys());
                if file.concerns_all_keys() {
                    lane.for_any_key.push(part);
                }
            }
        }
        lane.partition = partition.joined(&of_class, parts.len());
        lane
    }

    fn add(&mut self, part: usize, keys: impl Iterator<Item = String>) {
        for key in keys {
            let parts = self.index.entry(key.into()).or_default();
            if parts.last() != Some(&part) {
                parts.push(part);
            }
        }
    }

    /// The root keys that somebody sees here.
    pub(in crate::fleet) fn keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.index.keys()
    }

    pub(in crate::fleet) fn has(&self, root: &str) -> bool {
        self.index.contains_key(root)
    }

    /// The parts of which the answers to `root` may depend on this.
    pub(in crate::fleet) fn parts_with(&self, root: &str) -> Vec<usize> {
        if root.is_empty() {
            return (0..self.partition.count()).collect(); // eyaml fails on it wherever there is a file
        }
        let with_key = self.index.get(root).into_iter().flatten();
        with_key.chain(&self.for_any_key).copied().collect::<BTreeSet<usize>>().into_iter().collect()
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
