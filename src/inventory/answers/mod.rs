//! The answers of sources: the files that keep them, and the sets that are used together.

pub(super) mod answer_set;
pub(super) mod grafted;
pub(super) mod store;
