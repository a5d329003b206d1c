//! The contents of the views, as plain data. Texts are as they are in the data; views make them safe to show. Secrets
//! are fingerprints already.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diagnostic::Severity;
use crate::report::Report;

/// The content of a view.
#[derive(Debug, Clone)]
pub enum Content {
    /// The overview of a repository.
    Start(Box<Start>),
    /// A part of the names of all nodes.
    Nodes(Names),
    /// A part of the names of all keys.
    Keys(Names),
    /// A part of the paths of all data files.
    Files(Files),
    /// A data file.
    File(File),
    /// A part of the commits of a branch, newest first.
    Commits(Commits),
    /// A node.
    Node(Node),
    /// A key on a node.
    Ladder(Ladder),
    /// A key on all nodes.
    Key(Key),
    /// The nodes with one value of a key.
    Holders(Holders),
    /// Everything that is wrong.
    Check(Check),
    /// A comparison: of a commit with the one before, of two revisions, of two nodes.
    Report(Box<Comparison>),
    /// The effect of other values of variables on a node.
    WhatIf(Box<WhatIf>),
    /// A part of the commits that changed values, newest first.
    Changes(Changes),
    /// Everything that has a text.
    Found(Box<Found>),
    /// A key that no data of the revision has.
    NoKey(NoKey),
}

/// The effect of other values of variables on a node.
#[derive(Debug, Clone)]
pub struct WhatIf {
    /// The node.
    pub node: String,
    /// The variables that data reads.
    pub variables: Vec<Field>,
    /// The other variables that are set, as `--set` takes them.
    pub others: Vec<String>,
    /// Notices about values that no data reads, or that no node has.
    pub notices: Vec<String>,
    /// The values without and with them; `None` if nothing is set that data reads.
    pub report: Option<Comparison>,
}

/// A variable in a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The value of the node: a text as it is, anything else in JSON; empty if it is not set.
    pub own: String,
    /// The value to try, in the same form.
    pub text: String,
    /// True if the value is in JSON.
    pub is_json: bool,
    /// The texts that it has on the nodes, if they are few.
    pub known: BTreeSet<String>,
}

/// A comparison.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Its result.
    pub report: Report,
    /// The data files of the later revision.
    pub files: BTreeSet<Arc<str>>,
    /// The part of it that was asked for, if parts can be.
    pub part: Option<Part>,
}

/// A part of a comparison of revisions: some keys on some nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The earlier revision, or `None` for the parent of the later one.
    pub from: Option<String>,
    /// The later revision.
    pub to: String,
    /// The pattern of the keys; empty for all.
    pub key: String,
    /// The pattern of the nodes; empty for all.
    pub node: String,
}

/// A part of the commits that changed values.
#[derive(Debug, Clone)]
pub struct Changes {
    /// The keys asked for, by name or pattern; none for all.
    pub keys: Vec<String>,
    /// The nodes asked for, likewise.
    pub nodes: Vec<String>,
    /// The commits, newest first.
    pub entries: Vec<Change>,
    /// The place from which the next part goes on.
    pub next: Option<String>,
    /// Whatever may have changed values without hierad seeing it.
    pub blind_spots: Vec<String>,
    /// The values over these commits, if they are asked for by the name of one key.
    pub timeline: Option<Timeline>,
}

/// The values of a key over some commits.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// The distinct values, the one of most nodes first; none stands for all others: those of few nodes, and those that
    /// are different on each.
    pub bands: Vec<Option<Shown>>,
    /// The states, the oldest first: the one before all of the commits, and the one after each.
    pub moments: Vec<Moment>,
    /// The number of nodes.
    pub nodes: usize,
}

/// The nodes that had each value after a commit.
#[derive(Debug, Clone)]
pub struct Moment {
    /// The commit; none before the first.
    pub commit: Option<Entry>,
    /// The number of nodes for each of the bands.
    pub nodes: Vec<usize>,
}

/// A commit that changed values, or facts that did.
#[derive(Debug, Clone)]
pub struct Change {
    /// The commit, or the one that the facts came after.
    pub commit: Entry,
    /// True if new facts changed the values.
    pub is_of_facts: bool,
    /// The changes in few words.
    pub lines: Vec<String>,
}

/// A part of the paths of all data files.
#[derive(Debug, Clone)]
pub struct Files {
    /// The paths.
    pub names: Names,
    /// All files that no known node reads, whether they are on this part of the list or not.
    pub unread: BTreeSet<String>,
    /// The number of files that only functions may read.
    pub asked: usize,
    /// Those that cannot be read, so that all lookups that read them fail.
    pub broken: BTreeSet<String>,
}

/// A data file, with what its entries decide.
#[derive(Debug, Clone)]
pub struct File {
    /// The path.
    pub path: String,
    /// The commit.
    pub commit: String,
    /// The number of nodes whose hierarchies lead to it.
    pub nodes: usize,
    /// The number of all nodes.
    pub of: usize,
    /// The reason why it cannot be read, so that all lookups that read it fail.
    pub fault: Option<String>,
    /// The line of its `lookup_options`.
    pub options: Option<u32>,
    /// True if functions may read it, so that the number of nodes says little.
    pub is_read_by_functions: bool,
    /// The blind spots at levels above it.
    pub blind_spots: Vec<BlindSpot>,
    /// Some of its entries, in their order.
    pub entries: Vec<FileEntry>,
    /// The number of all entries.
    pub count: usize,
    /// True if these are not the first ones.
    pub is_later: bool,
    /// The last key of these, if more follow.
    pub next: Option<String>,
}

/// An entry of a data file.
#[derive(Debug, Clone)]
pub struct FileEntry {
    /// The key.
    pub key: String,
    /// Its line.
    pub line: Option<u32>,
    /// Its value as the file has it, unless that may be a secret.
    pub written: Option<Shown>,
    /// The number of nodes on which the key would be something else without the entry.
    pub decides: usize,
    /// The number of nodes on which a lower level has the same.
    pub repeated: usize,
    /// The number of nodes on which higher levels hide it.
    pub hidden: usize,
    /// The number of nodes on which that is unknown, or the lookup fails either way.
    pub unknown: usize,
    /// The parts that decide nothing, with their lines, if the entry decides anything itself.
    pub idle: Vec<(String, Option<u32>)>,
}

/// Everything that is wrong at a commit.
#[derive(Debug, Clone)]
pub struct Check {
    /// The commit.
    pub commit: String,
    /// The faults, the worst first.
    pub faults: Vec<Fault>,
    /// The number of faults that are left out.
    pub more: usize,
    /// The policies that judge changes, or the reason why they cannot be read.
    pub policies: Result<Vec<Policy>, String>,
}

/// A policy that judges changes.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The name.
    pub name: String,
    /// The weight of a hit.
    pub level: &'static str,
    /// The sentence that tells people what to do.
    pub message: String,
    /// The people who must look at it.
    pub reviewers: Vec<String>,
}

/// Something wrong.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The severity.
    pub severity: Severity,
    /// The kind of fault, as `hierad check` names it.
    pub code: &'static str,
    /// The first of its places.
    pub place: Option<String>,
    /// The description.
    pub text: String,
    /// The remedy.
    pub fix: String,
    /// The keys and nodes that it concerns, in words.
    pub concerned: String,
}

/// Everything that has a text.
#[derive(Debug, Clone)]
pub struct Found {
    /// The text.
    pub search: String,
    /// The nodes.
    pub nodes: Names,
    /// The keys.
    pub keys: Names,
    /// The data files.
    pub files: Names,
    /// The values that have the text.
    pub values: Vec<FoundValue>,
    /// True if there may be more of these.
    pub has_more_values: bool,
    /// The keys that earlier commits had, if no key has the text.
    pub former: Vec<String>,
}

impl Found {
    /// Returns true if nothing has the text.
    pub fn is_empty(&self) -> bool {
        self.nodes.found + self.keys.found + self.files.found + self.values.len() == 0
    }
}

/// A value that has a text.
#[derive(Debug, Clone)]
pub struct FoundValue {
    /// The key.
    pub key: String,
    /// The number of nodes that have it.
    pub nodes: usize,
    /// The value.
    pub shown: Shown,
}

/// The overview of a repository.
#[derive(Debug, Clone)]
pub struct Start {
    /// The last commit.
    pub commit: String,
    /// The number of nodes.
    pub nodes: usize,
    /// The number of keys in the data.
    pub keys: usize,
    /// The branch or another revision that is shown.
    pub revision: String,
    /// The names of the branches.
    pub branches: Vec<String>,
    /// The blind spots of the last commit.
    pub blind_spots: Vec<BlindSpot>,
    /// The last commits, newest first.
    pub commits: Vec<Entry>,
    /// The parts that only a daemon has.
    pub live: Live,
}

/// The parts of the overview that change while a daemon works; empty without a queue.
#[derive(Debug, Clone, Default)]
pub struct Live {
    /// The last reports, the latest first.
    pub reports: Vec<StoredReport>,
    /// The work that is not done, the oldest first.
    pub work: Vec<Work>,
}

/// A commit that is not resolved, or a report that is not delivered.
#[derive(Debug, Clone)]
pub struct Work {
    /// The repository.
    pub repository: String,
    /// The branch, with the kind of the event if that is unusual.
    pub branch: String,
    /// The commit.
    pub commit: String,
    /// The state in words.
    pub words: String,
    /// The reason why the commit could not be resolved.
    pub error: Option<String>,
}

/// Something that hierad cannot see.
#[derive(Debug, Clone)]
pub struct BlindSpot {
    /// The whole message.
    pub message: String,
    /// The words of the remedy, and what to write for it in YAML, if there is one.
    pub remedy: Option<(String, Option<String>)>,
    /// The names of the levels, if it is about levels.
    pub levels: Vec<String>,
}

/// A report that a daemon has kept.
#[derive(Debug, Clone)]
pub struct StoredReport {
    /// The repository.
    pub repository: String,
    /// The branch, with the kind of the event if that is unusual.
    pub branch: String,
    /// The commit.
    pub commit: String,
    /// When it was made, in RFC 3339.
    pub time: String,
}

/// A part of a list of names, in order.
#[derive(Debug, Clone)]
pub struct Names {
    /// The text that all names have.
    pub search: String,
    /// The number of names that have it.
    pub found: usize,
    /// The number of all names.
    pub total: usize,
    /// The names.
    pub names: Vec<String>,
    /// The last of the names, if more follow.
    pub next: Option<String>,
    /// The names that are similar to the text, if none has it.
    pub near: Vec<String>,
}

/// A key that no data of the revision has.
#[derive(Debug, Clone)]
pub struct NoKey {
    /// The key.
    pub key: String,
    /// The message, with similar keys.
    pub message: String,
    /// The revision whose history knows the key, if there is one.
    pub known_at: Option<KnownAt>,
}

/// A revision whose history knows a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownAt {
    /// The revision of the view: earlier commits had the key.
    This,
    /// The newest one.
    Newest,
}

/// A commit in a list.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The full id.
    pub id: String,
    /// The first line of its message.
    pub summary: String,
    /// The author, `Name <address>`.
    pub author: String,
    /// The time of writing, in RFC 3339.
    pub time: String,
}

/// A part of the commits of a branch.
#[derive(Debug, Clone)]
pub struct Commits {
    /// The commits, newest first.
    pub commits: Vec<Entry>,
    /// The commit that the next part begins with, if there is one.
    pub next: Option<String>,
}

/// The values of a node.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its certname.
    pub name: String,
    /// The commit.
    pub commit: String,
    /// The variables that data reads, with the node's values in JSON, or `None` where one is not set.
    pub variables: Vec<(String, Option<String>)>,
    /// The text that all keys have.
    pub search: String,
    /// The number of keys that have it and a value or an error on the node.
    pub found: usize,
    /// The number of all keys with a value or an error.
    pub total: usize,
    /// The keys with their values, in order.
    pub values: Vec<KeyValue>,
    /// The last of the keys, if more follow.
    pub next: Option<String>,
}

/// A value, or the error in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// A value in JSON.
    Value {
        /// On one line.
        line: String,
        /// Over several lines.
        text: String,
    },
    /// The reason why the lookup fails.
    Error(String),
    /// The reason why hierad does not know the value.
    Unknown(String),
}

/// A key with its value on a node.
#[derive(Debug, Clone)]
pub struct KeyValue {
    /// The key.
    pub key: String,
    /// Its value.
    pub shown: Shown,
    /// The places that it comes from, the highest priority first.
    pub origins: Vec<Origin>,
}

/// A place that a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub path: String,
    /// The line.
    pub line: Option<u32>,
    /// The name of the level.
    pub level: String,
}

/// A key on a node: each level from the top, and what it has.
#[derive(Debug, Clone)]
pub struct Ladder {
    /// The node.
    pub node: String,
    /// The key.
    pub key: String,
    /// The key whose part it is, or the same.
    pub whole: String,
    /// The commit.
    pub commit: String,
    /// The effective value, or `None` if no level has the key.
    pub shown: Option<Shown>,
    /// The levels, highest priority first.
    pub rungs: Vec<Rung>,
    /// The blind spots at these levels.
    pub blind_spots: Vec<BlindSpot>,
    /// The words of `puppet lookup --explain`, or `None` if they may show a secret.
    pub explanation: Option<String>,
}

/// A place of a level.
#[derive(Debug, Clone)]
pub struct Rung {
    /// The layer: `global`, `environment` or `module NAME`.
    pub layer: String,
    /// The name of the level.
    pub level: String,
    /// The path or URI, as resolved; `None` if the level has none.
    pub path: Option<String>,
    /// Its part in the answer.
    pub state: RungState,
    /// The reason why it cannot be read or seen.
    pub reason: Option<String>,
    /// The line of the key in the file.
    pub line: Option<u32>,
    /// The value as written there, in JSON, before interpolation.
    pub written: Option<String>,
}

/// The part of a place in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RungState {
    /// The value, alone.
    Found,
    /// A part of the value, with other places.
    Merged,
    /// A value that a higher level hides.
    Shadowed,
    /// The key, whose lookup fails.
    Read,
    /// A file without the key.
    Absent,
    /// No file.
    NoFile,
    /// Something that cannot be read, so the lookup fails.
    Broken,
    /// A blind spot: a path that leads out of the repository, where something may be on the server.
    Blind,
    /// A function that is asked for each key, or a file that only it reads.
    Asked,
}

/// A key on all nodes.
#[derive(Debug, Clone)]
pub struct Key {
    /// The key.
    pub key: String,
    /// The commit.
    pub commit: String,
    /// The number of all nodes.
    pub nodes: usize,
    /// Its distinct values, that of most nodes first.
    pub values: Vec<Distinct>,
    /// The number of values that are left out.
    pub more: usize,
    /// The number of nodes without a value.
    pub without: usize,
    /// The blind spots at levels above those that the values come from.
    pub blind_spots: Vec<BlindSpot>,
}

/// Some of the nodes with one value of a key.
#[derive(Debug, Clone)]
pub struct Holders {
    /// The key.
    pub key: String,
    /// The position of the value among the key's, from 1.
    pub position: usize,
    /// The value on the first of the nodes.
    pub shown: Shown,
    /// The nodes.
    pub names: Names,
}

/// A value that some nodes have.
#[derive(Debug, Clone)]
pub struct Distinct {
    /// The value.
    pub shown: Shown,
    /// The number of the nodes.
    pub nodes: usize,
    /// A description in words that is true of these nodes and no others, if one is known.
    pub who: Option<String>,
    /// The first of the nodes, by name.
    pub names: Vec<String>,
    /// The places that the first of them has it from.
    pub origins: Vec<Origin>,
}
