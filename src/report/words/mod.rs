//! The words of reports, which all writers share: counts, headlines, values, sets of nodes, secrets.

pub(super) mod by_node;
pub(super) mod description;
pub(super) mod detail;
pub(super) mod links;
pub(super) mod node_list;
pub(super) mod secrets;
pub(super) mod unread;
pub(super) mod value;
pub(super) mod visible;
pub(super) mod wording;
