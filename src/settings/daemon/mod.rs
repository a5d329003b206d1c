//! The sections of the settings that only the daemon has.

pub(super) mod http;
pub(super) mod repository;
pub(super) mod review;
pub(super) mod sink;
pub(super) mod snapshots;
