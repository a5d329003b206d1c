//! The daemon's HTTP interface: its answers and refusals.

pub(crate) mod client;
mod description;
mod limits;
mod policies;
mod refusals;
mod routes;
mod service;
mod stream;
mod webhooks;
