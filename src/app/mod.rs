//! The composition of a running program: it puts repositories, settings, pipelines, sinks and the HTTP server
//! together.
//!
//! - [`Workspace`] is a repository with its effective settings and caches; every command begins with one.
//! - [`BranchPipelines`] keeps the pipeline of each branch, and replaces it when profiles or files outside of the
//!   repository change.
//! - [`Plan`] is a daemon with a durable queue, and reloads it; [`run_unqueued`] is one without.
//! - [`trust`] records which settings files of the tree the user trusts.
//! - [`review`] finds the commits of a request in the checkout of a CI job.
//! - `requests` has the daemon review requests, each in a process of its own.
//! - `answers`, `server` and `snapshots` give the daemon its effective values, its HTTP server and its snapshot
//!   sinks.
//!
//! It knows neither arguments nor the terminal: `cli` passes [`Overrides`] and [`DaemonOptions`], and prints. The
//! mechanics of watching, queueing and serving are those of `daemon`.

mod answers;
mod deployed;
mod fingerprints;
mod global_layer;
mod guard;
mod inside;
mod jobs;
mod judge;
pub mod lookup;
mod node_pair;
mod open_repository;
mod options;
mod outside;
mod overrides;
mod pipelines;
mod programs;
mod readings;
mod recent;
mod refresh;
mod repository;
mod requests;
pub mod review;
mod sample_profile;
mod server;
mod service;
mod settings_files;
mod signals;
mod snapshots;
mod systemd;
mod tree_profiles;
mod tree_programs;
pub mod trust;
mod unqueued;
mod workspace;

pub use inside::absolute;
pub use judge::today;
pub use node_pair::NodePair;
pub use options::{Announce, DaemonOptions, Program};
pub use overrides::Overrides;
pub use pipelines::BranchPipelines;
pub use service::{Plan, state_folder};
pub use unqueued::run_unqueued;
pub use workspace::Workspace;

/// The result of a step of the composition.
pub type Result<T> = std::result::Result<T, Failure>;

/// The reason why a step failed: one sentence for a person.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
