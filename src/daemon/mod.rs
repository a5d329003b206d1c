//! The daemon: it notices each new commit on the watched branches and makes sure that its report reaches every sink.
//!
//! - `watch` looks at the branches of one repository and hands each new commit to a handler, one after
//!   the other, each once. Its tracker owns the last seen commit of each branch.
//! - [`queue`] keeps commits, reports and deliveries in a database, so that a process that is killed loses nothing.
//! - [`service`] runs the watches, resolves the jobs of the queue and delivers their reports.
//! - [`http`] answers questions about reports, effective values and the state of the service.
//! - `mirror` fetches remote repositories.
//! - `handle` is shared by all parts of a service: `metrics` counts, `health` knows what is wrong, and `progress`
//!   whether work advances.
//!
//! The daemon resolves nothing itself and knows no settings: `app` gives it repositories, sinks and the functions
//! that make reports.
//!
//! There are two kinds of failure: a critical one ends the daemon. Any other is logged, more and more rarely while it
//! repeats, and the loop goes on.

mod backoff;
mod handle;
mod health;
pub mod http;
mod metrics;
mod mirror;
mod progress;
pub mod queue;
mod repeated;
pub mod service;
mod shutdown;
mod watch;

pub use mirror::MirrorFetcher;
pub use watch::{
    BranchCheckpoint, CATCH_UP, Handler, HandlerError, WatchError, WatchOptions, each, request_look, watch,
};
