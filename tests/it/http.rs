//! What the daemon answers over HTTP, and what it refuses.

pub(crate) mod client;
mod description;
mod limits;
mod refusals;
mod routes;
mod service;
mod stream;
mod webhooks;
