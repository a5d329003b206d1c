//! The handle that all parts of a service share: its metrics, its health, the steps that are under way, and the bells
//! by which parts wake each other. The successive services of a process share it.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch as flag;

use super::health::Health;
use super::metrics::{Metrics, Subjects};
use super::progress::Progress;
use crate::event::RepositoryName;
use crate::git::BranchName;

/// Shared by all parts of all services of a process.
#[derive(Debug)]
pub(super) struct ServiceHandle {
    /// The counts.
    pub(super) metrics: Metrics,
    /// The parts that do not work.
    pub(super) health: Health,
    /// The steps that are under way.
    pub(super) progress: Progress,
    /// Makes all watches look now.
    pub(super) look: Bell,
    /// Rings when a report is ready.
    pub(super) resolved: Bell,
    /// Rings when a review is requested.
    pub(super) review_asked: Bell,
}

impl ServiceHandle {
    /// Makes the handle of a process that has done nothing yet.
    pub(super) fn new() -> ServiceHandle {
        let (metrics, health, progress) = (Metrics::new(), Health::default(), Progress::default());
        let [look, resolved, review_asked] = std::array::from_fn(|_| Bell::new());
        ServiceHandle { metrics, health, progress, look, resolved, review_asked }
    }

    /// Forgets all names except those in the current settings.
    pub(super) fn retain(&self, kept: &Subjects) {
        self.metrics.retain(kept);
        self.health.retain(|repository| kept.repositories.contains(repository));
    }

    /// Adds a watch that looks at least once every `poll`.
    pub(super) fn add_watch(&self, repository: &RepositoryName, poll: Duration, is_mirror: bool) {
        self.metrics.add_watch(repository);
        self.health.expect_watch(repository, poll, is_mirror);
    }

    /// Adds a mirror that is fetched at least once every `period`.
    pub(super) fn add_mirror(&self, repository: &RepositoryName, period: Duration) {
        self.metrics.add_mirror(repository);
        self.health.expect_mirror(repository, period);
    }

    /// Notes a look; `is_good` is false if it failed.
    pub(super) fn looked(&self, repository: &RepositoryName, is_good: bool) {
        self.metrics.looked(repository, is_good);
        self.health.looked(repository, is_good);
    }

    /// Notes a fetch of a mirror; `is_good` is false if it failed.
    pub(super) fn fetched(&self, repository: &RepositoryName, is_good: bool) {
        self.metrics.fetched(repository, is_good);
        self.health.fetched(repository, is_good);
    }

    /// Notes whether the data of a branch can be read; `blind` is the reason if not. Returns true if this is a change.
    pub(super) fn saw_branch(&self, repository: &RepositoryName, branch: &BranchName, blind: Option<&str>) -> bool {
        let is_news = self.health.note_branch(repository, branch, blind);
        self.metrics.set_blind(repository, self.health.blind_count(repository));
        if !is_news {
            return false;
        }
        if let Some(why) = blind {
            tracing::warn!(repository = repository.as_str(), %branch, "nothing of the branch can be read: {why}");
        } else {
            tracing::info!(repository = repository.as_str(), %branch, "the branch can be read again");
        }
        true
    }

    /// Notes when the sources of a repository's nodes were asked, and the reason if one of them has failed since.
    pub(super) fn saw_sources(&self, repository: &RepositoryName, fetched: u64, trouble: Option<String>) {
        self.metrics.set_nodes_fetched(repository, fetched);
        self.health.note_sources(repository, trouble);
    }

    /// Forgets the branches of a repository that no longer exist.
    pub(super) fn retain_branches(&self, repository: &RepositoryName, is_there: impl Fn(&BranchName) -> bool) {
        self.health.retain_branches(repository, is_there);
        self.metrics.set_blind(repository, self.health.blind_count(repository));
    }
}

/// Wakes all listeners. A listener that is busy meanwhile hears it afterwards, once.
pub(super) struct Bell(flag::Sender<()>);

impl Bell {
    fn new() -> Bell {
        Bell(flag::Sender::new(()))
    }

    /// Rings the bell.
    pub(super) fn ring(&self) {
        self.0.send_replace(());
    }

    /// Returns a listener: `changed` resolves after each ring from now on.
    pub(super) fn listen(&self) -> flag::Receiver<()> {
        self.0.subscribe()
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bell")
    }
}
