//! The answers of sources: the files that keep them, the sets that are used together, and their changes over time.

pub(super) mod answer_set;
pub(super) mod changes;
mod folder;
pub(super) mod grafted;
pub(super) mod store;
