//! The health of a service: which of its parts have not worked lately, and which branches cannot be read.
//!
//! It only knows what it is told. `http` shows it, and `metrics` counts the same things.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::event::RepositoryName;
use crate::git::BranchName;

/// The time that may pass since the last success of a watch or a mirror, in addition to its own periods.
const TOLERATED_DELAY: Duration = Duration::from_secs(30);

/// The health of a service.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// The looks of watches.
    watches: Successes,
    /// The fetches of mirrors.
    mirrors: Successes,
    blind: Mutex<BlindBranches>,
    /// The reasons why sources of nodes could not be asked the last time.
    sources: Mutex<BTreeMap<RepositoryName, String>>,
    /// The reason why the settings could not be read again the last time.
    reload: Mutex<Option<String>>,
    /// The number of queue steps that are being retried.
    stuck: Arc<AtomicUsize>,
}

/// The branches that cannot be read at all, with the reasons.
type BlindBranches = BTreeMap<(RepositoryName, BranchName), String>;

/// The last successes of a kind of work, by repository.
#[derive(Debug, Default)]
struct Successes(Mutex<BTreeMap<RepositoryName, Success>>);

/// The last success of one piece of work.
#[derive(Debug)]
struct Success {
    /// True once the work was tried, successfully or not, or if the daemon does not depend on that.
    is_tried: bool,
    last: Option<Instant>,
    /// The time after which the work counts as late.
    patience: Duration,
}

/// Marks a queue step as being retried, until it is dropped.
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

    /// Expects successes. What is known about the repository from before a reload is kept.
    fn expect(&self, repository: &RepositoryName, is_tried: bool, last: Option<Instant>, period: Duration) {
        let fresh = Success { is_tried, last, patience: Duration::ZERO };
        self.locked().entry(repository.clone()).or_insert(fresh).patience = TOLERATED_DELAY + 2 * period;
    }

    fn tried(&self, repository: &RepositoryName, is_good: bool) {
        if let Some(success) = self.locked().get_mut(repository) {
            success.is_tried = true;
            success.last = if is_good { Some(Instant::now()) } else { success.last };
        }
    }

    /// Returns the number of items that were never tried.
    fn untried(&self) -> usize {
        self.locked().values().filter(|success| !success.is_tried).count()
    }

    /// Returns the repositories whose last success is long ago.
    fn late(&self) -> Vec<RepositoryName> {
        let is_late = |success: &Success| success.last.is_none_or(|last| last.elapsed() > success.patience);
        self.locked().iter().filter(|(_, success)| is_late(success)).map(|(name, _)| name.clone()).collect()
    }
}

impl Health {
    /// Expects a watch to look once every `poll`. The watch of a mirror may have to wait for the first fetch, and a
    /// watch added by a reload does not delay running ones.
    pub(super) fn expect_watch(&self, repository: &RepositoryName, poll: Duration, is_mirror: bool) {
        let are_at_work = self.watches.locked().values().any(|success| success.last.is_some());
        self.watches.expect(repository, is_mirror || are_at_work, None, poll);
    }

    /// Expects a mirror to be fetched once every `period`, from now on.
    pub(super) fn expect_mirror(&self, repository: &RepositoryName, period: Duration) {
        self.mirrors.expect(repository, true, Some(Instant::now()), period);
    }

    /// Notes a look; `is_good` is false if it failed.
    pub(super) fn looked(&self, repository: &RepositoryName, is_good: bool) {
        self.watches.tried(repository, is_good);
    }

    /// Notes a fetch; `is_good` is false if it failed.
    pub(super) fn fetched(&self, repository: &RepositoryName, is_good: bool) {
        self.mirrors.tried(repository, is_good);
    }

    /// Forgets all other repositories and their branches.
    pub(super) fn retain(&self, is_kept: impl Fn(&RepositoryName) -> bool) {
        self.watches.locked().retain(|repository, _| is_kept(repository));
        self.mirrors.locked().retain(|repository, _| is_kept(repository));
        self.blind_branches().retain(|(repository, _), _| is_kept(repository));
        self.sources.lock().unwrap_or_else(PoisonError::into_inner).retain(|repository, _| is_kept(repository));
    }

    /// Marks a step in the queue as being retried, as long as the result is held.
    pub(super) fn stuck(&self) -> Stuck {
        self.stuck.fetch_add(1, Ordering::Relaxed);
        Stuck(self.stuck.clone())
    }

    /// Notes whether the data of a branch can be read; `blind` is the reason if not. Returns true if this is a change.
    pub(super) fn note_branch(&self, repository: &RepositoryName, branch: &BranchName, blind: Option<&str>) -> bool {
        let place = (repository.clone(), branch.clone());
        let mut branches = self.blind_branches();
        let was_blind = match blind {
            Some(why) => branches.insert(place, why.to_owned()).is_some(),
            None => branches.remove(&place).is_some(),
        };
        was_blind != blind.is_some()
    }

    /// Notes why a source of the nodes of a repository could not be asked; `None` if all could.
    pub(super) fn note_sources(&self, repository: &RepositoryName, trouble: Option<String>) {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        match trouble {
            Some(trouble) => _ = sources.insert(repository.clone(), trouble),
            None => _ = sources.remove(repository),
        }
    }

    /// Notes the result of a reload: the reason why the old settings stay, or `None`.
    pub(super) fn reloaded(&self, failure: Option<String>) {
        *self.reload.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    /// Returns the reason why the settings in effect are not the latest ones, if so.
    pub(super) fn old_settings(&self) -> Option<String> {
        let reload = self.reload.lock().unwrap_or_else(PoisonError::into_inner);
        reload.as_ref().map(|why| format!("the last reload has failed, so the old settings stay: {why}"))
    }

    /// Returns the repositories whose nodes are not the latest, with the reasons.
    pub(super) fn old_nodes(&self) -> Vec<String> {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.iter().map(|(repository, why)| format!("the nodes of {repository} are old: {why}")).collect()
    }

    /// Forgets the branches of a repository that no longer exist.
    pub(super) fn retain_branches(&self, repository: &RepositoryName, is_there: impl Fn(&BranchName) -> bool) {
        self.blind_branches().retain(|(known, branch), _| known != repository || is_there(branch));
    }

    /// Returns the number of branches of a repository that cannot be read.
    pub(super) fn blind_count(&self, repository: &RepositoryName) -> usize {
        self.blind_branches().keys().filter(|(known, _)| known == repository).count()
    }

    /// Returns the branches that cannot be read, with the reasons.
    pub(super) fn blind(&self) -> Vec<String> {
        let branches = self.blind_branches();
        branches.iter().map(|((repository, branch), why)| format!("{branch} of {repository}: {why}")).collect()
    }

    /// Returns the reasons why the daemon itself cannot work; none if it can.
    pub(super) fn trouble(&self) -> Vec<String> {
        let untried = Some(self.watches.untried()).filter(|untried| *untried > 0);
        let starting = untried.map(|untried| format!("{untried} watches have not looked yet"));
        let queue = (self.stuck.load(Ordering::Relaxed) > 0).then(|| "the queue cannot be used".to_owned());
        [starting, queue].into_iter().flatten().collect()
    }

    /// Returns the repositories that could not be watched or fetched lately, in words.
    pub(super) fn late(&self) -> Vec<String> {
        let watches = self.watches.late();
        let watches = watches.iter().map(|name| format!("{name} was not looked at without an error lately"));
        let mirrors = self.mirrors.late();
        let mirrors =
            mirrors.iter().map(|name| format!("the mirror of {name} was not fetched without an error lately"));
        watches.chain(mirrors).collect()
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
        health.expect_watch(&data, Duration::ZERO, false);
        assert_eq!(health.trouble(), ["1 watches have not looked yet"]);
        health.looked(&data, true);
        assert_eq!((health.trouble(), health.late()), (vec![], vec![]));
        set_patience(&health.watches, &data, Duration::ZERO);
        assert_eq!(health.late(), ["data was not looked at without an error lately"]);
        health.expect_watch(&data, Duration::ZERO, false);
        assert_eq!((health.trouble(), health.late()), (vec![], vec![]), "after a reload");
        let more = RepositoryName::from("more");
        health.expect_watch(&more, Duration::ZERO, false);
        assert_eq!(health.trouble(), [""; 0]);
        assert_eq!(health.late(), ["more was not looked at without an error lately"], "one more with a reload");
        health.retain(|repository| *repository == data);
        health.expect_mirror(&data, Duration::ZERO);
        assert_eq!(health.late(), [""; 0]);
        set_patience(&health.mirrors, &data, Duration::ZERO);
        assert_eq!(health.late(), ["the mirror of data was not fetched without an error lately"]);
        assert_eq!(health.trouble(), [""; 0]);
        health.retain(|_| false);
        assert_eq!(health.late(), [""; 0]);
        let stuck = [health.stuck(), health.stuck()];
        assert_eq!(health.trouble(), ["the queue cannot be used"]);
        drop(stuck);
        assert_eq!(health.trouble(), [""; 0]);
    }

    #[test]
    fn a_mirror_that_cannot_be_fetched_is_late_and_no_more() {
        let (health, data) = (Health::default(), RepositoryName::from("data"));
        health.expect_watch(&data, Duration::ZERO, true);
        health.expect_mirror(&data, Duration::ZERO);
        health.fetched(&data, false);
        assert_eq!(health.trouble(), [""; 0]);
        assert_eq!(health.late(), ["data was not looked at without an error lately"]);
    }

    #[test]
    fn sources_that_cannot_be_asked_are_told() {
        let (health, data) = (Health::default(), RepositoryName::from("data"));
        health.note_sources(&data, Some("no route".to_owned()));
        assert_eq!(
            (health.trouble(), health.old_nodes()),
            (vec![], vec!["the nodes of data are old: no route".to_owned()])
        );
        health.note_sources(&data, None);
        assert_eq!(health.old_nodes(), [""; 0]);
    }

    #[test]
    fn only_changes_of_a_branch_are_news() {
        let (health, data, main) = (Health::default(), RepositoryName::from("data"), BranchName::new("main"));
        assert!(!health.note_branch(&data, &main, None));
        assert!(health.note_branch(&data, &main, Some("no hiera.yaml")));
        assert!(!health.note_branch(&data, &main, Some("no data")));
        assert_eq!(health.blind(), ["main of data: no data"]);
        assert_eq!(health.blind_count(&data), 1);
        health.retain_branches(&data, |_| false);
        assert_eq!(health.blind_count(&data), 0);
    }
}
