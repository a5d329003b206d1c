//! Decides which commit of a repository is resolved next, and where. Branches take turns, the default branch first, and
//! the commits of each branch come in their order.
//!
//! There are two places. Most commits are resolved in this process, one at a time. At the same time, one more may be
//! resolved in a separate process: one that has failed before, or one of another branch while the one in this process
//! takes long. A commit that takes long there yields to one of another branch, and gets twice as long when it is
//! begun again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::daemon::queue::Waiting;
use crate::event::JobNumber;
use crate::git::BranchName;

/// The time after which commits of other branches no longer wait for a commit to end.
const TURN_LIMIT: Duration = Duration::from_secs(10);

/// The time after which the default branch no longer waits, since everybody works with it.
const DEFAULT_TURN_LIMIT: Duration = Duration::from_secs(1);

/// The maximum number of branches whose last turns are remembered.
const MAX_REMEMBERED: usize = 10_000;

/// A place in which commits are resolved, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// This process.
    Here,
    /// A separate process.
    Apart,
}

/// The turns of the branches of a repository. Cheap to clone; all clones share them.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    state: Arc<Mutex<State>>,
    /// Notified when there may be something to do in this process.
    here: Arc<Notify>,
    /// Notified when there may be something to do apart.
    apart: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    /// True if there can be a separate process.
    has_apart: bool,
    /// True if nothing can be resolved in this process any more.
    is_here_lost: bool,
    default: Option<BranchName>,
    /// The last turn of each branch.
    last: BTreeMap<BranchName, u64>,
    turns: u64,
    under_way: BTreeMap<BranchName, (Place, Instant)>,
    /// Jobs that are not to be resolved in this process.
    delicate: BTreeSet<JobNumber>,
    /// The number of times that jobs have yielded.
    made_way: BTreeMap<JobNumber, u32>,
    /// True if a job is known to wait for a separate process.
    is_apart_wanted: bool,
}

impl State {
    /// Returns true if a job may only run in a separate process.
    fn is_for_apart(&self, waiting: &Waiting) -> bool {
        self.has_apart && (self.is_here_lost || waiting.attempts > 0 || self.delicate.contains(&waiting.number))
    }

    /// Returns the longest time that a branch waits for another branch's commit to end.
    fn patience(&self, branch: &BranchName) -> Duration {
        if self.is_default(branch) { DEFAULT_TURN_LIMIT } else { TURN_LIMIT }
    }

    /// Returns true if the commit in this process has taken this long.
    fn is_here_late(&self, time: Duration) -> bool {
        let is_late = |(place, since): &(Place, Instant)| *place == Place::Here && since.elapsed() >= time;
        self.has_apart && self.under_way.values().any(is_late)
    }

    /// Returns true if a job could begin in a place if that were free.
    fn can_begin(&self, waiting: &Waiting, place: Place) -> bool {
        let is_free = waiting.wait.is_zero() && !self.under_way.contains_key(&waiting.branch);
        is_free
            && match place {
                Place::Here => !self.is_for_apart(waiting),
                Place::Apart => self.is_for_apart(waiting) || self.is_here_late(self.patience(&waiting.branch)),
            }
    }

    fn is_default(&self, branch: &BranchName) -> bool {
        self.default.as_ref() == Some(branch)
    }

    /// Returns the job whose turn is next in a place.
    fn next<'w>(&self, waiting: &'w [Waiting], place: Place) -> Option<&'w Waiting> {
        let last = |branch: &BranchName| self.last.get(branch).copied().unwrap_or(0);
        let order = |job: &&Waiting| (!self.is_default(&job.branch), last(&job.branch), job.number);
        waiting.iter().filter(|job| self.can_begin(job, place)).min_by_key(order)
    }
}

/// A job that is under way until this is dropped.
pub(super) struct Turn {
    pub(super) number: JobNumber,
    branch: BranchName,
    place: Place,
    since: Instant,
    turns: Turns,
}

impl Turns {
    /// Makes the turns of a repository. `here` is notified when there may be something to do in this process.
    pub(super) fn new(here: Arc<Notify>, has_apart: bool) -> Turns {
        Turns { state: Arc::new(Mutex::new(State { has_apart, ..State::default() })), here, apart: Arc::default() }
    }

    /// Notes the default branch, and whether this process can resolve anything.
    pub(super) fn note(&self, default: Option<BranchName>, is_here_lost: bool) {
        let mut state = self.state();
        (state.default, state.is_here_lost) = (default, is_here_lost);
    }

    /// Begins the job whose turn it is in a place. `waiting` has the first jobs of all branches.
    pub(super) fn begin(&self, waiting: &[Waiting], place: Place) -> Option<Turn> {
        let mut state = self.state();
        state.is_apart_wanted = waiting.iter().any(|job| state.is_for_apart(job));
        if state.is_apart_wanted && place == Place::Here {
            self.apart.notify_one();
        }
        let Waiting { number, branch, .. } = state.next(waiting, place)?.clone();
        state.turns += 1;
        if state.last.len() >= MAX_REMEMBERED {
            state.last.clear();
        }
        let (turn, since) = (state.turns, Instant::now());
        state.last.insert(branch.clone(), turn);
        state.under_way.insert(branch.clone(), (place, since));
        Some(Turn { number, branch, place, since, turns: self.clone() })
    }

    /// Returns true if nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.state().under_way.is_empty()
    }

    /// Returns true if there may be work for a separate process.
    pub(super) fn wants_apart(&self) -> bool {
        let state = self.state();
        state.has_apart && (state.is_apart_wanted || state.is_here_late(DEFAULT_TURN_LIMIT))
    }

    /// Returns the notification for work that may be done in a separate process.
    pub(super) fn apart(&self) -> &Notify {
        &self.apart
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Leaves the job to a separate process.
    pub(super) fn leave_to_apart(self) {
        self.turns.state().delicate.insert(self.number);
    }

    /// Returns true if the job in a separate process has to yield to one of the waiting jobs.
    pub(super) fn makes_way(&self, waiting: &[Waiting]) -> bool {
        let (state, took) = (self.turns.state(), self.since.elapsed());
        if state.is_default(&self.branch) {
            return false;
        }
        let times = state.made_way.get(&self.number).copied().unwrap_or(0);
        let own_time = TURN_LIMIT.saturating_mul(1_u32.checked_shl(times).unwrap_or(u32::MAX));
        let is_held_up = |job: &Waiting| {
            let time = if state.is_default(&job.branch) { DEFAULT_TURN_LIMIT } else { own_time };
            state.can_begin(job, Place::Apart) && took >= time
        };
        waiting.iter().any(is_held_up)
    }

    /// Ends the turn of a job that yields.
    pub(super) fn make_way(self) {
        *self.turns.state().made_way.entry(self.number).or_default() += 1;
    }

    /// Ends the turn of a job that is done, or is tried again later.
    pub(super) fn end(self) {
        let mut state = self.turns.state();
        state.made_way.remove(&self.number);
        state.delicate.remove(&self.number);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.state().under_way.remove(&self.branch);
        // The next commit of the branch may be for the other place.
        match self.place {
            Place::Here => self.turns.apart.notify_one(),
            Place::Apart => self.turns.here.notify_one(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn turns() -> Turns {
        let turns = Turns::new(Arc::default(), true);
        turns.note(Some(BranchName::new("main")), false);
        turns
    }

    fn waiting(jobs: &[(i64, &str)]) -> Vec<Waiting> {
        let job = |(number, branch): &(i64, &str)| Waiting {
            number: JobNumber(*number),
            branch: BranchName::new(*branch),
            attempts: 0,
            wait: Duration::ZERO,
        };
        jobs.iter().map(job).collect()
    }

    /// The numbers of the jobs that begin here, each of which ends at once.
    fn order(turns: &Turns, mut jobs: Vec<(i64, &str)>) -> Vec<i64> {
        let mut order = Vec::new();
        while let Some(turn) = {
            let mut first: Vec<(i64, &str)> = Vec::new();
            for job in &jobs {
                if first.iter().all(|(_, branch)| *branch != job.1) {
                    first.push(*job);
                }
            }
            turns.begin(&waiting(&first), Place::Here)
        } {
            order.push(turn.number.0);
            jobs.retain(|(number, _)| *number != turn.number.0);
            turn.end();
        }
        order
    }

    #[tokio::test]
    async fn branches_take_turns_and_the_default_branch_is_first() {
        let jobs = vec![(1, "a"), (2, "a"), (3, "a"), (4, "b"), (5, "main"), (6, "main"), (7, "b")];
        assert_eq!(order(&turns(), jobs), [5, 6, 1, 4, 2, 7, 3]);
    }

    #[tokio::test]
    async fn a_branch_has_one_job_at_a_time_and_one_that_is_not_due_holds_up_no_other() {
        let turns = turns();
        let mut jobs = waiting(&[(1, "a"), (2, "b")]);
        jobs[0].wait = Duration::from_secs(5);
        let second = turns.begin(&jobs, Place::Here).unwrap();
        assert_eq!(second.number, JobNumber(2));
        jobs[0].wait = Duration::ZERO;
        jobs[1].number = JobNumber(3);
        let first = turns.begin(&jobs, Place::Here).unwrap();
        assert_eq!(first.number, JobNumber(1));
        assert!(turns.begin(&jobs, Place::Here).is_none());
        second.end();
        assert_eq!(turns.begin(&jobs, Place::Here).unwrap().number, JobNumber(3));
    }

    #[tokio::test(start_paused = true)]
    async fn others_wait_for_no_job_that_takes_long() {
        let turns = turns();
        let jobs = waiting(&[(1, "a"), (2, "b"), (3, "c")]);
        let _here = turns.begin(&jobs, Place::Here).unwrap();
        assert!(!turns.wants_apart() && turns.begin(&jobs, Place::Apart).is_none());
        advance(TURN_LIMIT).await;
        assert!(turns.wants_apart());
        let apart = turns.begin(&jobs, Place::Apart).unwrap();
        assert_eq!(apart.number, JobNumber(2));
        // It takes long as well.
        assert!(!apart.makes_way(&jobs));
        advance(TURN_LIMIT).await;
        assert!(apart.makes_way(&jobs));
        apart.make_way();
        let other = turns.begin(&jobs, Place::Apart).unwrap();
        assert_eq!(other.number, JobNumber(3));
        other.end();
        let jobs = waiting(&[(1, "a"), (2, "b"), (4, "c")]);
        let apart = turns.begin(&jobs, Place::Apart).unwrap();
        assert_eq!(apart.number, JobNumber(2));
        advance(TURN_LIMIT).await;
        assert!(!apart.makes_way(&jobs), "it has twice as long");
        // But the default branch does not wait for that.
        let jobs = waiting(&[(1, "a"), (2, "b"), (5, "main")]);
        assert!(apart.makes_way(&jobs));
        apart.make_way();
        let main = turns.begin(&jobs, Place::Apart).unwrap();
        assert_eq!(main.number, JobNumber(5));
        advance(TURN_LIMIT * 9).await;
        assert!(!main.makes_way(&jobs));
    }

    #[tokio::test(start_paused = true)]
    async fn the_default_branch_waits_for_nobody() {
        let turns = turns();
        let jobs = waiting(&[(1, "a"), (2, "b"), (3, "main")]);
        let _here = turns.begin(&jobs[..2], Place::Here).unwrap();
        advance(DEFAULT_TURN_LIMIT).await;
        assert!(turns.wants_apart());
        assert!(turns.begin(&jobs[..2], Place::Apart).is_none(), "others wait");
        let main = turns.begin(&jobs, Place::Apart).unwrap();
        assert_eq!(main.number, JobNumber(3));
        main.end();
        advance(TURN_LIMIT).await;
        let apart = turns.begin(&jobs[..2], Place::Apart).unwrap();
        advance(DEFAULT_TURN_LIMIT).await;
        assert!(!apart.makes_way(&jobs[..2]));
        assert!(apart.makes_way(&jobs));
    }

    #[tokio::test]
    async fn what_has_failed_holds_up_nothing_here() {
        let turns = turns();
        let mut jobs = waiting(&[(1, "main"), (2, "b"), (3, "c")]);
        jobs[0].attempts = 1;
        let delicate = turns.begin(&jobs, Place::Here).unwrap();
        assert_eq!(delicate.number, JobNumber(2));
        delicate.leave_to_apart();
        let here = turns.begin(&jobs, Place::Here).unwrap();
        assert_eq!(here.number, JobNumber(3));
        assert!(turns.wants_apart());
        let apart = turns.begin(&jobs, Place::Apart).unwrap();
        assert_eq!(apart.number, JobNumber(1));
        apart.end();
        assert_eq!(turns.begin(&jobs[1..], Place::Apart).unwrap().number, JobNumber(2));
        turns.note(None, true);
        here.end();
        assert!(turns.begin(&jobs, Place::Here).is_none(), "nothing can be resolved here any more");
    }
}
