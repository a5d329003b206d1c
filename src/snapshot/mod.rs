//! Per-node snapshots of effective values: JSON, NDJSON and YAML, on a stream, in a folder, or as commits on a git reference.
//!
//! A value's text is made once and shared by all nodes that have it (`fragments`); a node's snapshot is the concatenation of such
//! texts. Which ones is looked up for a batch of nodes at a time (`batches`).

mod batches;
mod divisions;
mod folder;
mod fragments;
pub mod history;
mod layout;
mod manifest;
mod replace;
mod threads;

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::disclosure::Disclosure;
use crate::fleet::{Answer, Effective, Fleet, parallel};
use crate::node::{NodeId, NodeSet};
use crate::workers::Workers;

use batches::{Batches, Row, Table};
use divisions::{Divisions, Parts};
use fragments::{Fragments, Kind};
use layout::Layout;

pub use folder::{Written, file_name, write_folder};
pub use manifest::Manifest;
pub(crate) use replace::{replace_durably, tidy};

/// The name and version of the form of a snapshot file.
pub const SCHEMA: &str = "hierad.snapshot/1";

/// A stream is written to in pieces of at least this size.
const PIECE: usize = 1 << 17;

/// How long it takes to prepare a key, about, in microseconds.
const A_KEY: usize = 20;

/// How snapshots are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `{"schema", "node", "values", "errors"}`, indented.
    Json,
    /// `{"node", "values", "errors"}`, a line a node.
    Ndjson,
    /// The same as YAML, a document a node.
    Yaml,
}

/// The snapshots of a fleet.
pub struct Snapshots<'a> {
    fleet: &'a Fleet,
    format: Format,
    layout: Layout,
    nodes: Vec<NodeId>,
    divisions: Vec<Parts>,
    /// The texts of the keys' values and of their errors, in the order of the keys.
    values: Vec<Column>,
    errors: Vec<Column>,
}

/// What a key adds to the snapshots.
struct Column {
    /// How the key's answers divide the nodes.
    division: usize,
    /// The text of each part of them.
    fragments: Fragments,
}

impl<'a> Snapshots<'a> {
    /// Prepares the snapshots of `nodes`, with what `disclosure` lets through of secrets. Answers go as soon as their texts are made.
    pub fn new(
        effective: Effective,
        fleet: &'a Fleet,
        nodes: &NodeSet,
        format: Format,
        disclosure: &Disclosure,
        workers: &Workers,
    ) -> Snapshots<'a> {
        let layout = Layout::of(format);
        let writer = fragments::Writer { format, layout: &layout, disclosure };
        let divisions = Mutex::new(Divisions::default());
        let all = nodes.len() == fleet.len();
        let counts =
            |answer: &Answer| !if all { answer.nodes.is_empty() } else { answer.nodes.intersection(nodes).is_empty() };
        let keys: Vec<_> = effective.keys.into_iter().map(|(key, answers)| (key, Mutex::new(answers))).collect();
        let workers = workers.worth(keys.len() * A_KEY);
        let columns = parallel::map(&keys, &workers, "preparing snapshots", |(key, answers)| {
            let mut answers = mem::take(&mut *lock(answers));
            answers.retain(counts);
            let [value, error] = [Kind::Value, Kind::Error].map(|kind| writer.fragments(key, &answers, kind));
            let parts = answers.into_iter().map(|answer| answer.nodes).collect();
            let division = lock(&divisions).number(parts);
            [value, error].map(|fragments| fragments.map(|fragments| Column { division, fragments }))
        });
        let (mut values, mut errors) = (Vec::new(), Vec::new());
        for [value, error] in columns {
            values.extend(value);
            errors.extend(error);
        }
        let divisions = divisions.into_inner().unwrap_or_else(PoisonError::into_inner).list;
        Snapshots { fleet, format, layout, nodes: nodes.iter().collect(), divisions, values, errors }
    }

    /// Writes all snapshots to a stream: NDJSON as lines, JSON as one array, YAML as documents.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (open, between, end, close): (&[u8], &[u8], &[u8], &[u8]) = match self.format {
            Format::Json => (b"[\n", b",\n", b"", b"\n]\n"),
            Format::Ndjson | Format::Yaml => (b"", b"", b"\n", b""),
        };
        let mut table = Table::default();
        let mut piece = open.to_vec();
        let mut batches = self.batches(self.nodes.len());
        while let Some(batch) = batches.next(&mut table) {
            for (row, node) in batch.enumerate() {
                if node > 0 {
                    piece.extend_from_slice(between);
                }
                self.append(node, table.row(row), &mut piece);
                piece.extend_from_slice(end);
                if piece.len() >= PIECE {
                    out.write_all(&piece)?;
                    piece.clear();
                }
            }
        }
        piece.extend_from_slice(close);
        out.write_all(&piece)
    }

    /// The snapshot of each node, as in its file.
    pub fn texts(&self) -> Vec<Vec<u8>> {
        let (mut table, mut texts) = (Table::default(), Vec::new());
        let mut batches = self.batches(self.nodes.len());
        while let Some(batch) = batches.next(&mut table) {
            for (row, node) in batch.enumerate() {
                let mut text = Vec::new();
                self.append(node, table.row(row), &mut text);
                text.push(b'\n');
                texts.push(text);
            }
        }
        texts
    }

    /// The name of a node, by its place among those that have snapshots.
    fn name(&self, node: usize) -> &'a Arc<str> {
        self.fleet.name(self.nodes[node])
    }

    /// The nodes, at most so many at a time.
    fn batches(&self, most: usize) -> Batches<'_> {
        Batches::new(&self.nodes, &self.divisions, most)
    }

    /// Appends the snapshot of a node, without the last line end.
    fn append(&self, node: usize, parts: Row<'_>, text: &mut Vec<u8>) {
        text.extend_from_slice(self.layout.head.as_bytes());
        text.extend_from_slice(layout::name(self.format, self.name(node)).as_bytes());
        text.extend_from_slice(self.layout.values.as_bytes());
        self.append_entries(&self.values, parts, text);
        text.extend_from_slice(self.layout.errors.as_bytes());
        self.append_entries(&self.errors, parts, text);
        text.extend_from_slice(self.layout.tail.as_bytes());
    }

    fn append_entries(&self, columns: &[Column], parts: Row<'_>, text: &mut Vec<u8>) {
        let start = text.len();
        for column in columns {
            if let Some(part) = parts.part(column.division) {
                text.extend_from_slice(column.fragments.get(part));
            }
        }
        if text.len() == start {
            text.extend_from_slice(self.layout.empty.as_bytes());
        } else {
            let open = self.layout.open.as_bytes();
            text[start..start + open.len()].copy_from_slice(open);
            text.extend_from_slice(self.layout.close.as_bytes());
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
