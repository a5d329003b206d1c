//! Nodes: what a lookup needs to know of a machine, the files that it comes in, and sets of nodes.

mod packed;
mod profile;
mod set;
mod source;
mod wanted;

pub use packed::{pack, unpack};
pub(crate) use profile::trusted_names;
pub use profile::{NodeProfile, ProfileError, ProfileReader, is_lines, read_facts, read_profiles};
pub(crate) use set::{Kinds, Partition};
pub use set::{NodeId, NodeSet};
pub use source::{Batch, ProfileSource};
pub use wanted::Wanted;
