//! Puts the daemon together: its repositories, jobs, HTTP server and snapshots.

mod answers;
mod history;
mod jobs;
mod open_repository;
pub(super) mod options;
mod refresh;
mod repository;
mod requests;
pub(super) mod server;
pub(super) mod service;
mod signals;
mod snapshots;
mod systemd;
pub(super) mod unqueued;
