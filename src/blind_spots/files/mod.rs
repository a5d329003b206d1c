//! Blind spots of changed files: files that decide values without being data, and data that is not read as stored.

pub(crate) mod attributes;
pub(crate) mod changed;
pub(crate) mod misnamed;
pub(crate) mod programs;
pub(crate) mod read_otherwise;
