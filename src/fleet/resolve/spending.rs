//! The cost of one key on all node classes, and when its lookups end.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use crate::fleet::run_budget;
use crate::hiera::budget::Cost;
use crate::hiera::{LookupError, Outcome};
use crate::workers::Workers;

/// The number of steps for a key after which to check again if the work should stop.
const STEPS_PER_STOP_CHECK: usize = 100_000;

/// The cost of a key so far. Beyond its limit, nothing is looked up.
pub(super) struct Spending<'w> {
    limit: Cost,
    workers: &'w Workers,
    spent: Cell<Cost>,
    /// The reason why the work was stopped.
    stop: OnceCell<Arc<str>>,
    /// The number of steps at which to check that again.
    due: Cell<usize>,
}

impl Spending<'_> {
    pub(super) fn new(limit: Cost, workers: &Workers) -> Spending<'_> {
        Spending { limit, workers, spent: Cell::new(Cost::NONE), stop: OnceCell::new(), due: Cell::new(0) }
    }

    pub(super) fn spent(&self) -> Cost {
        self.spent.get()
    }

    /// Calls `evaluate` with what is left for a lookup, and counts what it cost. The key is not found beyond the
    /// limit, and fails once the work is stopped.
    pub(super) fn look_up(&self, evaluate: impl FnOnce(Cost) -> (Outcome, Cost)) -> Outcome {
        let spent = self.spent.get();
        if self.stop.get().is_none() && spent.steps >= self.due.get() {
            self.due.set(spent.steps + STEPS_PER_STOP_CHECK);
            _ = self.workers.stop.reason().map(|reason| self.stop.set(reason));
        }
        if let Some(reason) = self.stop.get() {
            return Outcome::Failed(LookupError::unknown(reason));
        }
        if !spent.is_within(self.limit) {
            return Outcome::NotFound;
        }
        let (outcome, cost) = evaluate(self.limit.minus(spent).at_most(Cost::OF_KEY));
        self.spent.set(spent.plus(cost).plus(run_budget::OF_CLASS));
        outcome
    }
}
