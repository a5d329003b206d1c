//! Functions that hierad does not have, as the settings declare them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::value::{Hash, Value};

/// A function that the settings declare.
#[derive(Debug, Clone)]
pub enum DeclaredFunction {
    /// It finds nothing.
    NotFound,
    /// It finds these values, by key.
    Values(Arc<Hash>),
    /// A command answers for it.
    Command(Command),
}

/// The declared functions, by name.
pub type Backends = BTreeMap<String, DeclaredFunction>;

/// A command that answers for a function.
#[derive(Debug, Clone)]
pub struct Command {
    /// The variables that it is told: `role`, `facts.os.family`.
    pub scope: Arc<[String]>,
    /// The runner of the command.
    pub backend: Arc<dyn CommandBackend>,
}

/// Asks a command; the edge of the program runs it.
pub trait CommandBackend: fmt::Debug + Send + Sync {
    /// Returns the answer to `request`, a JSON object in one line; equal requests have equal answers. The error says in
    /// a few words why there is none.
    fn ask(&self, request: &str) -> Result<Answer, String>;
}

/// The answer of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A value; all values, for a `data_hash`.
    Found(Value),
    /// There is none.
    NotFound,
}
