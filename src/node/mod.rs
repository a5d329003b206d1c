//! Nodes: what a lookup needs to know of a machine.

use std::sync::Arc;

use crate::value::Hash;

/// A declared node fact profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeProfile {
    /// The certname.
    pub name: Arc<str>,
    /// The environment the node is in.
    pub environment: Arc<str>,
    /// Facts; top-scope variables too.
    pub facts: Hash,
    /// `$trusted`, complete.
    pub trusted: Hash,
    /// ENC parameters and other top-scope variables; they win over facts of the same name.
    pub variables: Hash,
    /// `$server_facts`, where the profile declares them.
    pub server_facts: Option<Hash>,
}
