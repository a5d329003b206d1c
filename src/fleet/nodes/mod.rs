//! The nodes of a fleet, and of their variables what anything looked at.

pub(in crate::fleet) mod mentioned;
pub(in crate::fleet) mod variables;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::fleet::answers::Work;
use crate::fleet::nodes::mentioned::Mentioned;
use crate::fleet::nodes::variables::{FleetScope, PathRef, Reading, VariablePath};
use crate::fleet::partition::Partition;
use crate::hiera::scope::NodeScope;
use crate::node::{Batch, NodeId, NodeProfile, NodeSet, ProfileError, ProfileSource, Wanted};

/// The nodes whose effective values count, in the order of their names.
///
/// Of the profiles it holds the places in variables that were asked for, equal ones once. What else is asked for makes it read the
/// profiles again.
pub struct Fleet {
    names: Vec<Arc<str>>,
    /// The file of each node's profile.
    paths: Vec<Arc<str>>,
    by_name: HashMap<Arc<str>, NodeId, RandomState>,
    source: Arc<dyn ProfileSource>,
    columns: RwLock<IndexMap<VariablePath, Arc<Column>, RandomState>>,
    /// Held by who reads the profiles.
    reading: Mutex<()>,
    all: NodeSet,
}

/// How the nodes divide by what they have at one place, and what that is.
pub(in crate::fleet) struct Column {
    pub(in crate::fleet) partition: Partition,
    /// What the nodes of each part have.
    readings: Vec<Reading>,
    /// Whether any of it is interpolated itself.
    interpolates: OnceLock<bool>,
}

impl Column {
    /// What a node has.
    pub(in crate::fleet) fn of(&self, node: NodeId) -> &Reading {
        &self.readings[self.partition.part(node)]
    }
}

/// What a node has at some places.
struct Row {
    name: Arc<str>,
    path: Arc<str>,
    readings: Vec<Reading>,
}

impl Default for Fleet {
    fn default() -> Fleet {
        Fleet::new([])
    }
}

impl Fleet {
    /// A fleet of `profiles`; of two with the same name the last one counts.
    pub fn new(profiles: impl IntoIterator<Item = NodeProfile>) -> Fleet {
        let profiles: Vec<NodeProfile> = profiles.into_iter().collect();
        Fleet::load(Arc::new(profiles), &Mentioned::default(), &|_| true).0
    }

    /// The fleet of those profiles of `source` whose names are `chosen`, with what was `mentioned` read at once. What could not be
    /// read is left out; of two profiles with the same name the last one counts, which is an error of the other.
    pub fn load(
        source: Arc<dyn ProfileSource>,
        mentioned: &Mentioned,
        chosen: &(dyn Fn(&str) -> bool + Sync),
    ) -> (Fleet, Vec<ProfileError>) {
        let paths: Vec<VariablePath> = mentioned.paths().cloned().collect();
        let (rows, mut errors) = rows(&*source, &paths, chosen);
        let mut last: BTreeMap<Arc<str>, Row> = BTreeMap::new();
        for row in rows {
            let path = row.path.clone();
            if let Some(earlier) = last.insert(row.name.clone(), row) {
                let text = format!("node {} is declared again in {path}, and that counts", earlier.name);
                errors.push(ProfileError { path: earlier.path.to_string(), line: 1, text });
            }
        }
        let names: Vec<Arc<str>> = last.keys().cloned().collect();
        let files = last.values().map(|row| row.path.clone()).collect();
        let by_name = (0..).map(NodeId).zip(&names).map(|(id, name)| (name.clone(), id)).collect();
        let columns = RwLock::default();
        let all = NodeSet::first(u32::try_from(names.len()).unwrap_or(u32::MAX));
        let fleet = Fleet { names, paths: files, by_name, source, columns, reading: Mutex::default(), all };
        fleet.add(paths, last.into_values().map(|row| Some(row.readings)).collect());
        (fleet, errors)
    }

    /// Reads what was `mentioned`, as far as it is not known yet: once, instead of place by place when it is asked for.
    pub fn read_ahead(&self, mentioned: &Mentioned) {
        let missing = || -> Vec<VariablePath> {
            let known = self.columns.read().unwrap_or_else(PoisonError::into_inner);
            mentioned.paths().filter(|path| !known.contains_key(*path)).cloned().collect()
        };
        if missing().is_empty() {
            return;
        }
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = missing();
        if !missing.is_empty() {
            self.read(missing);
        }
    }

    fn read(&self, paths: Vec<VariablePath>) {
        let (rows, errors) = rows(&*self.source, &paths, &|name| self.by_name.contains_key(name));
        if let Some(error) = errors.first() {
            tracing::warn!(%error, count = errors.len(), "profiles could not be read again");
        }
        let mut of_nodes: Vec<Option<Vec<Reading>>> = Vec::new();
        of_nodes.resize_with(self.len(), || None);
        for row in rows {
            if let Some(node) = self.find(&row.name).filter(|node| self.is_of(*node, &row.path)) {
                of_nodes[node.0 as usize] = Some(row.readings);
            }
        }
        self.add(paths, of_nodes);
    }

    /// Adds columns for `paths`, of the readings that each node has at them; nothing for a node that could not be read.
    fn add(&self, paths: Vec<VariablePath>, of_nodes: Vec<Option<Vec<Reading>>>) {
        let mut of_nodes: Vec<_> = of_nodes.into_iter().map(|readings| readings.map(Vec::into_iter)).collect();
        for path in paths {
            let next = |readings: &mut Option<std::vec::IntoIter<Reading>>| readings.as_mut().and_then(Iterator::next);
            let of_path = of_nodes.iter_mut().map(|readings| next(readings).unwrap_or_else(Reading::unknown));
            let (partition, readings) = Partition::by(of_path);
            let column = Arc::new(Column { partition, readings, interpolates: OnceLock::new() });
            self.columns.write().unwrap_or_else(PoisonError::into_inner).insert(path, column);
        }
    }

    /// What the nodes have at `path` of a variable.
    pub(in crate::fleet) fn column(&self, path: PathRef<'_>) -> Arc<Column> {
        let known = || self.columns.read().unwrap_or_else(PoisonError::into_inner).get(&path).cloned();
        if let Some(column) = known() {
            return column;
        }
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(column) = known() {
                return column;
            }
            self.read(vec![path.to_path()]);
        }
    }

    /// Whether the profiles are still what they were when the fleet was loaded.
    pub fn is_current(&self) -> bool {
        self.source.is_current()
    }

    /// Whether the profile of a node that counts is in the file at `path`: where that cannot be read any more, no other counts.
    fn is_of(&self, node: NodeId, path: &str) -> bool {
        *self.paths[node.0 as usize] == *path
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The work of looking `keys` up on all nodes.
    pub fn everywhere<'k>(&self, keys: impl IntoIterator<Item = &'k Arc<str>>) -> Work {
        keys.into_iter().map(|key| (key.clone(), self.all())).collect()
    }

    /// All nodes.
    pub fn all(&self) -> NodeSet {
        self.all.clone()
    }

    /// The names of all nodes with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Arc<str>)> {
        (0..).map(NodeId).zip(&self.names)
    }

    /// The node called `name`.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// A node's name.
    pub fn name(&self, node: NodeId) -> &Arc<str> {
        &self.names[node.0 as usize]
    }

    /// The names of the nodes of a set, in order.
    pub fn names<'f>(&'f self, nodes: &'f NodeSet) -> impl Iterator<Item = &'f Arc<str>> + 'f {
        nodes.iter().map(|node| self.name(node))
    }

    /// A node's variables.
    pub fn scope(&self, node: NodeId) -> FleetScope<'_> {
        FleetScope { fleet: self, node }
    }

    /// The whole profiles of some nodes, read again; without those that cannot be read any more.
    pub fn profiles(&self, nodes: &NodeSet) -> BTreeMap<NodeId, NodeProfile> {
        let found: Mutex<BTreeMap<NodeId, (usize, NodeProfile)>> = Mutex::default();
        self.source.read(&Wanted::whole(), &|batch| {
            for profile in batch.profiles {
                let Some(node) = self.find(&profile.name) else { continue };
                if !nodes.contains(node) || !self.is_of(node, &batch.path) {
                    continue;
                }
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                if found.get(&node).is_none_or(|(number, _)| *number <= batch.number) {
                    found.insert(node, (batch.number, profile));
                }
            }
        });
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.into_iter().map(|(node, (_, profile))| (node, profile)).collect()
    }

    /// Whether the variable `name`, dotted access included, has a value on some node that is interpolated itself.
    pub(in crate::fleet) fn interpolates(&self, name: &str) -> bool {
        let Some(path) = VariablePath::parse(name) else { return true };
        let column = self.column(path.by_ref());
        *column.interpolates.get_or_init(|| column.readings.iter().any(Reading::interpolates))
    }
}

/// What the nodes called what is `chosen` have at `paths`, in the order of the profiles.
fn rows(
    source: &dyn ProfileSource,
    paths: &[VariablePath],
    chosen: &(dyn Fn(&str) -> bool + Sync),
) -> (Vec<Row>, Vec<ProfileError>) {
    let mut wanted = Wanted::default();
    for path in paths {
        wanted.add(&path.root, &path.segments);
    }
    let batches: Mutex<BTreeMap<usize, Vec<Row>>> = Mutex::default();
    let errors = source.read(&wanted, &|Batch { number, path, profiles }| {
        let row = |profile: &NodeProfile| {
            let readings = paths.iter().map(|path| Reading::of(&NodeScope::new(profile), path)).collect();
            Row { name: profile.name.clone(), path: path.clone(), readings }
        };
        let rows = profiles.iter().filter(|profile| chosen(&profile.name)).map(row).collect();
        batches.lock().unwrap_or_else(PoisonError::into_inner).insert(number, rows);
    });
    let batches = batches.into_inner().unwrap_or_else(PoisonError::into_inner);
    (batches.into_values().flatten().collect(), errors)
}
