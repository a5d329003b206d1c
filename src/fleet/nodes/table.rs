//! What profiles have at some places in their variables, as it is read: piece by piece, by many threads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::fleet::nodes::Column;
use crate::fleet::nodes::variables::{Reading, VariablePath};
use crate::hiera::scope::NodeScope;
use crate::node::{Batch, NodeId, NodeProfile, Partition, ProfileError, ProfilePlace, ProfileSource, Wanted};

/// What some profiles have at some places.
pub(super) struct Table {
    pieces: Vec<Piece>,
}

/// What the profiles of a batch have.
struct Piece {
    /// Their names and places.
    names: Vec<(Arc<str>, ProfilePlace)>,
    /// For each place how the profiles divide by what they have there, and what that is.
    columns: Vec<(Partition, Vec<Reading>)>,
}

/// Where in a table a profile is: its piece, and its number there.
pub(super) type Row = (usize, NodeId);

impl Table {
    /// Reads what the profiles with names that are `chosen` have at `paths`; and what cannot be read.
    pub(super) fn read(
        source: &dyn ProfileSource,
        paths: &[VariablePath],
        chosen: &(dyn Fn(&str) -> bool + Sync),
    ) -> (Table, Vec<ProfileError>) {
        let mut wanted = Wanted::default();
        for path in paths {
            wanted.add(&path.root, &path.segments);
        }
        let pieces: Mutex<BTreeMap<usize, Piece>> = Mutex::default();
        let errors = source.read(&wanted, &|Batch { number, mut profiles }| {
            profiles.retain(|(_, profile)| chosen(&profile.name));
            let piece = Piece::new(&profiles, paths);
            pieces.lock().unwrap_or_else(PoisonError::into_inner).insert(number, piece);
        });
        let pieces = pieces.into_inner().unwrap_or_else(PoisonError::into_inner);
        (Table { pieces: pieces.into_values().collect() }, errors)
    }

    /// Where the profiles are, in their order, with their names and their places in the source.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Row, &Arc<str>, ProfilePlace)> {
        self.pieces.iter().enumerate().flat_map(|(at, piece)| {
            let names = (0..).map(NodeId).zip(&piece.names);
            names.map(move |(number, (name, place))| ((at, number), name, *place))
        })
    }

    /// The column of the place `at` for nodes whose profiles are in these rows; of those without a row nothing is known.
    pub(super) fn column(&self, at: usize, of_nodes: &[Option<Row>]) -> Column {
        let mut parts: IndexSet<Reading, RandomState> = IndexSet::default();
        // Which part of the whole each part of a piece is.
        let mut known: Vec<Vec<Option<usize>>> =
            self.pieces.iter().map(|piece| vec![None; piece.columns[at].1.len()]).collect();
        let part = |row: &Option<Row>| match row {
            None => parts.insert_full(Reading::unknown()).0,
            Some((piece, number)) => {
                let (partition, readings) = &self.pieces[*piece].columns[at];
                let local = partition.class_of(*number);
                *known[*piece][local].get_or_insert_with(|| parts.insert_full(readings[local].clone()).0)
            }
        };
        let of = of_nodes.iter().map(part).collect();
        let partition = Partition::of_numbers(of, parts.len());
        Column {
            partition,
            readings: parts.into_iter().collect(),
            interpolates: OnceLock::new(),
            longest: OnceLock::new(),
        }
    }
}

impl Piece {
    fn new(profiles: &[(ProfilePlace, NodeProfile)], paths: &[VariablePath]) -> Piece {
        let reading = |path, profile| Reading::of(&NodeScope::new(profile), path);
        let column = |path| Partition::by(profiles.iter().map(|(_, profile)| reading(path, profile)));
        Piece {
            names: profiles.iter().map(|(place, profile)| (profile.name.clone(), *place)).collect(),
            columns: paths.iter().map(column).collect(),
        }
    }
}
