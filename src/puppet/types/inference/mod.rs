//! The types of values, and the shortest forms of types.

pub(in crate::puppet) mod generalize;
pub(in crate::puppet) mod infer;
pub(super) mod normalize;
pub(super) mod size;
