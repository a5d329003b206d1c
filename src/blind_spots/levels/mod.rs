//! Blind spots of levels: where their files lie, and the variables and keys that they need.

pub(crate) mod absent_backends;
pub(crate) mod keys_not_allowed;
pub(crate) mod outside;
pub(crate) mod untracked;
pub(crate) mod variables;
