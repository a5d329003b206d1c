//! Finds which entries of a data file decide anything: where would a key be something else without its entry?

use std::cell::Cell;
use std::sync::Arc;

use crate::fleet::{ReadFile, Replaced, Revision, Tried, parallel};
use crate::hiera::Outcome;
use crate::hiera::backend::DataFile;
use crate::hiera::budget::Cost;
use crate::hiera::explain::provenance::{Contribution, contributions};
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::node::NodeSet;
use crate::pipeline::{Pipeline, PipelineError};
use crate::value::{Hash, Segment, Value, ValuePath};
use crate::workers::Stop;

/// The maximum number of parts of an entry that are tried.
const MAX_PARTS: usize = 200;

/// The use of a data file.
#[derive(Default)]
pub struct FileUse {
    /// The nodes whose hierarchies lead to it.
    pub nodes: NodeSet,
    /// The reason why it cannot be read.
    pub fault: Option<String>,
    /// The line of its `lookup_options`, which are no entry.
    pub options: Option<u32>,
    /// Some of its entries, in the order of the file.
    pub entries: Vec<EntryUse>,
    /// The number of all entries.
    pub count: usize,
    /// The last key of these, if more follow.
    pub next: Option<Arc<str>>,
}

/// The use of an entry: each node of the file is in one of the sets, unless it gets nothing from the entry.
pub struct EntryUse {
    /// The key.
    pub key: Arc<str>,
    /// Its line.
    pub line: Option<u32>,
    /// Its value as the file has it, unless that may be a secret on some node.
    pub value: Option<Value>,
    /// The nodes on which the key would be something else without the entry.
    pub decides: NodeSet,
    /// The nodes on which a lower level has the same.
    pub repeated: NodeSet,
    /// The nodes on which higher levels hide it.
    pub hidden: NodeSet,
    /// The nodes on which that is unknown, or the lookup fails either way.
    pub unknown: NodeSet,
    /// The parts of its value that decide nothing on any node, if it decides anything itself.
    pub idle_parts: Vec<PartUse>,
}

/// A part of an entry's value.
pub struct PartUse {
    /// Its place in the value.
    pub path: ValuePath,
    /// Its line.
    pub line: Option<u32>,
}

/// An entry on a class of nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// `has_parts` is true if the value is made of several places and is no secret.
    Decides {
        has_parts: bool,
    },
    Repeated,
    Hidden,
    Unknown,
}

impl Pipeline {
    /// Returns the use of the file at `path`: of the entries from a place on, at most this many, found with no more
    /// work than `limit`. Returns `None` if no node's hierarchy leads to the file.
    pub fn file_use(
        &self,
        revision: &Revision,
        path: &str,
        (from, most): (FilePlace<'_>, usize),
        limit: Cost,
    ) -> Result<Option<FileUse>, PipelineError> {
        let Some(read) = revision.files_read(&|other, _| **other == *path).remove(path) else { return Ok(None) };
        let path: Arc<str> = path.into();
        let keys: Vec<&Arc<str>> = read.file.keys().iter().filter(|key| ***key != *LOOKUP_OPTIONS).collect();
        let first = from.position(&keys, &read.file);
        let wanted: Vec<&Arc<str>> = keys.iter().copied().skip(first).take(most).collect();
        // Each has the same share, so that the result does not depend on the order of the work.
        let share = Cost { steps: limit.steps / most.max(1), text: limit.text / most.max(1) };
        let stop = &*self.workers.stop;
        let trials = || Trials {
            revision,
            path: path.clone(),
            read: &read,
            left: Cell::new(share),
            is_open: Cell::new(true),
            stop,
        };
        let entry = |root: &&Arc<str>| trials().entry(root);
        let entries = self.whole(|| Ok(parallel::map(&wanted, &self.workers, "trying entries", entry)))?;
        let next = keys.get(first + most).and_then(|_| keys.get(first + most - 1)).map(|key| (*key).clone());
        let fault = read.file.fault().map(|fault| fault.text.clone());
        let options = read.file.line(LOOKUP_OPTIONS);
        Ok(Some(FileUse { nodes: read.nodes, fault, options, entries, count: keys.len(), next }))
    }
}

/// A place in a data file.
#[derive(Debug, Clone, Copy)]
pub enum FilePlace<'a> {
    /// Behind the entry of a key, or at the beginning.
    After(Option<&'a str>),
    /// The entry that a line belongs to.
    Line(usize),
}

impl FilePlace<'_> {
    /// Returns the position of its first key among the keys of a file.
    fn position(self, keys: &[&Arc<str>], file: &DataFile) -> usize {
        let line_of = |key: &&&Arc<str>| file.line(key).unwrap_or_default() as usize;
        match self {
            FilePlace::After(None) => 0,
            FilePlace::After(Some(after)) => keys.iter().position(|key| ***key == *after).map_or(0, |at| at + 1),
            FilePlace::Line(line) => keys.iter().rposition(|key| line_of(&key) <= line).unwrap_or(0),
        }
    }
}

struct Trials<'a> {
    revision: &'a Revision,
    path: Arc<str>,
    read: &'a ReadFile,
    left: Cell<Cost>,
    /// True while no lookup has told that the value may be a secret: that may be only by its conversion.
    is_open: Cell<bool>,
    stop: &'a dyn Stop,
}

impl Trials<'_> {
    fn entry(&self, root: &Arc<str>) -> EntryUse {
        let key = self.revision.key_of(root).unwrap_or(root);
        let mut found = EntryUse {
            key: key.clone(),
            line: self.read.file.line(root),
            value: None,
            decides: NodeSet::new(),
            repeated: NodeSet::new(),
            hidden: NodeSet::new(),
            unknown: NodeSet::new(),
            idle_parts: Vec::new(),
        };
        let mut merged = NodeSet::new();
        for (nodes, of_class) in self.without(key, &self.read.nodes, &[Value::from(&**root)]) {
            let of_nodes = match of_class {
                Use::Decides { has_parts } => {
                    if has_parts {
                        merged.union_with(&nodes);
                    }
                    &mut found.decides
                }
                Use::Repeated => &mut found.repeated,
                Use::Hidden => &mut found.hidden,
                Use::Unknown => &mut found.unknown,
            };
            of_nodes.union_with(&nodes);
        }
        let value = self.read.file.content().and_then(|content| content.get(root));
        found.value = value.filter(|_| self.is_open.get()).cloned();
        // Where nothing is merged, all parts decide.
        if merged.len() == found.decides.len() && found.unknown.is_empty() {
            found.idle_parts = self.idle_parts(root, key, &merged);
        }
        found
    }

    /// Returns the parts of an entry's value without which nothing would change on `nodes`.
    fn idle_parts(&self, root: &Arc<str>, key: &Arc<str>, nodes: &NodeSet) -> Vec<PartUse> {
        let Some(value) = self.read.file.content().and_then(|content| content.get(root)) else { return Vec::new() };
        let mut paths = Vec::new();
        add_parts(value, &ValuePath::default(), &mut paths);
        let is_idle = |path: &ValuePath| {
            let keys = path.0.iter().filter_map(|segment| match segment {
                Segment::Key(key) => Some(key.clone()),
                Segment::Index(_) => None,
            });
            let whole: Vec<Value> = std::iter::once(Value::from(&**root)).chain(keys).collect();
            let of_nodes = self.without(key, nodes, &whole);
            of_nodes.iter().all(|(_, of_class)| matches!(of_class, Use::Repeated | Use::Hidden))
        };
        let line = |path: &ValuePath| self.read.file.marks(root)?.line_of(value, &path.0);
        let idle = paths.into_iter().filter(is_idle);
        idle.map(|path| PartUse { line: line(&path), path }).collect()
    }

    /// Tries what a key would be without the entry at `whole`.
    fn without(&self, key: &str, nodes: &NodeSet, whole: &[Value]) -> Vec<(NodeSet, Use)> {
        if nodes.is_empty() {
            return Vec::new();
        }
        if self.stop.reason().is_some() {
            self.is_open.set(false);
            return vec![(nodes.clone(), Use::Unknown)];
        }
        let file: Arc<DataFile> = Arc::new(self.read.file.with_entry_of(None, whole));
        let replaced = Replaced { files: [(self.path.clone(), file)].into(), ..Replaced::default() };
        let is_open = |outcome: &Outcome| match outcome {
            Outcome::Found(value) => value.secrecy().is_none(),
            Outcome::NotFound => true,
            Outcome::Failed(_) => false,
        };
        let judge = |tried: Option<Tried>| {
            let are_open = tried.as_ref().is_some_and(|Tried { found, with, .. }| is_open(found) && is_open(with));
            self.is_open.set(self.is_open.get() && are_open);
            tried.map_or(Use::Unknown, |tried| self.judge(key, &tried))
        };
        self.revision.try_replaced((key, nodes.clone()), &replaced, &self.left, judge)
    }

    fn judge(&self, key: &str, Tried { found, steps, with }: &Tried) -> Use {
        let is_unknown = |outcome: &Outcome| matches!(outcome, Outcome::Failed(error) if error.kind.is_unknown());
        let is_same = found.is_like(with);
        if is_unknown(found) || is_unknown(with) || (is_same && matches!(found, Outcome::Failed(_))) {
            return Use::Unknown;
        }
        let places = contributions(steps, key);
        if !is_same {
            let is_open = matches!(found, Outcome::Found(value) if value.secrecy().is_none());
            return Use::Decides { has_parts: places.len() > 1 && is_open };
        }
        let whole = ValuePath::default();
        let is_own = |one: &Contribution| one.origin_of(&whole).is_some_and(|origin| origin.place.path == self.path);
        if places.iter().any(is_own) { Use::Repeated } else { Use::Hidden }
    }
}

/// Adds the places of the entries of a hash that are no hashes themselves.
fn add_parts(value: &Value, at: &ValuePath, paths: &mut Vec<ValuePath>) {
    match value.as_hash().filter(|hash| !hash.is_empty()) {
        Some(hash) => {
            for key in Hash::keys(hash).take(MAX_PARTS.saturating_sub(paths.len())) {
                if let Some(part) = hash.get_value(key) {
                    add_parts(part, &at.child(Segment::Key(key.clone())), paths);
                }
            }
        }
        None if !at.0.is_empty() => paths.push(at.clone()),
        None => {}
    }
}
