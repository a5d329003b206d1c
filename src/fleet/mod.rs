//! Every key on every node of one revision.
//!
//! A key is evaluated on one node, and what the evaluation read is recorded: variables, where data sources have the key and those
//! that it refers to, options. All nodes on which these are equal are one class with one answer (`classes`); of the others one is
//! evaluated next. The same goes for what the evaluation stands on: the files that a level leads to, the merged options. Answers
//! are kept as `key -> [(NodeSet, outcome)]`, never as a table of nodes and keys.

mod classes;
mod compare;
mod keys;
mod partition;
mod placed;
mod reach;
mod reads;
mod references;
mod resolve;
mod revision;
mod view;

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::diagnostic::Diagnostic;
use crate::hiera::Outcome;
use crate::hiera::key::split;
use crate::hiera::scope::NodeScope;
use crate::node::{NodeId, NodeProfile, NodeSet};
use crate::value::ruby;

pub use keys::data_files;
pub use reach::reach;
pub use resolve::resolve;
pub use revision::Revision;

use partition::Partition;
use reads::{Reading, VariablePath};

/// The nodes whose effective values count, in the order of their names.
#[derive(Default)]
pub struct Fleet {
    profiles: Vec<NodeProfile>,
    by_name: HashMap<Arc<str>, NodeId>,
    /// How the nodes divide by what was looked at in a variable.
    columns: RwLock<HashMap<VariablePath, Arc<Partition>>>,
}

impl Fleet {
    /// A fleet of `profiles`; of two with the same name the last one counts.
    pub fn new(profiles: impl IntoIterator<Item = NodeProfile>) -> Fleet {
        let sorted: BTreeMap<Arc<str>, NodeProfile> = profiles.into_iter().map(|p| (p.name.clone(), p)).collect();
        let profiles: Vec<NodeProfile> = sorted.into_values().collect();
        let by_name = (0..).zip(&profiles).map(|(id, p)| (p.name.clone(), NodeId(id))).collect();
        Fleet { profiles, by_name, columns: RwLock::default() }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.profiles.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.profiles.is_empty()
    }

    /// All nodes.
    pub fn all(&self) -> NodeSet {
        NodeSet::first(u32::try_from(self.len()).unwrap_or(u32::MAX))
    }

    /// The profiles with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &NodeProfile)> {
        (0..).map(NodeId).zip(&self.profiles)
    }

    /// The node called `name`.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// A node's profile.
    pub fn profile(&self, node: NodeId) -> &NodeProfile {
        &self.profiles[node.0 as usize]
    }

    /// A node's variables.
    pub fn scope(&self, node: NodeId) -> NodeScope<'_> {
        NodeScope::new(self.profile(node))
    }

    /// How the nodes divide by what is at `path` of a variable.
    fn column(&self, path: &VariablePath) -> Arc<Partition> {
        if let Some(column) = self.columns.read().unwrap_or_else(PoisonError::into_inner).get(path) {
            return column.clone();
        }
        let readings = self.profiles.iter().map(|profile| Reading::of(&NodeScope::new(profile), path));
        let column = Arc::new(Partition::by(readings));
        self.columns.write().unwrap_or_else(PoisonError::into_inner).insert(path.clone(), column.clone());
        column
    }

    /// Whether the variable `name`, dotted access included, has a value on some node that is interpolated itself.
    fn interpolates(&self, name: &str) -> bool {
        let Some((root, segments)) = split(name).as_deref().and_then(|s| Some((s.first()?.clone(), s[1..].to_vec())))
        else {
            return true;
        };
        let path = VariablePath { root: ruby::to_s(&root).into(), segments };
        let column = self.column(&path);
        let of_part = |nodes: &NodeSet| nodes.smallest().map(|node| Reading::of(&self.scope(node), &path));
        column.sets().iter().filter_map(of_part).any(|reading| reading.interpolates())
    }

    /// The names of the nodes of a set, in order.
    pub fn names<'f>(&'f self, nodes: &'f NodeSet) -> impl Iterator<Item = &'f Arc<str>> + 'f {
        nodes.iter().map(|node| &self.profile(node).name)
    }
}

/// One answer for a key and the nodes that get it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The nodes.
    pub nodes: NodeSet,
    /// What they get; never [`Outcome::NotFound`].
    pub outcome: Arc<Outcome>,
}

/// The effective values of a fleet: for each key its distinct answers, in the order of their first nodes. A node that is in none
/// of them does not find the key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effective {
    /// The answers by key.
    pub keys: BTreeMap<Arc<str>, Vec<Answer>>,
}

/// A finding with the nodes that it concerns; none where it does not depend on nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The finding.
    pub diagnostic: Diagnostic,
    /// The nodes; empty for one that is about the repository itself.
    pub nodes: NodeSet,
}
