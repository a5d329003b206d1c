//! What several tests use.

pub(crate) mod golden;
pub(crate) mod random;
pub(crate) mod values;
