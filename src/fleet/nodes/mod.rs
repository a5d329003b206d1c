//! The nodes of a fleet, and the values of their variables.
//!
//! A [`Fleet`] holds no profiles. It reads the variables that were asked for from its source, and keeps equal values
//! only once. The nodes are numbered in the order of their names.

pub(in crate::fleet) mod assigned;
pub(in crate::fleet) mod catalogs;
pub(in crate::fleet) mod changed;
pub(in crate::fleet) mod digests;
pub(in crate::fleet) mod distinctions;
pub(in crate::fleet) mod referenced;
mod table;
pub(in crate::fleet) mod variables;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::fleet::NodesByKey;
use crate::fleet::nodes::assigned::Assigned;
use crate::fleet::nodes::catalogs::Catalogs;
use crate::fleet::nodes::referenced::{ReferencedVariables, ScannedFiles};
use crate::fleet::nodes::table::{Row, Table};
use crate::fleet::nodes::variables::{FleetScope, PathRef, Reading, VariablePath, wanted};
use crate::node::{
    NodeId, NodeProfile, NodeSet, Partition, ProfileError, ProfilePlace, ProfileSource, REFUSAL, Wanted,
};
use crate::value::Value;

/// Places inside variables.
type VariablePaths = HashSet<VariablePath, RandomState>;

/// The maximum number of times that profiles are read again for variables that their values refer to.
const MOST_ROUNDS: usize = 16;

/// The maximum number of nodes whose names are sought in each document.
const MOST_SOUGHT: usize = 8;

/// The nodes for which a repository is resolved.
///
/// It keeps the values at the places inside variables that data refers to, and at those that these values refer to in
/// turn. They are read when the fleet is loaded and when a revision is made of it. Lookups read no profiles: if one
/// misses a variable that only a function knows of, the variable is read between lookups.
pub struct Fleet {
    names: Vec<Arc<str>>,
    /// The place of each node's profile in the source.
    places: Vec<ProfilePlace>,
    by_name: HashMap<Arc<str>, NodeId, RandomState>,
    source: Arc<dyn ProfileSource>,
    variables: RwLock<IndexMap<VariablePath, Arc<VariableClasses>, RandomState>>,
    /// Held while the profiles are read.
    reading: Mutex<()>,
    /// The first failure to read what lookups missed. Fleets that are made from the same one share it.
    failure: Arc<Mutex<Option<ProfileError>>>,
    /// The places to read along with the next ones.
    pending: Vec<VariablePath>,
    /// The data files whose references were read with the profiles.
    scanned: ScannedFiles,
    all: NodeSet,
    /// The errors of profiles that could not be read.
    left_out: Vec<ProfileError>,
    /// The nodes whose profiles are guessed.
    guessed: NodeSet,
    /// Variables that the profiles do not have.
    assigned: Option<Assigned>,
    /// True if the classes in the catalog of some node are known.
    has_catalogs: bool,
    catalogs: OnceLock<Result<Catalogs, ProfileError>>,
    /// True if Puppet refuses the variables of some node.
    pub(in crate::fleet) has_refused: bool,
}

/// The nodes by their values at one place inside a variable.
pub(in crate::fleet) struct VariableClasses {
    pub(in crate::fleet) partition: Partition,
    /// The value of each class.
    readings: Vec<Reading>,
    /// True if some value itself contains interpolations.
    interpolates: OnceLock<bool>,
    /// The length of the longest text; `None` unless all values are texts.
    longest: OnceLock<Option<usize>>,
    /// The nodes whose value is a text that can be put into others unread, and all others.
    plain: OnceLock<Partition>,
    /// For each byte, true if some text has it.
    bytes: OnceLock<Box<[bool; 256]>>,
}

impl VariableClasses {
    fn new(partition: Partition, readings: Vec<Reading>) -> VariableClasses {
        VariableClasses {
            partition,
            readings,
            interpolates: OnceLock::new(),
            longest: OnceLock::new(),
            plain: OnceLock::new(),
            bytes: OnceLock::new(),
        }
    }

    /// Returns the value of a node.
    pub(in crate::fleet) fn on(&self, node: NodeId) -> &Reading {
        &self.readings[self.partition.class_of(node)]
    }

    /// Returns the nodes divided into those whose text at the end of `segments` can be put into others unread, and
    /// the rest.
    pub(in crate::fleet) fn by_plainness(&self, segments: &[Value]) -> &Partition {
        self.plain.get_or_init(|| {
            let is_plain = |reading: &Reading| reading.plain_text(segments).is_some();
            let numbers: Vec<usize> = self.readings.iter().map(|reading| usize::from(!is_plain(reading))).collect();
            let are_all_equal = numbers.windows(2).all(|pair| pair[0] == pair[1]);
            if are_all_equal { self.partition.coarsened(&[], 1) } else { self.partition.coarsened(&numbers, 2) }
        })
    }

    /// Returns true if the text of some node at the end of `segments` has a byte.
    pub(in crate::fleet) fn has_byte(&self, byte: u8, segments: &[Value]) -> bool {
        let bytes = self.bytes.get_or_init(|| {
            let mut bytes = Box::new([false; 256]);
            self.texts(segments).flatten().flat_map(str::bytes).for_each(|byte| bytes[usize::from(byte)] = true);
            bytes
        });
        bytes[usize::from(byte)]
    }

    /// Returns the text of each class at the end of `segments`, or `None` for a class without one.
    pub(in crate::fleet) fn texts<'s>(&'s self, segments: &'s [Value]) -> impl Iterator<Item = Option<&'s str>> {
        self.readings.iter().map(|reading| reading.text(segments))
    }
}

/// The values of a variable on some nodes.
#[derive(Debug, Clone, Default)]
pub struct VariableValues {
    /// Each value with its nodes, the most frequent first. The value is `None` if the variable is set to something
    /// without such an entry, such as an index into a text.
    pub known: Vec<(Option<Value>, NodeSet)>,
    /// The nodes that do not set it.
    pub without: NodeSet,
}

impl Default for Fleet {
    fn default() -> Fleet {
        Fleet::new([])
    }
}

impl Fleet {
    /// Makes a fleet of `profiles`. If several have the same name, the last one wins.
    pub fn new(profiles: impl IntoIterator<Item = NodeProfile>) -> Fleet {
        let profiles: Vec<NodeProfile> = profiles.into_iter().collect();
        Fleet::load(Arc::new(profiles), &ReferencedVariables::default(), &|_| true).0
    }

    /// Loads the profiles of `source` whose names are chosen, with the values of the variables `referenced`.
    ///
    /// Leaves out profiles that cannot be read, and nodes with two profiles in one declaration, and returns their
    /// errors. If several declarations have the same node, the last one wins.
    pub fn load(
        source: Arc<dyn ProfileSource>,
        referenced: &ReferencedVariables,
        is_chosen: &(dyn Fn(&str) -> bool + Sync),
    ) -> (Fleet, Vec<ProfileError>) {
        let mut paths: Vec<VariablePath> = referenced.paths().cloned().collect();
        paths.push(VariablePath { root: REFUSAL.into(), segments: Vec::new() });
        let (table, mut errors) = Table::read(&*source, &paths, is_chosen);
        let (mut nodes, twice) = declared(&table, &*source);
        errors.extend(twice);
        nodes.sort_unstable_by_key(|node| node.name);
        let names: Vec<Arc<str>> = nodes.iter().map(|node| node.name.clone()).collect();
        let places = nodes.iter().map(|node| node.place).collect();
        let rows: Vec<Option<Row>> = nodes.iter().map(|node| Some(node.row)).collect();
        let by_name = (0..).map(NodeId).zip(&names).map(|(id, name)| (name.clone(), id)).collect();
        let variables = RwLock::default();
        let all = NodeSet::full(u32::try_from(names.len()).unwrap_or(u32::MAX));
        let scanned = referenced.files().clone();
        let reading = Mutex::default();
        let left_out = errors.clone();
        let guessed = (0..).map(NodeId).zip(&nodes).filter(|(_, node)| table.is_guessed(node.row)).map(|(id, _)| id);
        let guessed = guessed.collect();
        let mut fleet = Fleet {
            names,
            places,
            by_name,
            source,
            variables,
            reading,
            failure: Arc::default(),
            pending: Vec::new(),
            scanned,
            all,
            left_out,
            guessed,
            assigned: None,
            has_catalogs: table.has_catalogs(),
            catalogs: OnceLock::new(),
            has_refused: false,
        };
        let mentioned = fleet.add(paths, &table, &rows);
        errors.extend(fleet.read_mentioned(mentioned).err());
        let refused = fleet.variable_classes(PathRef { root: REFUSAL, segments: &[] });
        fleet.has_refused = refused.readings.iter().any(|reading| reading.text(&[]).is_some());
        (fleet, errors)
    }

    /// Reads the values of the variables `referenced` that are not known yet, and of those that these values refer
    /// to. Fails if a profile can no longer be read that could be when the fleet was loaded. Then the values stay
    /// unknown.
    pub fn read_ahead(&self, referenced: &ReferencedVariables) -> Result<(), ProfileError> {
        if self.missing(referenced.paths()).is_empty() {
            return Ok(());
        }
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = self.missing(referenced.paths());
        if missing.is_empty() { Ok(()) } else { self.read_mentioned(self.read(missing)?) }
    }

    /// Reads the values of the variables that facts refer to, and of those that these values refer to in turn. If
    /// there is no end to these references, the last ones are left to the lookups that miss them.
    fn read_mentioned(&self, mut mentioned: VariablePaths) -> Result<(), ProfileError> {
        for _ in 0..MOST_ROUNDS {
            let missing = self.missing(mentioned.iter());
            if missing.is_empty() {
                break;
            }
            mentioned = self.read(missing)?;
        }
        Ok(())
    }

    /// Returns the places whose values are unknown.
    fn missing<'p>(&self, paths: impl Iterator<Item = &'p VariablePath>) -> Vec<VariablePath> {
        let known = self.variables.read().unwrap_or_else(PoisonError::into_inner);
        paths.filter(|path| !known.contains_key(*path)).cloned().collect()
    }

    /// Reads the values at some places. Returns the places that these values refer to.
    fn read(&self, paths: Vec<VariablePath>) -> Result<VariablePaths, ProfileError> {
        let (table, errors) = Table::read(&*self.source, &paths, &|name| self.by_name.contains_key(name));
        self.check_only_known_errors(errors)?;
        let mut rows: Vec<Option<Row>> = vec![None; self.len()];
        for (row, name, place) in table.rows() {
            if let Some(node) = self.find(name).filter(|node| self.is_at(*node, place)) {
                rows[node.0 as usize] = Some(row);
            }
        }
        Ok(self.add(paths, &table, &rows))
    }

    /// Fails with the first error that was not there when the fleet was loaded.
    fn check_only_known_errors(&self, errors: Vec<ProfileError>) -> Result<(), ProfileError> {
        errors.into_iter().find(|error| !self.left_out.contains(error)).map_or(Ok(()), Err)
    }

    /// Adds the values in `table`, which are those of `paths`, for nodes whose profiles are in these rows. Returns the
    /// places that these values refer to.
    fn add(&self, paths: Vec<VariablePath>, table: &Table, rows: &[Option<Row>]) -> VariablePaths {
        let mut mentioned = VariablePaths::default();
        for (at, path) in paths.into_iter().enumerate() {
            let classes = Arc::new(table.variable_classes(at, rows));
            let names = classes.readings.iter().flat_map(|reading| reading.mentions().variables);
            mentioned.extend(names.filter_map(|name| VariablePath::parse(&name)));
            self.variables.write().unwrap_or_else(PoisonError::into_inner).insert(path, classes);
        }
        mentioned
    }

    /// Reads the values at all places that `other` knows.
    fn read_as(&self, other: &Fleet) -> Result<(), ProfileError> {
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        self.read_mentioned(other.paths().into_iter().collect())
    }

    /// Returns the nodes by their values, for each place that was asked for so far.
    pub(in crate::fleet) fn partitions(&self) -> Vec<Partition> {
        let variables = self.variables.read().unwrap_or_else(PoisonError::into_inner);
        variables.values().map(|classes| classes.partition.clone()).collect()
    }

    /// Returns the nodes by their values at `path`, or `None` if these were not read.
    pub(in crate::fleet) fn known_classes(&self, path: PathRef<'_>) -> Option<Arc<VariableClasses>> {
        self.variables.read().unwrap_or_else(PoisonError::into_inner).get(&path).cloned()
    }

    /// Returns the nodes by their values at `path`, which are read if necessary. This is not for lookups, which read
    /// no profiles: what they miss is read between them ([`evaluate_per_class`]).
    ///
    /// [`evaluate_per_class`]: crate::fleet::node_classes::evaluate_per_class
    pub(in crate::fleet) fn variable_classes(&self, path: PathRef<'_>) -> Arc<VariableClasses> {
        let known = || self.known_classes(path);
        known()
            .or_else(|| self.read_missed(vec![path.to_path()]).then(known)?)
            .unwrap_or_else(|| self.unread(path.root))
    }

    /// Returns the values of a variable that was not read: unknown on all nodes.
    pub(in crate::fleet) fn unread(&self, name: &str) -> Arc<VariableClasses> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let failure = failure.map_or_else(|| "no node profile was read for it".to_owned(), |error| error.to_string());
        let reason = format!("the variable '{name}' is not known: {failure}");
        let partition = Partition::of_numbers(vec![0; self.len()], 1);
        Arc::new(VariableClasses::new(partition, vec![Reading::unknown(&reason)]))
    }

    /// Reads the values at some places that lookups missed. Returns false if they cannot be read:
    /// [`take_failure`](Fleet::take_failure) says why.
    pub(in crate::fleet) fn read_missed(&self, paths: Vec<VariablePath>) -> bool {
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        match self.read_mentioned(paths.into_iter().collect()) {
            Ok(()) => true,
            Err(error) => {
                self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                false
            }
        }
    }

    /// Returns the first failure to read what lookups missed, which made some answers unknown, and forgets it.
    pub fn take_failure(&self) -> Option<ProfileError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns true if the profiles are still as they were when the fleet was loaded.
    pub fn is_current(&self) -> bool {
        !self.has_changed() && self.source.is_current()
    }

    /// Returns true if the profiles have changed since they were loaded, and some values that were asked for are
    /// unknown as a result.
    pub fn has_changed(&self) -> bool {
        self.source.has_changed()
    }

    /// Returns true if the profile at `place` is the one used for the node. No other is used, even if that one no
    /// longer exists.
    fn is_at(&self, node: NodeId, place: ProfilePlace) -> bool {
        self.places[node.0 as usize] == place
    }

    /// Returns the time of the oldest answer that profiles come from, in seconds since 1970; `None` if all come from
    /// files.
    pub fn fetched(&self) -> Option<u64> {
        self.source.fetched()
    }

    /// Returns the names of the answers that profiles come from, as text; `None` if all come from files.
    pub fn answers(&self) -> Option<String> {
        self.source.answers()
    }

    /// Returns the errors of the profiles that could not be read when the fleet was loaded.
    pub fn left_out(&self) -> &[ProfileError] {
        &self.left_out
    }

    /// Returns the nodes whose profiles are guessed.
    pub fn guessed(&self) -> &NodeSet {
        &self.guessed
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns true if there is no node.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns `keys`, each with all nodes.
    pub fn everywhere<'k>(&self, keys: impl IntoIterator<Item = &'k Arc<str>>) -> NodesByKey {
        keys.into_iter().map(|key| (key.clone(), self.all())).collect()
    }

    /// Returns all nodes.
    pub fn all(&self) -> NodeSet {
        self.all.clone()
    }

    /// Returns all nodes with their names.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Arc<str>)> + Clone {
        (0..).map(NodeId).zip(&self.names)
    }

    /// Returns the node called `name`, or `None` if there is no such node.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// Returns a node's name.
    pub fn name(&self, node: NodeId) -> &Arc<str> {
        &self.names[node.0 as usize]
    }

    /// Returns the names of the nodes of a set, in order.
    pub fn names<'f>(&'f self, nodes: &'f NodeSet) -> impl Iterator<Item = &'f Arc<str>> + 'f {
        nodes.iter().map(|node| self.name(node))
    }

    /// Returns a node's variables.
    pub fn scope(&self, node: NodeId) -> FleetScope<'_> {
        FleetScope { fleet: self, node }
    }

    /// Returns the places inside variables that were asked for so far.
    pub(in crate::fleet) fn paths(&self) -> Vec<VariablePath> {
        self.variables.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Returns the parts of profiles that were needed so far.
    pub fn wanted(&self) -> Wanted {
        wanted(&self.paths())
    }

    /// Reads the whole profiles of some nodes again. Leaves out those that can no longer be read.
    pub fn profiles(&self, nodes: &NodeSet) -> BTreeMap<NodeId, NodeProfile> {
        let all = || self.profiles_with(nodes, &Wanted::whole());
        if nodes.len() > MOST_SOUGHT {
            return all();
        }
        // Most documents need not be parsed to see that they are about others.
        let found = self.profiles_with(nodes, &Wanted::whole().on(self.names(nodes).cloned().collect()));
        if found.len() == nodes.len() { found } else { all() }
    }

    /// Reads the profiles of some nodes again, at least the wanted parts. Leaves out those that can no longer be
    /// read.
    pub fn profiles_with(&self, nodes: &NodeSet, wanted: &Wanted) -> BTreeMap<NodeId, NodeProfile> {
        let found: Mutex<BTreeMap<NodeId, NodeProfile>> = Mutex::default();
        self.source.read(wanted, &|batch| {
            for (place, profile) in batch.profiles {
                let node = self.find(&profile.name).filter(|node| nodes.contains(*node) && self.is_at(*node, place));
                if let Some(node) = node {
                    found.lock().unwrap_or_else(PoisonError::into_inner).insert(node, profile);
                }
            }
        });
        found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the nodes whose profiles do not set the variable `name`, dotted access included. A variable set to null
    /// is set.
    pub fn nodes_without(&self, name: &str) -> NodeSet {
        let Some(path) = VariablePath::parse(name) else { return NodeSet::new() };
        let classes = self.variable_classes(path.by_ref());
        let is_missing = |(_, reading): &(usize, &Reading)| reading.is_missing(&path.segments);
        let missing = classes.readings.iter().enumerate().filter(is_missing);
        // The sets are made only if some node lacks the value: there may be as many as nodes.
        NodeSet::union_of(self.len(), missing.map(|(class, _)| classes.partition.classes()[class].clone()))
    }

    /// Returns the values of the variable `name`, dotted access included, on some nodes.
    pub fn values_of(&self, name: &str, nodes: &NodeSet) -> VariableValues {
        let mut values = VariableValues::default();
        let Some(path) = VariablePath::parse(name) else { return values };
        let classes = self.variable_classes(path.by_ref());
        for (class, reading) in classes.partition.classes().iter().zip(&classes.readings) {
            let on = class.intersection(nodes);
            if on.is_empty() {
            } else if reading.is_missing(&path.segments) {
                values.without.union_with(&on);
            } else {
                values.known.push((reading.value(&path.segments).cloned(), on));
            }
        }
        values.known.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
        values
    }

    /// Returns true if the variable `name`, dotted access included, has a value that itself contains interpolations
    /// on some node.
    pub(in crate::fleet) fn interpolates(&self, name: &str) -> bool {
        let Some(path) = VariablePath::parse(name) else { return true };
        let classes = self.variable_classes(path.by_ref());
        *classes.interpolates.get_or_init(|| classes.readings.iter().any(Reading::interpolates))
    }

    /// Returns true if the variable `name`, dotted access included, is a text without interpolations of at most `limit`
    /// bytes on all nodes.
    pub(in crate::fleet) fn has_short_text(&self, name: &str, limit: usize) -> bool {
        let Some(path) = VariablePath::parse(name) else { return false };
        let classes = self.variable_classes(path.by_ref());
        let lengths = || classes.texts(&path.segments).map(|text| text.map(str::len));
        let longest = classes.longest.get_or_init(|| lengths().collect::<Option<Vec<_>>>()?.into_iter().max());
        longest.is_some_and(|longest| longest <= limit) && !self.interpolates(name)
    }
}

/// A node, and the profile that is used for it.
struct Declared<'t> {
    name: &'t Arc<str>,
    row: Row,
    place: ProfilePlace,
    /// True if its declaration has another profile of the node, so that it is ambiguous.
    is_twice: bool,
}

/// Returns the nodes of `table`, and an error for each that has two profiles in one declaration of `source`.
fn declared<'t>(table: &'t Table, source: &dyn ProfileSource) -> (Vec<Declared<'t>>, Vec<ProfileError>) {
    let mut errors = Vec::new();
    // In the order of the files, which is mostly that of the names.
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
