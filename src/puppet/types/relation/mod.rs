//! How types stand to each other and to values: which is part of which, and which type a value has.

pub(super) mod assign;
pub(in crate::puppet) mod generalize;
pub(in crate::puppet) mod infer;
pub(in crate::puppet) mod init;
pub(super) mod instance;
mod iterate;
pub(super) mod normalize;
