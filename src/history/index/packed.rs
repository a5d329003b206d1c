//! The form of records on disk: texts, sets of nodes and outcomes are written once, and referred to by position.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use crate::diagnostic::Place;
use crate::diff::{Change, Diff};
use crate::fleet::VariableDigest;
use crate::git::CommitId;
use crate::hiera::{LookupError, Outcome};
use crate::node::NodeSet;
use crate::pipeline::commit_changes::CommitChanges;
use crate::puppet::ErrorKind;
use crate::report::{ChangeOrigins, ChangedLines, Effect, FileChange, How, LeafOrigins, Origin, Side, Source};
use crate::value::{Packed, Unpacked};

/// The maximum number of parts of a value in a record.
const MAX_PARTS: usize = 100_000;

/// Records, with what they refer to and former segments do not have.
#[derive(Serialize, Deserialize)]
pub(super) struct Segment {
    /// The variables that were read for the records, with a digest of each.
    pub(super) facts: Vec<(String, VariableDigest)>,
    pub(super) tables: NewEntries,
    pub(super) records: Vec<PackedRecord>,
}

#[cfg(test)]
impl Segment {
    /// Returns a segment without records.
    pub(super) fn of_facts(facts: Vec<(String, VariableDigest)>) -> Segment {
        Segment { facts, tables: NewEntries::default(), records: Vec::new() }
    }
}

/// New entries of the tables.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct NewEntries {
    texts: Vec<String>,
    /// Sets of nodes in packed form.
    sets: Vec<ByteBuf>,
    /// Outcomes in packed form.
    outcomes: Vec<ByteBuf>,
}

/// All that a commit changes.
#[derive(Serialize, Deserialize)]
pub(super) struct PackedRecord {
    pub(super) commit: [u8; 20],
    pub(super) changes: Vec<PackedChange>,
    pub(super) lines: Vec<PackedLines>,
    /// The keys that fail before and after.
    pub(super) masked: Vec<u32>,
}

/// The change of a key on some nodes.
#[derive(Serialize, Deserialize)]
pub(super) struct PackedChange {
    pub(super) key: u32,
    pub(super) nodes: u32,
    /// The outcomes before and after; `None` if they cannot be kept.
    outcomes: Option<[Option<u32>; 2]>,
    leaves: Vec<PackedLeaf>,
    lines: Option<Vec<u32>>,
    are_all: bool,
}

/// The origins of a difference.
#[derive(Serialize, Deserialize)]
struct PackedLeaf {
    origins: [Option<PackedSource>; 2],
    sources: [Vec<PackedSource>; 2],
    lines: Option<Vec<u32>>,
}

/// A place: path, line, level, and the way in which it contributes.
#[derive(Serialize, Deserialize)]
struct PackedSource(u32, Option<u32>, Option<u32>, u8);

/// Changed lines that cause something.
#[derive(Serialize, Deserialize)]
pub(super) struct PackedLines {
    path: u32,
    first: Option<u32>,
    last: u32,
    file: u8,
    is_after: bool,
    /// The keys that they belong to.
    keys: Vec<u32>,
}

/// An outcome.
#[derive(Serialize, Deserialize)]
enum Form<V> {
    Found(V),
    Failed { kind: u8, text: String, path: Option<String>, line: Option<u32> },
}

/// The ways in which places contribute, in the order of their numbers.
const HOW: [How; 10] = [
    How::Value,
    How::Merge,
    How::KnockOut,
    How::Alias,
    How::Lookup,
    How::Variable,
    How::LookupOptions,
    How::Manifest,
    How::Conversion,
    How::Hierarchy,
];

const FILES: [FileChange; 3] = [FileChange::Edited, FileChange::New, FileChange::Deleted];

const ERRORS: [ErrorKind; 4] = [ErrorKind::Puppet, ErrorKind::Bare, ErrorKind::Unknown, ErrorKind::Global];

/// Returns the position of an item in a list that has it.
fn number<T: PartialEq>(all: &[T], item: &T) -> u8 {
    all.iter().position(|other| other == item).and_then(|at| u8::try_from(at).ok()).unwrap_or_default()
}

/// The entries that records refer to.
#[derive(Default)]
pub(super) struct Tables {
    texts: Vec<Arc<str>>,
    /// Sets of nodes, each unpacked when it is asked for: a question is about few of them.
    sets: Vec<ByteBuf>,
    outcomes: Vec<ByteBuf>,
}

impl Tables {
    /// Adds the new entries of a segment.
    pub(super) fn extend(&mut self, new: NewEntries) {
        self.texts.extend(new.texts.into_iter().map(Arc::from));
        self.sets.extend(new.sets);
        self.outcomes.extend(new.outcomes);
    }

    pub(super) fn text(&self, at: u32) -> Option<&Arc<str>> {
        self.texts.get(at as usize)
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &Arc<str>> {
        self.texts.iter()
    }

    fn owned(&self, at: u32) -> Arc<str> {
        self.text(at).cloned().unwrap_or_default()
    }

    /// Returns a set of nodes, which is empty if there is none with this number.
    pub(super) fn nodes(&self, at: u32) -> NodeSet {
        self.sets.get(at as usize).and_then(|set| unpack_set(set)).unwrap_or_default()
    }

    fn outcome(&self, at: u32) -> Option<Arc<Outcome>> {
        let form: Form<Unpacked> = postcard::from_bytes(self.outcomes.get(at as usize)?).ok()?;
        Some(Arc::new(match form {
            Form::Found(Unpacked(value)) => Outcome::Found(value),
            Form::Failed { kind, text, path, line } => Outcome::Failed(LookupError {
                kind: *ERRORS.get(usize::from(kind))?,
                text: text.into(),
                place: path.map(|path| Place { path: path.into(), line }),
                subject: None,
            }),
        }))
    }

    /// Returns a change on `nodes`, or `None` if its outcomes are not kept.
    pub(super) fn change(&self, change: &PackedChange, key: &Arc<str>, nodes: NodeSet) -> Option<Change> {
        let side = |at: Option<u32>| at.map(|at| self.outcome(at).ok_or(())).transpose().ok();
        let [before, after] = change.outcomes?;
        Change::between(key, &Diff::new(side(before)?, side(after)?), nodes)
    }

    /// Returns the origins of a change.
    pub(super) fn origins(&self, change: &PackedChange) -> ChangeOrigins {
        let source = |PackedSource(path, line, level, how): &PackedSource| Source {
            place: Place { path: self.owned(*path), line: *line },
            level: level.map(|level| self.owned(level)),
            how: HOW.get(usize::from(*how)).copied().unwrap_or_default(),
        };
        let origin = |packed: &Option<PackedSource>| {
            let Source { place, level, how } = source(packed.as_ref()?);
            Some(Origin { place, level: level.unwrap_or_default(), how })
        };
        let leaf = |PackedLeaf { origins: [before, after], sources: [was, is], lines }: &PackedLeaf| LeafOrigins {
            origin: Diff::new(origin(before), origin(after)),
            sources: Diff::new(was.iter().map(source).collect(), is.iter().map(source).collect()),
            lines: lines.as_deref().map(positions),
        };
        ChangeOrigins {
            leaves: change.leaves.iter().map(leaf).collect(),
            lines: change.lines.as_deref().map(positions),
            are_all: change.are_all,
        }
    }

    /// Returns changed lines, without what they cause.
    pub(super) fn lines(&self, lines: &PackedLines) -> ChangedLines {
        ChangedLines {
            place: Place { path: self.owned(lines.path), line: lines.first },
            last: lines.last,
            file: FILES.get(usize::from(lines.file)).copied().unwrap_or_default(),
            side: if lines.is_after { Side::After } else { Side::Before },
            effect: Effect::Changes { keys: BTreeSet::new(), nodes: NodeSet::new() },
            with: Vec::new(),
            keys: lines.keys.iter().map(|key| self.owned(*key)).collect(),
            text: Vec::new(),
        }
    }

    /// Returns a packer of records that refer to these tables.
    pub(super) fn packer(&self) -> Packer {
        Packer {
            texts: Numbers::after(self.texts.iter().cloned()),
            sets: Numbers::after(self.sets.iter().cloned()),
            outcomes: Numbers::after(self.outcomes.iter().cloned()),
        }
    }
}

fn positions(numbers: &[u32]) -> Vec<usize> {
    numbers.iter().map(|number| *number as usize).collect()
}

/// Numbers distinct entries, and keeps the new ones.
struct Numbers<T> {
    known: HashMap<T, u32, RandomState>,
    new: Vec<T>,
}

impl<T: Hash + Eq + Clone> Numbers<T> {
    fn after(known: impl Iterator<Item = T>) -> Numbers<T> {
        Numbers { known: known.zip(0..).collect(), new: Vec::new() }
    }

    fn number(&mut self, entry: T) -> u32 {
        let next = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
        *self.known.entry(entry).or_insert_with_key(|entry| {
            self.new.push(entry.clone());
            next
        })
    }
}

/// Packs records.
pub(super) struct Packer {
    texts: Numbers<Arc<str>>,
    sets: Numbers<ByteBuf>,
    outcomes: Numbers<ByteBuf>,
}

impl Packer {
    pub(super) fn record(&mut self, commit: CommitId, found: &CommitChanges) -> PackedRecord {
        let unknown = ChangeOrigins::default();
        let origins = found.origins.changes.iter().chain(std::iter::repeat(&unknown));
        let changes = found.changes.changes.iter().zip(origins);
        PackedRecord {
            commit: commit.to_bytes(),
            changes: changes.map(|(change, origins)| self.change(change, origins)).collect(),
            lines: found.origins.lines.iter().map(|lines| self.lines(lines)).collect(),
            masked: found.masked.iter().map(|key| self.texts.number(key.clone())).collect(),
        }
    }

    /// Returns a segment of records that this packer has made.
    pub(super) fn segment(self, facts: Vec<(String, VariableDigest)>, records: Vec<PackedRecord>) -> Segment {
        let texts = self.texts.new.iter().map(ToString::to_string).collect();
        Segment { facts, tables: NewEntries { texts, sets: self.sets.new, outcomes: self.outcomes.new }, records }
    }

    fn change(&mut self, change: &Change, origins: &ChangeOrigins) -> PackedChange {
        PackedChange {
            key: self.texts.number(change.key.clone()),
            nodes: self.sets.number(pack_set(&change.nodes)),
            outcomes: if change.variants.is_some() { None } else { self.outcomes(&change.outcome) },
            leaves: origins.leaves.iter().map(|leaf| self.leaf(leaf)).collect(),
            lines: origins.lines.as_deref().map(numbers),
            are_all: origins.are_all,
        }
    }

    /// Returns the numbers of both outcomes, or `None` if one cannot be kept.
    fn outcomes(&mut self, outcome: &Diff<Option<Arc<Outcome>>>) -> Option<[Option<u32>; 2]> {
        let packed = |outcome: &Option<Arc<Outcome>>| outcome.as_deref().map(pack).transpose().ok();
        let (before, after) = (packed(&outcome.before)?, packed(&outcome.after)?);
        Some([before, after].map(|bytes| bytes.map(|bytes| self.outcomes.number(bytes))))
    }

    fn leaf(&mut self, leaf: &LeafOrigins) -> PackedLeaf {
        let mut origin = |origin: &Option<Origin>| {
            let Origin { place, level, how } = origin.as_ref()?;
            Some(self.source(place, Some(level), *how))
        };
        let origins = [origin(&leaf.origin.before), origin(&leaf.origin.after)];
        let mut sources = |sources: &Vec<Source>| {
            sources.iter().map(|source| self.source(&source.place, source.level.as_ref(), source.how)).collect()
        };
        let sources = [sources(&leaf.sources.before), sources(&leaf.sources.after)];
        PackedLeaf { origins, sources, lines: leaf.lines.as_deref().map(numbers) }
    }

    fn source(&mut self, place: &Place, level: Option<&Arc<str>>, how: How) -> PackedSource {
        let path = self.texts.number(place.path.clone());
        PackedSource(path, place.line, level.map(|level| self.texts.number(level.clone())), number(&HOW, &how))
    }

    fn lines(&mut self, lines: &ChangedLines) -> PackedLines {
        PackedLines {
            path: self.texts.number(lines.place.path.clone()),
            first: lines.place.line,
            last: lines.last,
            file: number(&FILES, &lines.file),
            is_after: lines.side == Side::After,
            keys: lines.keys.iter().map(|key| self.texts.number(key.clone())).collect(),
        }
    }
}

/// Packs a set of nodes: from run to run, the number of nodes that are left out, and the number of those that follow.
/// These are small numbers, of a byte each.
fn pack_set(set: &NodeSet) -> ByteBuf {
    let mut next = 0;
    let mut lengths = Vec::new();
    for (first, last) in set.runs() {
        lengths.push((first - next, last - first));
        next = last;
    }
    ByteBuf::from(postcard::to_allocvec(&lengths).unwrap_or_default())
}

fn unpack_set(packed: &[u8]) -> Option<NodeSet> {
    let lengths: Vec<(u32, u32)> = postcard::from_bytes(packed).ok()?;
    let mut next = 0_u32;
    let mut runs = Vec::with_capacity(lengths.len());
    for (left_out, more) in lengths {
        let first = next.checked_add(left_out)?;
        next = first.checked_add(more)?;
        runs.push((first, next));
    }
    Some(NodeSet::of_runs(&runs))
}

fn numbers(positions: &[usize]) -> Vec<u32> {
    positions.iter().map(|at| u32::try_from(*at).unwrap_or(u32::MAX)).collect()
}

/// Packs an outcome. Fails for secrets, which are never written, and for values and errors that have no packed form.
fn pack(outcome: &Outcome) -> Result<ByteBuf, ()> {
    let form = match outcome {
        Outcome::Found(value) => Form::Found(Packed::of(value, &mut { MAX_PARTS }).ok_or(())?),
        // What is unknown may become known without any commit.
        Outcome::Failed(error) if error.kind.is_unknown() => return Err(()),
        Outcome::Failed(LookupError { kind, text, place, subject: None }) if text.secrecy().is_none() => Form::Failed {
            kind: number(&ERRORS, kind),
            text: text.as_str().to_owned(),
            path: place.as_ref().map(|place| place.path.to_string()),
            line: place.as_ref().and_then(|place| place.line),
        },
        Outcome::Failed(_) | Outcome::NotFound => return Err(()),
    };
    postcard::to_allocvec(&form).map(ByteBuf::from).map_err(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_stay_the_same_and_take_a_byte_for_each_number() {
        let every = |step| (0..10_000_u32).step_by(step).map(|node| (node, node)).collect::<Vec<_>>();
        for runs in [vec![], vec![(0, 0)], vec![(7, 9)], vec![(0, 5), (70_000, 70_001)], every(3), every(64)] {
            let set = NodeSet::of_runs(&runs);
            let packed = pack_set(&set);
            assert_eq!(unpack_set(&packed), Some(set));
            assert!(packed.len() <= 2 * runs.len() + 6, "{} bytes for {} runs", packed.len(), runs.len());
        }
    }

    #[test]
    fn damaged_sets_are_none() {
        let packed = postcard::to_allocvec(&[(u32::MAX, 0), (1, 0)].as_slice()).unwrap();
        assert_eq!(unpack_set(&packed), None);
        assert_eq!(unpack_set(&[9, 1]), None);
    }
}
