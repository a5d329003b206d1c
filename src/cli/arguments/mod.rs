//! The arguments that several commands share.

pub(super) mod as_of;
pub(super) mod deferred;
pub(super) mod filter;
pub(super) mod inspection;
pub(super) mod paths;
pub(super) mod what_if;
