//! Blind spots of keys: nodes may get other values than a lookup returns.

pub(crate) mod callers;
pub(crate) mod classified;
pub(crate) mod failing;
pub(crate) mod merges_in_manifests;
pub(crate) mod referred;
