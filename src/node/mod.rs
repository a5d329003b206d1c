//! Nodes: what a lookup needs to know of a machine, the files that it comes in, and sets of nodes.

mod fields;
mod packed;
mod profile;
mod rows;
mod set;
mod source;
mod wanted;

pub use packed::{pack, unpack};
pub(crate) use profile::trusted_names;
pub use profile::{Form, NodeProfile, ProfileError, ProfileReader, Read, read_facts, read_profiles};
pub use rows::begins_with_row;
pub(crate) use set::{NodeClasses, Partition};
pub use set::{NodeId, NodeSet};
pub use source::{Batch, ProfilePlace, ProfileSource};
pub use wanted::Wanted;
