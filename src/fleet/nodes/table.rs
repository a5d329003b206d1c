//! The values of some variables in all profiles, as they are read: in batches, on many threads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::fleet::nodes::VariableClasses;
use crate::fleet::nodes::variables::{Reading, VariablePath, wanted};
use crate::hiera::scope::NodeScope;
use crate::node::{Batch, NodeId, NodeProfile, NodeSet, Partition, ProfileError, ProfilePlace, ProfileSource};

/// The values that profiles have at some places inside variables.
pub(super) struct Table {
    batches: Vec<BatchTable>,
}

/// The values of one batch of profiles.
struct BatchTable {
    /// The names of the profiles, and their places in the source.
    names: Vec<(Arc<str>, ProfilePlace)>,
    /// True if the classes in the catalog of some node are known.
    has_catalogs: bool,
    /// The profiles that are guessed.
    guessed: NodeSet,
    /// For each path the classes of equal values, and the value of each class.
    columns: Vec<(Partition, Vec<Reading>)>,
}

/// The position of a profile in a table: its batch, and its number there.
pub(super) type Row = (usize, NodeId);

/// The reason why a variable is unknown on a node whose profile is gone.
const GONE: &str = "the profile of this node is no longer where it was; run hierad again";

impl Table {
    /// Reads the values at `paths` of all profiles whose names are chosen. Returns the errors of unreadable profiles,
    /// too.
    pub(super) fn read(
        source: &dyn ProfileSource,
        paths: &[VariablePath],
        is_chosen: &(dyn Fn(&str) -> bool + Sync),
    ) -> (Table, Vec<ProfileError>) {
        let wanted = wanted(paths);
        let batches: Mutex<BTreeMap<usize, BatchTable>> = Mutex::default();
        let errors = source.read(&wanted, &|Batch { number, mut profiles }| {
            profiles.retain(|(_, profile)| is_chosen(&profile.name));
            let batch = BatchTable::new(&profiles, paths);
            batches.lock().unwrap_or_else(PoisonError::into_inner).insert(number, batch);
        });
        let batches = batches.into_inner().unwrap_or_else(PoisonError::into_inner);
        (Table { batches: batches.into_values().collect() }, errors)
    }

    /// Returns true if the classes in the catalog of some node are known.
    pub(super) fn has_catalogs(&self) -> bool {
        self.batches.iter().any(|batch| batch.has_catalogs)
    }

    /// Returns true if the profile in a row is guessed.
    pub(super) fn is_guessed(&self, (batch, number): Row) -> bool {
        self.batches[batch].guessed.contains(number)
    }

    /// Returns the rows in the order of the source, with the names of the profiles and their places.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Row, &Arc<str>, ProfilePlace)> {
        self.batches.iter().enumerate().flat_map(|(at, batch)| {
            let names = (0..).map(NodeId).zip(&batch.names);
            names.map(move |(number, (name, place))| ((at, number), name, *place))
        })
    }

    /// Returns the values of the path number `path` for nodes whose profiles are in these rows. The value of a node
    /// without a row is unknown.
    pub(super) fn variable_classes(&self, path: usize, of_nodes: &[Option<Row>]) -> VariableClasses {
        let mut readings: IndexSet<Reading, RandomState> = IndexSet::default();
        // The class in the fleet of each class in a batch, once it is needed.
        let mut known: Vec<Vec<Option<usize>>> =
            self.batches.iter().map(|batch| vec![None; batch.columns[path].1.len()]).collect();
        let class = |row: &Option<Row>| match row {
            None => readings.insert_full(Reading::unknown(GONE)).0,
            Some((batch, number)) => {
                let (partition, of_batch) = &self.batches[*batch].columns[path];
                let local = partition.class_of(*number);
                *known[*batch][local].get_or_insert_with(|| readings.insert_full(of_batch[local].clone()).0)
            }
        };
        let numbers = of_nodes.iter().map(class).collect();
        VariableClasses::new(Partition::of_numbers(numbers, readings.len()), readings.into_iter().collect())
    }
}

impl BatchTable {
    fn new(profiles: &[(ProfilePlace, NodeProfile)], paths: &[VariablePath]) -> BatchTable {
        let reading = |path, profile| Reading::of(&NodeScope::new(profile), path);
        let is_guessed = |(_, (_, profile)): &(NodeId, &(_, NodeProfile))| profile.is_guessed;
        let column = |path| Partition::by(profiles.iter().map(|(_, profile)| reading(path, profile)));
        BatchTable {
            names: profiles.iter().map(|(place, profile)| (profile.name.clone(), *place)).collect(),
            guessed: (0..).map(NodeId).zip(profiles).filter(is_guessed).map(|(number, _)| number).collect(),
            has_catalogs: profiles.iter().any(|(_, profile)| !profile.catalog.is_unknown() || profile.given.is_some()),
            columns: paths.iter().map(column).collect(),
        }
    }
}
