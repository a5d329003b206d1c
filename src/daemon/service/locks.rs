//! Locks on pieces of work: while settings are reloaded, there are two services for a while.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::event::RepositoryName;

/// A piece of work that only one service may do at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Work {
    /// Fetch a mirror.
    Fetch(RepositoryName),
    /// Look for the commits of a repository.
    Watch(RepositoryName),
    /// Resolve the commits of a repository.
    Resolve(RepositoryName),
    /// Deliver to the sink of this name, from all repositories or one, or do the scheduled work of this name.
    Give(String, Option<RepositoryName>),
    /// Review requests.
    Review,
}

/// The locks of successive services: the next one begins each piece of work as soon as the former one has ended it.
#[derive(Debug, Default)]
pub(super) struct WorkLocks(HashMap<Work, Arc<Mutex<()>>>);

impl WorkLocks {
    /// Returns the lock of a piece of work. Services get it in the order in which they ask.
    pub(super) fn lock_for(&mut self, work: Work) -> Arc<Mutex<()>> {
        self.0.retain(|_, lock| Arc::strong_count(lock) > 1);
        self.0.entry(work).or_default().clone()
    }
}
