//! Every key on every node of one revision.
//!
//! A key is evaluated on one node, and what the evaluation read is recorded: variables, where data sources have the key and those
//! that it refers to, options. All nodes on which these are equal are one class with one answer; of the others one is evaluated
//! next. The same goes for what the evaluation stands on: the files that a level leads to, the merged options. Answers are kept as
//! `key -> [(NodeSet, outcome)]`, never as a table of nodes and keys; for many keys at once these are sets of kinds of nodes, so that
//! nodes which nothing tells apart cost little more than one of them.
//!
//! `nodes` is the fleet, and what of its variables anybody looked at; `revision` what the repository says to all of its nodes, made from
//! nothing or of the revision before; `resolve` works out keys, class by class; `affected` tells what of them another revision can
//! reach.

mod affected;
mod nodes;
pub(crate) mod parallel;
mod resolve;
mod revision;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::hiera::Outcome;
use crate::node::NodeSet;

pub use affected::{AffectedKeys, affected_keys};
pub use nodes::Fleet;
pub use nodes::mentioned::ReferencedVariables;
pub use nodes::variables::FleetScope;
pub use resolve::{NodesByKey, resolve, resolve_all};
pub use revision::Revision;

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
