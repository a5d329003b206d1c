//! The nodes of a fleet, and of their variables what anything looked at.

pub(in crate::fleet) mod mentioned;
mod table;
pub(in crate::fleet) mod variables;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::fleet::nodes::mentioned::{MentioningFiles, ReferencedVariables};
use crate::fleet::nodes::table::{Row, Table};
use crate::fleet::nodes::variables::{FleetScope, PathRef, Reading, VariablePath};
use crate::fleet::resolve::NodesByKey;
use crate::node::{NodeId, NodeProfile, NodeSet, Partition, ProfileError, ProfilePlace, ProfileSource, Wanted};
use crate::value::Value;

/// The nodes whose effective values count, in the order of their names.
///
/// Of the profiles it holds the places in variables that were asked for, equal ones once. What else is asked for makes it read the
/// profiles again.
pub struct Fleet {
    names: Vec<Arc<str>>,
    /// The place of each node's profile.
    places: Vec<ProfilePlace>,
    by_name: HashMap<Arc<str>, NodeId, RandomState>,
    source: Arc<dyn ProfileSource>,
    columns: RwLock<IndexMap<VariablePath, Arc<Column>, RandomState>>,
    /// Held by who reads the profiles.
    reading: Mutex<()>,
    /// The data files of which all is read that they mention.
    mentioning: MentioningFiles,
    all: NodeSet,
    /// Profiles that could not be read.
    left_out: Vec<ProfileError>,
}

/// How the nodes divide by what they have at one place, and what that is.
pub(in crate::fleet) struct Column {
    pub(in crate::fleet) partition: Partition,
    /// What the nodes of each part have.
    readings: Vec<Reading>,
    /// Whether any of it is interpolated itself.
    interpolates: OnceLock<bool>,
    /// How long the longest text is, where all have texts.
    longest: OnceLock<Option<usize>>,
}

impl Column {
    /// What a node has.
    pub(in crate::fleet) fn of(&self, node: NodeId) -> &Reading {
        &self.readings[self.partition.class_of(node)]
    }

    /// The text that the nodes of each part have at the end of `segments`, where they have one.
    pub(in crate::fleet) fn texts<'s>(&'s self, segments: &'s [Value]) -> impl Iterator<Item = Option<&'s str>> {
        self.readings.iter().map(|reading| reading.text(segments))
    }
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
        Fleet::load(Arc::new(profiles), &ReferencedVariables::default(), &|_| true).0
    }

    /// The fleet of those profiles of `source` whose names are `chosen`, with what was `mentioned` read at once. What could not be
    /// read is left out, and so is a node that one declaration has two profiles of; of several declarations the last one counts.
    pub fn load(
        source: Arc<dyn ProfileSource>,
        mentioned: &ReferencedVariables,
        chosen: &(dyn Fn(&str) -> bool + Sync),
    ) -> (Fleet, Vec<ProfileError>) {
        let paths: Vec<VariablePath> = mentioned.paths().cloned().collect();
        let (table, mut errors) = Table::read(&*source, &paths, chosen);
        let (mut nodes, twice) = declared(&table, &*source);
        errors.extend(twice);
        nodes.sort_unstable_by_key(|node| node.name);
        let names: Vec<Arc<str>> = nodes.iter().map(|node| node.name.clone()).collect();
        let places = nodes.iter().map(|node| node.place).collect();
        let rows: Vec<Option<Row>> = nodes.iter().map(|node| Some(node.row)).collect();
        let by_name = (0..).map(NodeId).zip(&names).map(|(id, name)| (name.clone(), id)).collect();
        let columns = RwLock::default();
        let all = NodeSet::full(u32::try_from(names.len()).unwrap_or(u32::MAX));
        let mentioning = mentioned.files().clone();
        let reading = Mutex::default();
        let left_out = errors.clone();
        let fleet = Fleet { names, places, by_name, source, columns, reading, mentioning, all, left_out };
        fleet.add(paths, &table, &rows);
        (fleet, errors)
    }

    /// Reads what was `mentioned`, as far as it is not known yet: once, instead of place by place when it is asked for.
    pub fn read_ahead(&self, mentioned: &ReferencedVariables) {
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
        let (table, errors) = Table::read(&*self.source, &paths, &|name| self.by_name.contains_key(name));
        if let Some(error) = errors.first() {
            tracing::warn!(%error, count = errors.len(), "profiles could not be read again");
        }
        let mut rows: Vec<Option<Row>> = vec![None; self.len()];
        for (row, name, place) in table.rows() {
            if let Some(node) = self.find(name).filter(|node| self.is_at(*node, place)) {
                rows[node.0 as usize] = Some(row);
            }
        }
        self.add(paths, &table, &rows);
    }

    /// Adds the columns of `table`, which are those of `paths`, for nodes whose profiles are in these rows.
    fn add(&self, paths: Vec<VariablePath>, table: &Table, rows: &[Option<Row>]) {
        for (at, path) in paths.into_iter().enumerate() {
            let column = Arc::new(table.column(at, rows));
            self.columns.write().unwrap_or_else(PoisonError::into_inner).insert(path, column);
        }
    }

    /// How the nodes divide by what they have at each place that was asked for.
    pub(in crate::fleet) fn partitions(&self) -> Vec<Partition> {
        let columns = self.columns.read().unwrap_or_else(PoisonError::into_inner);
        columns.values().map(|column| column.partition.clone()).collect()
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

    /// Returns true if the profile at `place` is the one of the node that counts: no other does, though that can be read no more.
    fn is_at(&self, node: NodeId, place: ProfilePlace) -> bool {
        self.places[node.0 as usize] == place
    }

    /// The profiles that could not be read when the fleet was loaded.
    pub fn left_out(&self) -> &[ProfileError] {
        &self.left_out
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
    pub fn everywhere<'k>(&self, keys: impl IntoIterator<Item = &'k Arc<str>>) -> NodesByKey {
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
        let found: Mutex<BTreeMap<NodeId, NodeProfile>> = Mutex::default();
        self.source.read(&Wanted::whole(), &|batch| {
            for (place, profile) in batch.profiles {
                let node = self.find(&profile.name).filter(|node| nodes.contains(*node) && self.is_at(*node, place));
                if let Some(node) = node {
                    found.lock().unwrap_or_else(PoisonError::into_inner).insert(node, profile);
                }
            }
        });
        found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The nodes whose profiles do not set the variable `name`, dotted access included. One that they set to null is set.
    pub fn nodes_without(&self, name: &str) -> NodeSet {
        let Some(path) = VariablePath::parse(name) else { return NodeSet::new() };
        let column = self.column(path.by_ref());
        let is_missing = |reading: &Reading| reading.is_missing(&path.segments);
        let sets = column.partition.classes().iter().zip(&column.readings);
        NodeSet::union_of(self.len(), sets.filter(|(_, reading)| is_missing(reading)).map(|(nodes, _)| nodes.clone()))
    }

    /// Whether the variable `name`, dotted access included, has a value on some node that is interpolated itself.
    pub(in crate::fleet) fn interpolates(&self, name: &str) -> bool {
        let Some(path) = VariablePath::parse(name) else { return true };
        let column = self.column(path.by_ref());
        *column.interpolates.get_or_init(|| column.readings.iter().any(Reading::interpolates))
    }

    /// Whether the variable `name`, dotted access included, is on all nodes a text that stays as it is, and no longer than `limit`.
    pub(in crate::fleet) fn has_short_text(&self, name: &str, limit: usize) -> bool {
        let Some(path) = VariablePath::parse(name) else { return false };
        let column = self.column(path.by_ref());
        let lengths = || column.texts(&path.segments).map(|text| text.map(str::len));
        let longest = column.longest.get_or_init(|| lengths().collect::<Option<Vec<_>>>()?.into_iter().max());
        longest.is_some_and(|longest| longest <= limit) && !self.interpolates(name)
    }
}

/// A node whose profile counts.
struct Declared<'t> {
    name: &'t Arc<str>,
    row: Row,
    place: ProfilePlace,
    /// True if its declaration has another profile of the node, so that nobody knows which one is meant.
    is_twice: bool,
}

/// Returns the nodes of `table`, and those that a declaration of `source` has two profiles of as errors.
fn declared<'t>(table: &'t Table, source: &dyn ProfileSource) -> (Vec<Declared<'t>>, Vec<ProfileError>) {
    let mut errors = Vec::new();
    // In the order of the files, which most often is that of the names.
    let mut last: IndexMap<&Arc<str>, Declared<'_>, RandomState> = IndexMap::default();
    for (row, name, place) in table.rows() {
        let is_same = |other: &&Declared<'_>| source.declaration(other.place.file) == source.declaration(place.file);
        let twice = last.get(name).filter(is_same).map(|other| declared_twice(name, other.place, place, source));
        last.insert(name, Declared { name, row, place, is_twice: twice.is_some() });
        errors.extend(twice);
    }
    (last.into_values().filter(|node| !node.is_twice).collect(), errors)
}

fn declared_twice(name: &str, first: ProfilePlace, second: ProfilePlace, source: &dyn ProfileSource) -> ProfileError {
    let (path, line) = (source.path(first.file), first.line);
    let text = format!("node {name} has a profile in {path}:{line}, too; it is left out until there is only one");
    ProfileError { path: source.path(second.file), line: Some(second.line), text }
}
