//! Limits the work of tracing, so that a costly key does not hold up the report. Its causes are then unknown.

use std::cell::Cell;

use crate::hiera::budget::Cost;

/// The maximum work for all changes of a report together: a few seconds.
const TOTAL_WORK: Cost = Cost { steps: 200_000_000, text: 512 << 20 };

/// The maximum number of lookups for all changes of a report together: each may need a file to be assembled for it.
const MAX_LOOKUPS: usize = 100_000;

/// The work that the lookups of one change may still take. Each change has the same share, so that the result depends
/// neither on the order of the work nor on time.
pub(super) struct Allowance {
    work: Cell<Cost>,
    lookups: Cell<usize>,
}

impl Allowance {
    /// Returns the share of one of this many changes. `steps` is the setting for all keys of a run. If it is set,
    /// tracing takes at most twice as many steps, since it looks at both sides.
    pub(super) fn share(steps: Option<usize>, changes: usize) -> Allowance {
        let changes = changes.max(1);
        let total_steps = steps.map_or(TOTAL_WORK.steps, |steps| TOTAL_WORK.steps.min(steps.saturating_mul(2)));
        let work = Cost { steps: total_steps / changes, text: TOTAL_WORK.text / changes };
        Allowance { work: Cell::new(work), lookups: Cell::new(MAX_LOOKUPS / changes) }
    }

    /// Does a lookup within the work that is left and the limit of any lookup. Returns `None` if it exceeds the work
    /// that is left: its outcome then says nothing about the data.
    pub(super) fn look_up<T>(&self, lookup: impl FnOnce(Cost) -> (T, Cost)) -> Option<T> {
        self.lookups.set(self.lookups.get().checked_sub(1)?);
        let limit = self.work.get().at_most(Cost::OF_KEY);
        let (found, cost) = lookup(limit);
        self.work.set(self.work.get().minus(cost));
        (limit == Cost::OF_KEY || cost.is_within(limit)).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_work_nor_lookups_go_beyond_a_share() {
        let cost = |steps| Cost { steps, text: 0 };
        let costly = Allowance::share(None, 1000);
        let look_up =
            |allowance: &Allowance, steps: usize| allowance.look_up(|limit| ((), cost(steps.min(limit.steps + 1))));
        assert!(look_up(&costly, TOTAL_WORK.steps / 1000 - 1).is_some());
        assert!(look_up(&costly, 2).is_none());
        let limited = Allowance::share(Some(5000), 10);
        assert!(look_up(&limited, 1000).is_some() && look_up(&limited, 1).is_none());
        let many = Allowance::share(None, 1000);
        assert!((0..MAX_LOOKUPS / 1000).all(|_| look_up(&many, 0).is_some()));
        assert!(look_up(&many, 0).is_none());
    }
}
