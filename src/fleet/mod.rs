//! Resolves every key on every node of one revision.
//!
//! A fleet has many nodes and few distinct answers. A key is evaluated on one node, and the evaluation records its
//! dependencies: variables, options, and the places that define the keys it searches. All nodes on which these are
//! equal form one node class with one answer; then the key is evaluated on one of the remaining nodes. The same
//! method resolves the levels of a hierarchy and merges the options. Answers are kept as
//! `key -> [(NodeSet, outcome)]`, never as a table of nodes and keys.
//!
//! The submodules, each of which uses only those before it:
//!
//! - `parallel` spreads work over threads; `repository_keys` knows the root keys of all data files.
//! - `nodes` holds the [`Fleet`]: names, and the values of the variables that were asked for.
//! - `template` has answers that differ from node to node only by what is put into their texts.
//! - `dependencies` records what an evaluation read; `node_classes` evaluates once for each class.
//! - `levels` resolves one level of a hierarchy on all nodes.
//! - `revision` holds the [`Revision`]: all levels of all layers, made from scratch or from the revision before.
//! - `resolve` finds the answers; `affected` tells which of them may differ between two revisions.
//!
//! Invariants: results do not depend on the number of threads, nor on whether a revision was made from scratch or
//! from another one. This module knows nothing of git, reports or disks.
//!
//! ```
//! use std::sync::Arc;
//!
//! use hierad::fleet::{self, Fleet, Revision};
//! use hierad::hiera::layer::{Environment, EnvironmentOptions, Store};
//! use hierad::hiera::Outcome;
//! use hierad::node::read_profiles;
//! use hierad::tree::MemoryTree;
//! use hierad::workers::Workers;
//!
//! let tree = MemoryTree::from_fixture(
//!     "-- hiera.yaml\nversion: 5\nhierarchy:\n  - {name: all, paths: ['%{role}.yaml', 'common.yaml']}\n\
//!      -- data/common.yaml\nport: 80\n-- data/db.yaml\nport: 5432\n",
//! );
//! let profiles = b"{\"name\": \"a\", \"variables\": {\"role\": \"db\"}}\n{\"name\": \"b\"}\n{\"name\": \"c\"}\n";
//! let (profiles, _) = read_profiles(profiles, "nodes.ndjson", "production");
//!
//! let workers = Workers::default();
//! let environment = Environment::load(Arc::new(tree), EnvironmentOptions::default(), Arc::new(Store::default()))?;
//! let fleet = Arc::new(Fleet::new(profiles));
//! let revision = Revision::new(environment, fleet.clone(), &workers)?;
//!
//! let effective = fleet::resolve(&revision, &fleet.everywhere(revision.keys.iter()), &workers);
//! let ports = &effective.keys["port"];
//! assert_eq!(ports.len(), 2);
//! assert_eq!(*ports[0].outcome, Outcome::Found(5432_i64.into()));
//! assert_eq!(fleet.names(&ports[1].nodes).map(|name| &**name).collect::<Vec<_>>(), ["b", "c"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod affected;
mod dependencies;
mod levels;
mod node_classes;
mod nodes;
pub(crate) mod parallel;
mod repository_keys;
mod resolve;
mod revision;
mod run_budget;
mod template;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::hiera::Outcome;
use crate::node::{NodeId, NodeSet};

pub use affected::{AffectedKeys, affected_keys, referred_keys};
pub use nodes::catalogs::{Catalogs, KeyUse};
pub use nodes::changed::ChangedVariable;
pub use nodes::digests::VariableDigest;
pub use nodes::distinctions::Distinction;
pub(crate) use nodes::distinctions::VariableValue;
pub use nodes::referenced::ReferencedVariables;
pub use nodes::variables::FleetScope;
pub use nodes::{Fleet, VariableValues};
pub use resolve::{OriginClasses, origins, resolve, resolve_all};
pub use revision::replaced::{LevelNames, NodeRevision, ReadFile, Replaced, Tried};
pub use revision::{Revision, RevisionError};
pub use template::{Template, Variable, coincidences};

/// Keys, and for each of them some nodes: those on which to look it up, or on which it may differ.
pub type NodesByKey = BTreeMap<Arc<str>, NodeSet>;

/// One answer for a key and the nodes that get it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The nodes.
    pub nodes: NodeSet,
    /// The outcome on these nodes; never [`Outcome::NotFound`].
    pub outcome: Arc<Outcome>,
    /// The template of the value, if that differs from node to node. The outcome is then that of the first node.
    pub template: Option<Arc<Template>>,
}

impl Answer {
    /// Makes an answer that is the same on all of `nodes`.
    pub fn new(nodes: NodeSet, outcome: Arc<Outcome>) -> Answer {
        Answer { nodes, outcome, template: None }
    }

    /// Returns the outcome on a node.
    pub fn on(&self, node: NodeId) -> Arc<Outcome> {
        match &self.template {
            Some(template) => Arc::new(Outcome::Found(template.on(node))),
            None => self.outcome.clone(),
        }
    }
}

/// The effective values of a fleet: for each key its distinct answers, in the order of their first nodes. The key is
/// not found on nodes that are in none of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effective {
    /// The answers by key.
    pub keys: BTreeMap<Arc<str>, Vec<Answer>>,
}

/// A finding with the nodes that it concerns.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The finding.
    pub diagnostic: Diagnostic,
    /// The nodes; empty for a finding about the repository itself.
    pub nodes: NodeSet,
}
