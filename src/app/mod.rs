//! The composition of a running program: it puts repositories, settings, pipelines, sinks and the HTTP server
//! together.
//!
//! - [`settings`] checks the settings and builds what they ask for.
//! - [`workspace`]: a [`Workspace`] is a repository with its effective settings and caches; every command begins with
//!   one. It decides which settings of the tree apply, and which of its programs run.
//! - [`BranchPipelines`] keeps the pipeline of each branch, and replaces it when profiles or files outside of the
//!   repository change.
//! - `daemon`: [`Plan`] describes a daemon with a durable queue, runs it and reloads it; [`run_unqueued`] runs one
//!   without. Its effective values, HTTP server, reviews and snapshots are also put together here.
//! - [`review`] finds the commits of a request in the checkout of a CI job or in a repository of the daemon.
//! - [`lookup`] shows looked-up values, for `hierad lookup` and HTTP.
//!
//! It knows neither arguments nor the terminal: `cli` passes [`Overrides`] and [`DaemonOptions`], and prints. The
//! mechanics of watching, queueing and serving are in `crate::daemon`.

mod daemon;
mod guard;
pub mod lookup;
mod overrides;
mod pipelines;
mod recent;
pub mod review;
pub mod settings;
pub mod workspace;

pub use daemon::options::{Announce, DaemonOptions, Program};
pub use daemon::server::alone::serve;
pub use daemon::service::{Plan, state_folder};
pub use daemon::unqueued::{check_unqueued, run_unqueued};
pub use overrides::Overrides;
pub use pipelines::BranchPipelines;
pub use workspace::Workspace;
pub use workspace::inside::absolute;
pub use workspace::judge::today;
pub use workspace::node_pair::NodePair;

/// The result of a step of the composition.
pub type Result<T> = std::result::Result<T, Failure>;

/// The reason why a step failed: one sentence for a person.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
