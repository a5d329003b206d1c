//! The parts of a report as plain data: its two sides, blind spots, changed lines, names and sets of nodes.

pub(super) mod between;
pub(super) mod blind_spot;
pub(super) mod idle;
pub(super) mod line_reason;
pub(super) mod lines;
pub(super) mod node_names;
pub(super) mod node_sets;
