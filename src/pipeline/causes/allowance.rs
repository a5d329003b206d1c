//! The work that tracing may take: a costly key must not hold up the report, and its causes are not known then.

use std::cell::Cell;

use crate::hiera::budget::Cost;

/// The most work for all changes of a report together: some seconds.
const ALL: Cost = Cost { steps: 200_000_000, text: 512 << 20 };

/// The work that the lookups of one change may still take. Each change has the same share, so that the result depends
/// neither on the order of the work nor on time.
pub(super) struct Allowance(Cell<Cost>);

impl Allowance {
    /// Returns the share of one of so many changes.
    pub(super) fn share(changes: usize) -> Allowance {
        let changes = changes.max(1);
        Allowance(Cell::new(Cost { steps: ALL.steps / changes, text: ALL.text / changes }))
    }

    /// Does a lookup that may take what is left, and no more than any lookup. Returns `None` if it takes more than is
    /// left: its outcome tells nothing of the data.
    pub(super) fn look_up<T>(&self, lookup: impl FnOnce(Cost) -> (T, Cost)) -> Option<T> {
        let limit = self.0.get().at_most(Cost::OF_KEY);
        let (found, cost) = lookup(limit);
        self.0.set(self.0.get().minus(cost));
        (limit == Cost::OF_KEY || cost.is_within(limit)).then_some(found)
    }
}
