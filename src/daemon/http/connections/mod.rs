//! The connections of the HTTP interface, which are bounded in number and in time.

pub(super) mod clients;
pub(super) mod connection;
pub(super) mod places;
