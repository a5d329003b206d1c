//! Writes per-node snapshots of effective values: JSON, NDJSON and YAML, on a stream, in a folder, or as commits on a
//! git reference.
//!
//! A value's text is made once and shared by all nodes that have it (`fragments`); a node's snapshot is the
//! concatenation of such texts. The right ones are looked up for a batch of nodes at a time (`batches`).
//!
//! Snapshots hold no time and no commit: equal data gives equal bytes. Nothing here knows how answers are found.

mod answer_classes;
mod batches;
mod folder;
mod fragments;
pub mod history;
mod layout;
mod manifest;
pub mod pushed;
pub mod references;
mod threads;

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::disclosure::Disclosure;
use crate::fleet::{Answer, Effective, Fleet, parallel};
use crate::node::{NodeId, NodeSet};
use crate::workers::Workers;

use answer_classes::{AnswerClasses, ClassLists};
use batches::{Batches, Row, Table};
use fragments::{Fragments, Kind};
use layout::Layout;

pub use folder::{Written, file_name, write_folder};
pub use manifest::Manifest;

/// The name and version of the form of a snapshot file.
pub const SCHEMA: &str = "hierad.snapshot/1";

/// The minimum number of bytes that are written to a stream at a time.
const BUFFER: usize = 1 << 17;

/// The format of snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `{"schema", "node", "values", "errors"}`, indented.
    Json,
    /// `{"node", "values", "errors"}`, one line for each node.
    Ndjson,
    /// The same as YAML, one document for each node.
    Yaml,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 3] = [Format::Json, Format::Ndjson, Format::Yaml];

    /// Returns the format's name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Ndjson => "ndjson",
            Format::Yaml => "yaml",
        }
    }
}

/// The snapshots of a fleet.
pub struct Snapshots<'a> {
    fleet: &'a Fleet,
    format: Format,
    layout: Layout,
    nodes: Vec<NodeId>,
    class_lists: Vec<AnswerClasses>,
    /// The texts of the keys' values and of their errors, in the order of the keys.
    values: Vec<KeyTexts>,
    errors: Vec<KeyTexts>,
}

/// The texts that a key adds to the snapshots.
struct KeyTexts {
    /// The number of the key's list of answer classes.
    class_list: usize,
    /// The text of each class.
    fragments: Fragments,
}

impl<'a> Snapshots<'a> {
    /// Prepares the snapshots of `nodes`; `disclosure` hides secrets. Answers are dropped as soon as their texts are
    /// made.
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
        let class_lists = Mutex::new(ClassLists::default());
        let are_all_nodes = nodes.len() == fleet.len();
        let has_nodes = |answer: &Answer| {
            !if are_all_nodes { answer.nodes.is_empty() } else { answer.nodes.intersection(nodes).is_empty() }
        };
        let keys: Vec<_> = effective.keys.into_iter().map(|(key, answers)| (key, Mutex::new(answers))).collect();
        let texts = parallel::map(&keys, workers, "preparing snapshots", |(key, answers)| {
            let mut answers = mem::take(&mut *lock(answers));
            answers.retain(has_nodes);
            let [value, error] = [Kind::Value, Kind::Error].map(|kind| writer.fragments(key, &answers, kind));
            let classes = answers.into_iter().map(|answer| answer.nodes).collect();
            let class_list = lock(&class_lists).number(classes);
            [value, error].map(|fragments| fragments.map(|fragments| KeyTexts { class_list, fragments }))
        });
        let (mut values, mut errors) = (Vec::new(), Vec::new());
        for [value, error] in texts {
            values.extend(value);
            errors.extend(error);
        }
        let class_lists = class_lists.into_inner().unwrap_or_else(PoisonError::into_inner).list;
        Snapshots { fleet, format, layout, nodes: nodes.iter().collect(), class_lists, values, errors }
    }

    /// Writes all snapshots to a stream: NDJSON as lines, JSON as one array, YAML as documents.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (open, between, end, close): (&[u8], &[u8], &[u8], &[u8]) = match self.format {
            Format::Json => (b"[\n", b",\n", b"", b"\n]\n"),
            Format::Ndjson | Format::Yaml => (b"", b"", b"\n", b""),
        };
        let mut table = Table::default();
        let mut buffer = open.to_vec();
        let mut batches = self.batches(self.nodes.len());
        while let Some(batch) = batches.next(&mut table) {
            for (row, node) in batch.enumerate() {
                if node > 0 {
                    buffer.extend_from_slice(between);
                }
                self.append(node, table.row(row), &mut buffer);
                buffer.extend_from_slice(end);
                if buffer.len() >= BUFFER {
                    out.write_all(&buffer)?;
                    buffer.clear();
                }
            }
        }
        buffer.extend_from_slice(close);
        out.write_all(&buffer)
    }

    /// Returns the snapshot of each node, as in its file.
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

    /// Returns the name of a node, by its position among those that have snapshots.
    fn name(&self, node: usize) -> &'a Arc<str> {
        self.fleet.name(self.nodes[node])
    }

    /// Returns batches of at most `most` nodes.
    fn batches(&self, most: usize) -> Batches<'_> {
        Batches::new(&self.nodes, &self.class_lists, most)
    }

    /// Appends the snapshot of a node, without the last line end.
    fn append(&self, node: usize, classes: Row<'_>, text: &mut Vec<u8>) {
        text.extend_from_slice(self.layout.head.as_bytes());
        text.extend_from_slice(layout::name(self.format, self.name(node)).as_bytes());
        text.extend_from_slice(self.layout.values.as_bytes());
        self.append_entries(&self.values, classes, text);
        text.extend_from_slice(self.layout.errors.as_bytes());
        self.append_entries(&self.errors, classes, text);
        text.extend_from_slice(self.layout.tail.as_bytes());
    }

    fn append_entries(&self, keys: &[KeyTexts], classes: Row<'_>, text: &mut Vec<u8>) {
        let start = text.len();
        for key in keys {
            if let Some(class) = classes.class(key.class_list) {
                text.extend_from_slice(key.fragments.get(class));
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
