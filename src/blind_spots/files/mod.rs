//! Blind spots of changed files: what decides values and is no data, and what is read otherwise than it stands there.

pub(crate) mod attributes;
pub(crate) mod changed;
pub(crate) mod misnamed;
pub(crate) mod programs;
pub(crate) mod read_otherwise;
