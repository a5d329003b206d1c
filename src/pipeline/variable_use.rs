//! The variables that matter: those that hiera.yaml and data read, with the nodes that lack them; and the levels of
//! hierarchies, with the nodes for which they have data.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Pipeline, PipelineError, RevisionId};
use crate::blind_spots::levels::variables::{UNDEFINED, fix, plain};
use crate::diagnostic::Place;
use crate::fleet::{ReadFile, Revision, VariableValues};
use crate::hiera::config::LevelConfig;
use crate::hiera::interpolation::variables;
use crate::node::NodeSet;
use crate::report::Remedy;
use crate::value::{Hash, Value};

/// A variable, with its dotted path, that hiera.yaml or data read.
pub struct VariableUse {
    /// Its name without leading colons.
    pub name: String,
    /// The places that read it, those in hiera.yaml first.
    pub places: Vec<Place>,
    /// True if hiera.yaml reads it.
    pub decides_levels: bool,
    /// The nodes for which it is read: those of all data files that read it, or all.
    pub readers: NodeSet,
    /// Further places that read it, in files that functions in Ruby may read.
    pub places_of_functions: Vec<Place>,
    /// The nodes for which functions may read these files.
    pub readers_by_functions: NodeSet,
    /// The values on all readers.
    pub values: VariableValues,
}

impl VariableUse {
    /// Returns the nodes for which levels or functions read the variable.
    pub fn all_readers(&self) -> NodeSet {
        let mut readers = self.readers.clone();
        readers.union_with(&self.readers_by_functions);
        readers
    }

    /// Returns all places that read it, those of functions last.
    pub fn all_places(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().chain(&self.places_of_functions)
    }

    /// Returns the remedy for profiles that lack the variable. It can be accepted only if no reader has it: else a
    /// change on nodes without it would not be seen.
    pub fn remedy(&self) -> Remedy {
        fix(&self.name, self.values.known.is_empty())
    }
}

/// A level of a hierarchy.
pub struct LevelUse {
    /// Its place in hiera.yaml.
    pub place: Place,
    /// Its name.
    pub name: Arc<str>,
    /// Its locations as written.
    pub locations: Vec<Arc<str>>,
    /// The nodes for which one of its locations exists, or which it answers without one.
    pub nodes: NodeSet,
}

/// The reads of one variable.
#[derive(Default)]
struct Reads {
    written: Arc<str>,
    of_levels: BTreeSet<Place>,
    of_data: BTreeSet<Place>,
    of_functions: BTreeSet<Place>,
    readers: NodeSet,
    readers_by_functions: NodeSet,
}

impl Pipeline {
    /// Returns the variables that a revision reads, by name: those in the hierarchies, those in the data files that
    /// some node's hierarchy leads to, and those in the files that functions in Ruby may read.
    fn variable_uses(revision: &Revision) -> Result<Vec<VariableUse>, PipelineError> {
        let mut reads: BTreeMap<String, Reads> = BTreeMap::new();
        for layer in revision.environment.layers() {
            for level in layer.config.iter().flat_map(|config| config.all_levels()) {
                each_variable_of_level(level, &mut |name, place| {
                    let reads = entry(&mut reads, name);
                    reads.of_levels.insert(place.clone());
                    reads.readers = revision.fleet.all();
                });
            }
        }
        for (path, read) in revision.files_read(&|_, _| true) {
            each_variable_of_file(&path, &read, &mut |name, place| {
                let reads = entry(&mut reads, name);
                reads.of_data.insert(place);
                reads.readers.union_with(&read.nodes);
            });
        }
        for (path, read) in revision.files_of_functions()? {
            each_variable_of_file(&path, &read, &mut |name, place| {
                let reads = entry(&mut reads, name);
                reads.of_functions.insert(place);
                reads.readers_by_functions.union_with(&read.nodes);
            });
        }
        let values = |reads: &Reads| {
            let mut readers = reads.readers.clone();
            readers.union_with(&reads.readers_by_functions);
            revision.fleet.values_of(&reads.written, &readers)
        };
        let variable_use = |(name, reads): (String, Reads)| VariableUse {
            name,
            decides_levels: !reads.of_levels.is_empty(),
            values: values(&reads),
            places_of_functions: reads.of_functions.difference(&reads.of_data).cloned().collect(),
            places: reads.of_levels.into_iter().chain(reads.of_data).collect(),
            readers: reads.readers,
            readers_by_functions: reads.readers_by_functions,
        };
        Ok(reads.into_iter().map(variable_use).collect())
    }

    /// Returns the levels of all hierarchies of a revision, in order.
    fn level_uses(revision: &Revision) -> Vec<LevelUse> {
        let answering = revision.nodes_by_level();
        let mut found = Vec::new();
        for layer in revision.environment.layers() {
            for level in layer.config.iter().flat_map(|config| config.all_levels()) {
                found.push(LevelUse {
                    place: level.place.clone(),
                    name: level.name.clone(),
                    locations: level.locations.declared().iter().map(|declared| declared.text.clone()).collect(),
                    nodes: answering.get(&(level.place.clone(), level.name.clone())).cloned().unwrap_or_default(),
                });
            }
        }
        found
    }

    /// Returns a test that is true for variables whose absence from profiles is accepted at a revision.
    pub fn accepts_lack(&self, id: RevisionId) -> impl Fn(&VariableUse) -> bool + use<> {
        let accepted = self.judge.accepted(self.base(id));
        move |variable| accepted.has(UNDEFINED, &variable.name)
    }

    /// Returns the variables that `id` reads, and its levels.
    pub fn uses(&self, id: RevisionId) -> Result<(Vec<VariableUse>, Vec<LevelUse>), PipelineError> {
        let revision = self.revision(id)?;
        let uses = (Pipeline::variable_uses(&revision)?, Pipeline::level_uses(&revision));
        self.fleet_has_stayed()?;
        Ok(uses)
    }
}

fn entry<'r>(reads: &'r mut BTreeMap<String, Reads>, name: &str) -> &'r mut Reads {
    reads.entry(plain(name).to_owned()).or_insert_with(|| Reads { written: name.into(), ..Reads::default() })
}

/// Calls `tell` for each variable that a file reads, with the place of each key that does.
fn each_variable_of_file(path: &Arc<str>, read: &ReadFile, tell: &mut dyn FnMut(&str, Place)) {
    for (key, value) in read.file.content().into_iter().flat_map(Hash::iter) {
        let place = || Place { path: path.clone(), line: read.file.line(&key.to_s()) };
        each_text(value, &mut |text| {
            for name in variables(text) {
                tell(name, place());
            }
        });
    }
}

/// Calls `tell` for each variable that a level reads, with the place.
fn each_variable_of_level(level: &LevelConfig, tell: &mut dyn FnMut(&str, &Place)) {
    level.variables().for_each(|(name, place)| tell(name, place));
    each_text(&level.options, &mut |text| {
        for name in variables(text) {
            tell(name, &level.place);
        }
    });
}

/// Calls `tell` for each text in a value.
fn each_text(value: &Value, tell: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => tell(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, tell)),
        Value::Hash(hash) => hash.iter().for_each(|(key, value)| {
            each_text(key, tell);
            each_text(value, tell);
        }),
        _ => {}
    }
}
