//! The events of a history on disk, so that nothing is resolved twice.
//!
//! A record has all that one commit changes on the whole fleet, compared with its first parent. Records are found by
//! commit, so branches share what their histories share, rewritten ones, too. The `Identity` names all that records
//! depend on besides commits and facts, and each segment has digests of the facts that were read for it. A file with
//! others is replaced. The index affects time, never results: what a record cannot hold (secrets, texts that differ
//! from node to node) is resolved again.
//!
//! `file` has the file, `packed` a record's form in it.

mod file;
mod packed;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use sha1::{Digest, Sha1};

use crate::diff::{Change, Changes};
use crate::disk::Disk;
use crate::fleet::Fleet;
use crate::git::CommitId;
use crate::node::{NodeSet, ProfileError};
use crate::pipeline::DiffFilter;
use crate::pipeline::commit_changes::CommitChanges;
use crate::report::ChangeOrigins;

use file::IndexFile;
use packed::{PackedRecord, Segment, Tables};

/// The name of all that records depend on besides commits and facts: the settings that decide about answers, and the
/// names of the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity([u8; 20]);

impl Identity {
    /// Makes the identity of the answers for the nodes of `fleet` under settings that `settings` describes completely.
    fn new(fleet: &Fleet, settings: &str) -> Identity {
        Identity(Sha1::new().chain_update(fleet.digest_of_names()).chain_update(settings).finalize().into())
    }
}

/// The number of records, and the time, after which they are saved: the rest is lost if the process is killed.
const MAX_UNSAVED: usize = 500;
const SAVE_INTERVAL: Duration = Duration::from_secs(5);

/// An index.
pub struct Index {
    file: IndexFile,
    fleet: Arc<Fleet>,
    tables: Tables,
    records: HashMap<CommitId, PackedRecord, RandomState>,
    /// The records that are not saved yet.
    new: Vec<(CommitId, CommitChanges)>,
    saved: Instant,
    /// The disk outside of the repository. What depends on it is not kept.
    outside: Arc<Disk>,
}

/// The answer of an index to a question.
pub enum Known<T> {
    /// The index does not have the commit.
    Absent,
    /// It has it, but not the values asked for.
    InPart,
    /// It has all that was asked for.
    Whole(T),
}

impl Index {
    /// Opens the index in a folder, which need not exist, for `fleet` and the settings that `settings` describes. It is
    /// empty if the file there is damaged, or of other nodes, facts or settings.
    pub fn open(folder: &Path, fleet: Arc<Fleet>, settings: &str, outside: Arc<Disk>) -> Result<Index, ProfileError> {
        let (file, mut segments) = IndexFile::open(folder, Identity::new(&fleet, settings));
        let (tables, records) = (Tables::default(), HashMap::default());
        let mut index = Index { file, fleet, tables, records, new: Vec::new(), saved: Instant::now(), outside };
        if !index.has_facts_of(&segments)? {
            tracing::info!("the index of the history is made anew, since facts of nodes have changed");
            index.file.restart();
            segments.clear();
        }
        for segment in segments {
            index.take(segment);
        }
        Ok(index)
    }

    /// Returns true if the nodes have the facts that were read for some segments.
    fn has_facts_of(&self, segments: &[Segment]) -> Result<bool, ProfileError> {
        let facts: BTreeSet<_> = segments.iter().flat_map(|segment| segment.facts.iter().cloned()).collect();
        self.fleet.has_digests(&facts.into_iter().collect::<Vec<_>>())
    }

    fn take(&mut self, segment: Segment) {
        self.tables.extend(segment.tables);
        self.records.extend(segment.records.into_iter().map(|record| (CommitId::from_bytes(record.commit), record)));
    }

    /// Returns true if the index has a commit.
    pub fn has(&self, commit: CommitId) -> bool {
        self.records.contains_key(&commit) || self.new.last().is_some_and(|(last, _)| *last == commit)
    }

    /// Returns the changes of a commit that `filter` accepts on some of `nodes`.
    pub fn changes(&self, commit: CommitId, filter: &DiffFilter<'_>, nodes: &NodeSet) -> Known<Changes> {
        let Some(record) = self.records.get(&commit) else { return Known::Absent };
        let mut found = Changes::default();
        for change in &record.changes {
            let Some(key) = self.tables.text(change.key).filter(|key| (filter.key)(key)) else { continue };
            let on = self.tables.nodes(change.nodes).intersection(nodes);
            if on.is_empty() {
                continue;
            }
            match self.tables.change(change, key, on) {
                Some(change) => found.changes.push(change),
                None => return Known::InPart,
            }
        }
        found.changes.sort_by(by_key_and_node);
        Known::Whole(found)
    }

    /// Returns the changes of a commit that `filter` accepts, with their causes, and the number of other keys that
    /// change.
    pub fn commit_changes(&self, commit: CommitId, filter: &DiffFilter<'_>, nodes: &NodeSet) -> Known<CommitChanges> {
        let Some(record) = self.records.get(&commit) else { return Known::Absent };
        let (mut found, mut others): (Vec<(Change, ChangeOrigins)>, BTreeMap<&str, bool>) = Default::default();
        for change in &record.changes {
            let Some(key) = self.tables.text(change.key) else { return Known::InPart };
            let all = (filter.key)(key).then(|| self.tables.nodes(change.nodes));
            let all = all.filter(|all| !all.intersection(nodes).is_empty());
            *others.entry(key).or_default() |= all.is_some();
            if let Some(all) = all {
                // Causes are those on all nodes of a change.
                let is_whole = all.is_subset(nodes);
                match self.tables.change(change, key, all).filter(|_| is_whole) {
                    Some(own) => found.push((own, self.tables.origins(change))),
                    None => return Known::InPart,
                }
            }
        }
        found.sort_by(|(one, _), (other, _)| by_key_and_node(one, other));
        let lines = record.lines.iter().map(|lines| self.tables.lines(lines)).collect();
        let other_keys = others.values().filter(|is_own| !**is_own).count();
        let masked = record.masked.iter().filter_map(|key| self.tables.text(*key));
        let masked = masked.filter(|key| (filter.key)(key)).cloned().collect();
        Known::Whole(CommitChanges::new(found, lines, (other_keys, masked)))
    }

    /// Returns the commits that changed keys that are wanted, with these.
    pub fn keys_by_commit(&self, is_wanted: &dyn Fn(&str) -> bool) -> HashMap<CommitId, BTreeSet<&Arc<str>>> {
        let mut found: HashMap<CommitId, BTreeSet<&Arc<str>>> = HashMap::new();
        let is_wanted: Vec<bool> = self.tables.texts().map(|text| is_wanted(text)).collect();
        for (commit, record) in &self.records {
            let wanted = record.changes.iter().filter(|change| is_wanted.get(change.key as usize) == Some(&true));
            for key in wanted.filter_map(|change| self.tables.text(change.key)) {
                found.entry(*commit).or_default().insert(key);
            }
        }
        found
    }

    /// Adds all that a commit changes, if that lasts.
    pub fn add(&mut self, commit: CommitId, changes: CommitChanges) {
        if self.has(commit) || !changes.lasts || !self.outside.is_untouched() {
            return;
        }
        self.new.push((commit, changes));
        if self.new.len() >= MAX_UNSAVED || self.saved.elapsed() > SAVE_INTERVAL {
            self.save();
        }
    }

    /// Writes the records that were added. A failure to write is ignored: they will be made again.
    fn save(&mut self) {
        if self.new.is_empty() {
            return;
        }
        let new = std::mem::take(&mut self.new);
        self.saved = Instant::now();
        if let Err(error) = self.append(new) {
            tracing::debug!(%error, "the index of the history cannot be written");
        }
    }

    /// Appends records after those that other processes have appended meanwhile.
    fn append(&mut self, new: Vec<(CommitId, CommitChanges)>) -> std::io::Result<()> {
        let Some((writer, segments)) = self.file.lock()? else { return Ok(()) };
        if !self.has_facts_of(&segments).map_err(std::io::Error::other)? {
            return Ok(());
        }
        for segment in segments {
            self.take(segment);
        }
        let Some(facts) = self.fleet.variable_digests() else { return Ok(()) };
        let mut packer = self.tables.packer();
        let mut records = Vec::new();
        for (commit, changes) in new {
            if !self.records.contains_key(&commit) {
                records.push(packer.record(commit, &changes));
            }
        }
        let segment = packer.segment(facts, records);
        self.file.append(writer, &segment)?;
        self.take(segment);
        Ok(())
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.save();
    }
}

fn by_key_and_node(one: &Change, other: &Change) -> std::cmp::Ordering {
    (&one.key, one.nodes.first()).cmp(&(&other.key, other.nodes.first()))
}
