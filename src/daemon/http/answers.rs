//! The interface to effective values. The caller implements it, since finding them takes settings.

use std::fmt;
use std::sync::Arc;

use crate::diff::Diff;
use crate::git::CommitId;
use crate::page::content::Content;
use crate::pattern::Pattern;
use crate::report::{ComparedNode, Format};
use crate::value::Value;
use crate::workers::Stop;

/// Answers questions about effective values, several at a time. A call may block for a while, but returns soon once
/// `stop` has a reason.
pub trait Answers: Send + Sync {
    /// Returns the names of all nodes, in order.
    fn nodes(&self) -> Result<Vec<Arc<str>>, AnswerError>;

    /// Returns the effective values of a node: those of `keys` or, if that is empty, of all keys.
    fn snapshot(
        &self,
        node: &str,
        revision: &str,
        keys: &[String],
        stop: &Arc<dyn Stop>,
    ) -> Result<NodeSnapshot, AnswerError>;

    /// Compares two revisions.
    fn diff(&self, request: &DiffRequest, stop: &Arc<dyn Stop>) -> Result<DiffResponse, AnswerError>;

    /// Looks keys up until one is found.
    fn lookup(&self, request: &LookupRequest, stop: &Arc<dyn Stop>) -> Result<LookupResponse, AnswerError>;

    /// Lists the commits that changed keys, as `hierad log` does.
    fn history(&self, request: &HistoryRequest, stop: &Arc<dyn Stop>) -> Result<HistoryPage, AnswerError>;

    /// Finds the commits that made values what they are, as `hierad blame` does.
    fn blame(&self, request: &HistoryRequest, stop: &Arc<dyn Stop>) -> Result<Blamed, AnswerError>;

    /// Returns what a view of the page shows.
    fn page(&self, request: &PageRequest, stop: &Arc<dyn Stop>) -> Result<Content, AnswerError>;
}

/// A request for a view of the page.
#[derive(Debug, Clone)]
pub struct PageRequest {
    /// The revision.
    pub revision: String,
    /// The view.
    pub view: View,
}

/// A view of the page. Lists are searched for a text, and go on after a name.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the fields are what their names say")]
pub enum View {
    /// The overview.
    Start,
    /// The names of the nodes.
    Nodes { search: String, after: Option<String> },
    /// The names of the keys.
    Keys { search: String, after: Option<String> },
    /// A node with its values.
    Node { name: String, search: String, after: Option<String> },
    /// A key on a node.
    Ladder { node: String, key: String },
    /// A key on all nodes.
    Key { key: String },
    /// The nodes with the value of a key at a position, from 1.
    Holders { key: String, position: usize, after: Option<String> },
    /// The paths of the data files.
    Files { search: String, after: Option<String> },
    /// A data file.
    File { path: String, after: Option<String>, line: Option<usize> },
    /// Everything that is wrong with data, `hiera.yaml` and profiles.
    Check,
    /// The commits of a branch, from one of them.
    Commits { after: Option<String> },
    /// The changes of a commit, or those between two revisions: of some keys on some nodes, or of all.
    Diff { from: Option<String>, to: String, part: [Option<Pattern>; 2] },
    /// The differences between two nodes, or between a node in two environments.
    Compare(Diff<ComparedNode>),
    /// The effect of other values of variables on a node: in the form `NAME=VALUE`, and as fields of a form by name,
    /// some of which may have the node's own value.
    WhatIf { node: String, set: Vec<String>, fields: Vec<(String, String)> },
    /// The commits that changed keys.
    Changes(HistoryRequest),
    /// The names of nodes and keys with a text.
    Search { text: String },
}

/// The effective values of a node.
#[derive(Debug, Clone)]
pub struct NodeSnapshot {
    /// The commit.
    pub commit: String,
    /// The content that `hierad render` writes to the node's file.
    pub text: Vec<u8>,
}

/// A comparison of two revisions.
#[derive(Debug, Clone)]
pub struct DiffRequest {
    /// The earlier revision, or `None` for the first parent of the later one.
    pub from: Option<String>,
    /// The later revision.
    pub to: String,
    /// The format of the report.
    pub format: Format,
}

/// The result of a comparison.
#[derive(Debug, Clone)]
pub struct DiffResponse {
    /// The later commit.
    pub commit: String,
    /// The report.
    pub text: Vec<u8>,
}

/// A lookup.
#[derive(Debug, Clone)]
pub struct LookupRequest {
    /// The revision.
    pub revision: String,
    /// The node.
    pub node: LookupNode,
    /// The keys.
    pub keys: Vec<String>,
    /// The merge strategy, in the form of `lookup_options`, which it overrides.
    pub merge: Option<Value>,
}

/// The node of a lookup.
#[derive(Debug, Clone)]
pub enum LookupNode {
    /// A node of the fleet, by name.
    Named(String),
    /// A node with this profile, in JSON.
    Profile(Vec<u8>),
}

/// The result of a lookup.
#[derive(Debug, Clone)]
pub struct LookupResponse {
    /// The commit.
    pub commit: String,
    /// The node.
    pub node: String,
    /// The key that was found.
    pub key: String,
    /// Its value in JSON.
    pub value: String,
}

/// A question about the history of values.
#[derive(Debug, Clone)]
pub struct HistoryRequest {
    /// The last commit.
    pub revision: String,
    /// The keys; all, if there is no pattern.
    pub keys: Vec<Pattern>,
    /// The nodes; all, if there is no pattern.
    pub nodes: Vec<Pattern>,
    /// The text that values are searched for.
    pub text: Option<String>,
    /// The place from which an earlier page goes on.
    pub after: Option<HistoryPlace>,
    /// The maximum number of entries.
    pub limit: usize,
}

/// A part of a history, newest first.
#[derive(Debug, Clone)]
pub struct HistoryPage {
    /// The last commit of the history.
    pub commit: CommitId,
    /// The reports on commits, in JSON.
    pub entries: Vec<String>,
    /// The commits that may change values unseen, since these fail before and after.
    pub unseen: Vec<CommitId>,
    /// The headlines of what cannot be seen at the last commit, so that any commit may change values unseen.
    pub blind_spots: Vec<String>,
    /// The place from which the next page goes on; `None` if this is the last.
    pub next: Option<HistoryPlace>,
}

/// A place in a history, which stays that of its tip if the branch goes on or is rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryPlace {
    /// The last commit of the history.
    pub tip: CommitId,
    /// The last one that was looked at, from the tip backwards.
    pub last: CommitId,
}

impl fmt::Display for HistoryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.tip, self.last)
    }
}

impl HistoryPlace {
    /// Reads a place as it is shown.
    pub fn parse(text: &str) -> Option<HistoryPlace> {
        let (tip, last) = text.split_once('.')?;
        Some(HistoryPlace { tip: CommitId::from_hex(tip)?, last: CommitId::from_hex(last)? })
    }
}

/// The parts of values.
#[derive(Debug, Clone)]
pub struct Blamed {
    /// The commit that has the values.
    pub commit: CommitId,
    /// The parts with their commits, in JSON.
    pub parts: Vec<String>,
    /// As in [`HistoryPage`].
    pub blind_spots: Vec<String>,
}

/// The reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// There is no such node, revision or key.
    #[error("{0}")]
    Unknown(String),
    /// The request is wrong.
    #[error("{0}")]
    Wrong(String),
    /// The lookup fails, as Puppet's does.
    #[error("{0}")]
    Failed(String),
    /// The repository is not there yet, or the answer takes too long.
    #[error("{0}")]
    Later(String),
    /// The repository or the profiles cannot be read.
    #[error(transparent)]
    Broken(#[from] Box<dyn std::error::Error + Send + Sync>),
}
