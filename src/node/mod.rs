//! Nodes: what a lookup needs to know of a machine, and the files it comes in.

mod profile;
mod set;

pub(crate) use profile::trusted_names;
pub use profile::{NodeProfile, ProfileError, read_facts, read_profiles};
pub use set::{NodeId, NodeSet};
