//! Who is at a piece of work: when the settings are read again, there are two services for a while.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Mutex;

/// A piece of work that only one service may be at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Work {
    /// To fetch a mirror.
    Fetch(String),
    /// To look for the commits of a repository.
    Watch(String),
    /// To resolve them.
    Resolve(String),
    /// To give out what goes by this name: to a sink, or by schedule.
    Give(String),
}

/// The pieces of work of services that follow each other: the next one begins with each as soon as the former has ended it.
#[derive(Debug, Default)]
pub(super) struct Turns(HashMap<Work, Arc<Mutex<()>>>);

impl Turns {
    /// Who holds the lock is at the work; who waits for it gets it in the order of coming.
    pub(super) fn of(&mut self, work: Work) -> Arc<Mutex<()>> {
        self.0.retain(|_, turn| Arc::strong_count(turn) > 1);
        self.0.entry(work).or_default().clone()
    }
}
