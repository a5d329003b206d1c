//! Per-node snapshots of effective values: JSON, NDJSON and YAML, on a stream or in a folder.
//!
//! A value's text is made once and shared by all nodes that have it (`fragments`); a node's snapshot is the concatenation of such
//! texts. Which ones is looked up for a batch of nodes at a time (`batches`).

mod batches;
mod divisions;
mod folder;
mod fragments;
mod layout;
mod manifest;
mod replace;
mod threads;

use std::io::{self, Write};
use std::sync::Arc;

use crate::disclosure::Disclosure;
use crate::fleet::{Answer, Effective, Fleet};
use crate::node::{NodeId, NodeSet};
use crate::workers::Workers;

use batches::{Batches, Row, Table};
use divisions::{Divisions, Parts};
use fragments::{Column, Fragments, Kind};
use layout::Layout;

pub use folder::{Written, write_folder};
pub use manifest::Manifest;

/// The name and version of the form of a snapshot file.
pub const SCHEMA: &str = "hierad.snapshot/1";

/// A stream is written to in pieces of at least this size.
const PIECE: usize = 1 << 17;

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
    divisions: Vec<Parts<'a>>,
    fragments: Fragments,
    /// The texts of the keys' values and of their errors, in the order of the keys.
    values: Vec<Column>,
    errors: Vec<Column>,
}

impl<'a> Snapshots<'a> {
    /// Prepares the snapshots of `nodes`, with what `disclosure` lets through of secrets.
    pub fn new(
        effective: &'a Effective,
        fleet: &'a Fleet,
        nodes: &NodeSet,
        format: Format,
        disclosure: &Disclosure,
        workers: &Workers,
    ) -> Snapshots<'a> {
        let layout = Layout::of(format);
        let writer = fragments::Writer { format, layout: &layout, disclosure };
        let (mut divisions, mut fragments) = (Divisions::default(), Fragments::default());
        let (mut values, mut errors) = (Vec::new(), Vec::new());
        let all = nodes.len() == fleet.len();
        let stage = workers.begin("preparing snapshots", Some(effective.keys.len()));
        let counts = |answer: &&Answer| !if all { answer.nodes.is_empty() } else { answer.nodes.and(nodes).is_empty() };
        for (key, answers) in &effective.keys {
            let answers: Vec<&Answer> = answers.iter().filter(counts).collect();
            let division = divisions.number(answers.iter().map(|answer| &answer.nodes).collect());
            values.extend(fragments.add(key, &answers, division, Kind::Value, &writer));
            errors.extend(fragments.add(key, &answers, division, Kind::Error, &writer));
            stage.advance(1);
        }
        let (nodes, divisions) = (nodes.iter().collect(), divisions.list);
        Snapshots { fleet, format, layout, nodes, divisions, fragments, values, errors }
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
                text.extend_from_slice(self.fragments.get(column, part));
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
