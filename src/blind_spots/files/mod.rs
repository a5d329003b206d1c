//! Blind spots of changed files: what decides values without being data, and what is not read as it is stored.

pub(crate) mod attributes;
pub(crate) mod changed;
pub(crate) mod misnamed;
pub(crate) mod programs;
pub(crate) mod read_otherwise;
