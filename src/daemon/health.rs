//! The health of a service: which of its parts have not worked lately, and which branches nothing can be read of.
//!
//! It only knows what it is told. `http` shows it, and `metrics` counts the same things.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::event::RepositoryName;
use crate::git::BranchName;

/// The time that may pass since the last success of a watch or a mirror, besides its own periods.
const LATELY: Duration = Duration::from_secs(30);

/// The health of a service.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// The looks of watches.
    watches: Successes,
    /// The fetches of mirrors.
    mirrors: Successes,
    blind: Mutex<BlindBranches>,
    /// The number of queue steps that are tried again.
    stuck: Arc<AtomicUsize>,
}

/// The reasons why nothing can be read of branches.
type BlindBranches = BTreeMap<(RepositoryName, BranchName), String>;

/// The last successes of a kind of work, by repository.
#[derive(Debug, Default)]
struct Successes(Mutex<BTreeMap<RepositoryName, Success>>);

/// The last success of one piece of work.
#[derive(Debug)]
struct Success {
    last: Option<Instant>,
    /// The time after which the work counts as late.
    patience: Duration,
}

/// Marks a queue step as tried again until it is dropped.
pub(super) struct Stuck(Arc<AtomicUsize>);

impl Drop for Stuck {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Successes {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<RepositoryName, Success>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expect(&self, repository: &RepositoryName, last: Option<Instant>, period: Duration) {
        self.locked().insert(repository.clone(), Success { last, patience: LATELY + 2 * period });
    }

    fn succeeded(&self, repository: &RepositoryName) {
        if let Some(success) = self.locked().get_mut(repository) {
            success.last = Some(Instant::now());
        }
    }

    /// Returns a text if some are late: how many, of how many, and `what`.
    fn trouble(&self, what: &str) -> Option<String> {
        let all = self.locked();
        let is_late = |success: &&Success| success.last.is_none_or(|last| last.elapsed() > success.patience);
        let late = all.values().filter(is_late).count();
        (late > 0).then(|| format!("{late} of {} {what} lately", all.len()))
    }
}

impl Health {
    /// Expects a watch to look once in each `poll`. Until its first look it is late.
    pub(super) fn expect_watch(&self, repository: &RepositoryName, poll: Duration) {
        self.watches.expect(repository, None, poll);
    }

    /// Expects a mirror to be fetched once in each `period`. Until its first fetch there is no watch of it, so it
    /// counts as up to date.
    pub(super) fn expect_mirror(&self, repository: &RepositoryName, period: Duration) {
        self.mirrors.expect(repository, Some(Instant::now()), period);
    }

    /// Notes a look without an error.
    pub(super) fn looked(&self, repository: &RepositoryName) {
        self.watches.succeeded(repository);
    }

    /// Notes a fetch without an error.
    pub(super) fn fetched(&self, repository: &RepositoryName) {
        self.mirrors.succeeded(repository);
    }

    /// Marks a step in the queue as tried again, as long as the result is held.
    pub(super) fn stuck(&self) -> Stuck {
        self.stuck.fetch_add(1, Ordering::Relaxed);
        Stuck(self.stuck.clone())
    }

    /// Notes whether the data of a branch can be read; `blind` is the reason if not. Returns true if this is a change.
    pub(super) fn see(&self, repository: &RepositoryName, branch: &BranchName, blind: Option<&str>) -> bool {
        let place = (repository.clone(), branch.clone());
        let mut branches = self.blind_branches();
        let was_blind = match blind {
            Some(why) => branches.insert(place, why.to_owned()).is_some(),
            None => branches.remove(&place).is_some(),
        };
        was_blind != blind.is_some()
    }

    /// Forgets the branches of a repository that are not there any more.
    pub(super) fn retain_branches(&self, repository: &RepositoryName, is_there: impl Fn(&BranchName) -> bool) {
        self.blind_branches().retain(|(of, branch), _| of != repository || is_there(branch));
    }

    /// Returns the number of branches of a repository that cannot be read.
    pub(super) fn blind_count(&self, repository: &RepositoryName) -> usize {
        self.blind_branches().keys().filter(|(of, _)| of == repository).count()
    }

    /// Returns the branches that cannot be read, with the reasons.
    pub(super) fn blind(&self) -> Vec<String> {
        let branches = self.blind_branches();
        branches.iter().map(|((repository, branch), why)| format!("{branch} of {repository}: {why}")).collect()
    }

    /// Returns the parts of the service that do not work; none if all is well.
    pub(super) fn trouble(&self) -> Vec<String> {
        let watches = self.watches.trouble("watches have not looked without an error");
        let mirrors = self.mirrors.trouble("mirrors were not fetched without an error");
        let queue = (self.stuck.load(Ordering::Relaxed) > 0).then(|| "the queue cannot be used".to_owned());
        [watches, mirrors, queue].into_iter().flatten().collect()
    }

    fn blind_branches(&self) -> MutexGuard<'_, BlindBranches> {
        self.blind.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_patience(successes: &Successes, repository: &RepositoryName, patience: Duration) {
        successes.locked().get_mut(repository).unwrap().patience = patience;
    }

    #[test]
    fn it_is_well_while_watches_look_and_the_queue_takes_commits() {
        let (health, data) = (Health::default(), RepositoryName::from("data"));
        assert_eq!(health.trouble(), [""; 0]);
        health.expect_watch(&data, Duration::ZERO);
        assert_eq!(health.trouble(), ["1 of 1 watches have not looked without an error lately"]);
        health.looked(&data);
        assert_eq!(health.trouble(), [""; 0]);
        set_patience(&health.watches, &data, Duration::ZERO);
        assert_eq!(health.trouble().len(), 1);
        set_patience(&health.watches, &data, LATELY);
        health.expect_mirror(&data, Duration::ZERO);
        assert_eq!(health.trouble(), [""; 0]);
        set_patience(&health.mirrors, &data, Duration::ZERO);
        assert_eq!(health.trouble(), ["1 of 1 mirrors were not fetched without an error lately"]);
        set_patience(&health.mirrors, &data, LATELY);
        let stuck = [health.stuck(), health.stuck()];
        assert_eq!(health.trouble(), ["the queue cannot be used"]);
        drop(stuck);
        assert_eq!(health.trouble(), [""; 0]);
    }

    #[test]
    fn only_changes_of_a_branch_are_news() {
        let (health, data, main) = (Health::default(), RepositoryName::from("data"), BranchName::new("main"));
        assert!(!health.see(&data, &main, None));
        assert!(health.see(&data, &main, Some("no hiera.yaml")));
        assert!(!health.see(&data, &main, Some("no data")));
        assert_eq!(health.blind(), ["main of data: no data"]);
        assert_eq!(health.blind_count(&data), 1);
        health.retain_branches(&data, |_| false);
        assert_eq!(health.blind_count(&data), 0);
    }
}
