//! Node profiles.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Catalog, Names};
use crate::value::{Hash, Value};

/// A declared node fact profile. The table in `fields` maps its members to the fields of documents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeProfile {
    /// The certname.
    pub name: Arc<str>,
    /// The environment that the node is in.
    pub environment: Arc<str>,
    /// Facts; top-scope variables too.
    pub facts: Arc<Hash>,
    /// `$trusted`, complete.
    pub trusted: Arc<Hash>,
    /// ENC parameters and other top-scope variables; they win over facts of the same name.
    pub variables: Hash,
    /// `$server_facts`, or `None` if the profile does not declare them.
    pub server_facts: Option<Hash>,
    /// The time of the facts, in seconds since 1970, if the profile has one.
    pub time: Option<i64>,
    /// Variables that the node has, and whose values are not known, with the reasons. They win over all others.
    pub unresolved: BTreeMap<Arc<str>, Arc<str>>,
    /// The node's last catalog, as far as it is known. No lookup sees it. Lists of names that are known but were not
    /// wanted are empty.
    pub catalog: Catalog,
    /// The keys of parameters that a node classifier gives to classes, or `None` if no classifier is known. Puppet does
    /// not look them up for these classes. The list is empty if the keys are known but were not wanted.
    pub given: Option<Names>,
    /// True if the node and its facts are guessed.
    pub is_guessed: bool,
}

impl NodeProfile {
    /// Returns true if a top-scope variable, or a fact, has the name `name`.
    pub fn has_variable(&self, name: &str) -> bool {
        self.variables.get(name).is_some() || self.facts.get(name).is_some() || self.unresolved.contains_key(name)
    }

    /// Sets a top-scope variable to a value, or marks it as unknown for the given reason.
    pub fn set_variable(&mut self, name: &Arc<str>, value: Result<Value, Arc<str>>) {
        match value {
            Ok(value) => _ = self.variables.insert(&**name, value),
            Err(reason) => _ = self.unresolved.insert(name.clone(), reason),
        }
    }
}

/// A profile that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}{line}: {text}", line = line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ProfileError {
    /// The file, or the pattern or address that names files.
    pub path: String,
    /// The line, counted from 1, or `None` if the fault is in no file.
    pub line: Option<u32>,
    /// The fault.
    pub text: String,
}
