//! The answers of sources: the files that keep them, and which of them count.

pub(super) mod answer_set;
pub(super) mod grafted;
pub(super) mod store;
