//! Who knows effective values: the caller, since it takes settings to find them.

use std::sync::Arc;

use crate::value::Value;

/// Answers questions about effective values, several at a time. Each may block for a while.
pub trait Answers: Send + Sync {
    /// The names of all nodes, in order.
    fn nodes(&self) -> Result<Vec<Arc<str>>, Unanswered>;

    /// The effective values of a node: of `keys` or, if there are none, of all keys.
    fn snapshot(&self, node: &str, revision: &str, keys: &[String]) -> Result<Snapshot, Unanswered>;

    /// Looks the first key up that is found.
    fn lookup(&self, question: &Question) -> Result<Found, Unanswered>;
}

/// The effective values of a node.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The commit.
    pub commit: String,
    /// What `render` writes to the node's file.
    pub text: Vec<u8>,
}

/// A lookup.
#[derive(Debug, Clone)]
pub struct Question {
    /// The revision.
    pub revision: String,
    /// On which node.
    pub subject: Subject,
    /// The keys.
    pub keys: Vec<String>,
    /// The merge strategy in place of that of `lookup_options`, as those have it.
    pub merge: Option<Value>,
}

/// The node of a lookup.
#[derive(Debug, Clone)]
pub enum Subject {
    /// One of the fleet.
    Node(String),
    /// One with this profile, in JSON.
    Profile(Vec<u8>),
}

/// What a lookup has found.
#[derive(Debug, Clone)]
pub struct Found {
    /// The commit.
    pub commit: String,
    /// The node.
    pub node: String,
    /// The key.
    pub key: String,
    /// Its value in JSON.
    pub value: String,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// There is no such node, revision or key.
    #[error("{0}")]
    Unknown(String),
    /// The question is wrong.
    #[error("{0}")]
    Wrong(String),
    /// The lookup fails, as Puppet's does.
    #[error("{0}")]
    Failed(String),
    /// The repository is not there yet.
    #[error("{0}")]
    Later(String),
    /// The repository or the profiles cannot be read.
    #[error(transparent)]
    Broken(#[from] Box<dyn std::error::Error + Send + Sync>),
}
