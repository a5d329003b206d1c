//! Blind spots of modules that are not in the repository, or have another version after the commit.

pub(crate) mod absent;
pub(crate) mod other_versions;
pub(crate) mod places;
