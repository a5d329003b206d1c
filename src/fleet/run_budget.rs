//! The budget of a run: the maximum cost of all its keys together, on all nodes.
//!
//! The budget also limits the number of root keys in the data files ([`keys_of_run`]).
//!
//! All keys are evaluated, and their costs are added up. If they exceed the budget, all results are discarded, and
//! each key gets an equal share of a second budget of the same size. What finished keys leave over is shared among
//! the others, as long as that helps. So cheap keys get their answers, whatever else is in the repository. The result
//! depends on costs alone, neither on the number of threads nor on time.
//!
//! Only a run that is stopped from outside, for time or memory, depends on when that happens.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fleet::parallel;
use crate::hiera::budget::Cost;
use crate::workers::Workers;

/// The steps of a run.
const BASE_STEPS: usize = 100_000_000;

/// The steps of a run for each node, on top of that.
const STEPS_PER_NODE: usize = 200_000;

/// The text that a run may make, in bytes.
const BASE_TEXT: usize = 256 << 20;

/// The text for each node, on top of that.
const TEXT_PER_NODE: usize = 256 << 10;

/// The minimum cost of the answer for a key on a node class.
pub(in crate::fleet) const OF_CLASS: Cost = Cost { steps: 100, text: 0 };

/// Returns the budget of a run on this many nodes.
pub(in crate::fleet) fn of_run(nodes: usize, workers: &Workers) -> Cost {
    let scaled = |base: usize, more: usize| base.saturating_add(nodes.saturating_mul(more));
    let text = scaled(BASE_TEXT, TEXT_PER_NODE).min(workers.limits.text_ceiling.unwrap_or(usize::MAX));
    Cost { steps: workers.limits.steps.unwrap_or_else(|| scaled(BASE_STEPS, STEPS_PER_NODE)), text }
}

/// Returns the maximum number of root keys that the data files of a revision may have together.
pub(in crate::fleet) fn keys_of_run(nodes: usize, workers: &Workers) -> usize {
    of_run(nodes, workers).steps / OF_CLASS.steps
}

/// Returns the reason why no share of `budget` is enough for this many answers, or `None` if it may be.
pub(in crate::fleet) fn too_many(answers: usize, budget: Cost) -> Option<String> {
    let least = answers.saturating_mul(OF_CLASS.steps);
    (least > budget.steps).then(|| {
        format!(
            "too many keys: {answers} answers take {least} steps at least, and a run {} at most \
             ('steps' under 'limits' in hierad.yaml)",
            budget.steps
        )
    })
}

/// Evaluates each of `tasks` within `budget`. `evaluate` is given the maximum cost of a task, and returns its result
/// with what it cost. Returns `None` for tasks that are left out.
pub(in crate::fleet) fn evaluate<T: Sync, R: Send>(
    tasks: &[T],
    workers: &Workers,
    budget: Cost,
    evaluate: impl Fn(&T, Cost) -> (R, Cost) + Sync,
) -> Vec<Option<R>> {
    let total = Total::default();
    let first = parallel::map(tasks, workers, "resolving keys", |task| {
        if !total.get().is_within(budget) {
            return None;
        }
        let (result, cost) = evaluate(task, budget);
        total.add(cost);
        Some(result)
    });
    if total.get().is_within(budget) {
        return first;
    }
    drop(first);
    evaluate_in_shares(tasks, workers, budget, evaluate)
}

/// Evaluates tasks that together exceed `budget`.
fn evaluate_in_shares<T: Sync, R: Send>(
    tasks: &[T],
    workers: &Workers,
    budget: Cost,
    evaluate: impl Fn(&T, Cost) -> (R, Cost) + Sync,
) -> Vec<Option<R>> {
    let mut found: Vec<Option<R>> = tasks.iter().map(|_| None).collect();
    let (mut left, mut share) = (budget, Cost::NONE);
    loop {
        let pending: Vec<usize> = (0..tasks.len()).filter(|at| found[*at].is_none()).collect();
        let next = split(left, pending.len());
        // Unless the share more than doubles, another attempt is not worthwhile.
        if next.steps / 2 <= share.steps && next.text / 2 <= share.text {
            return found;
        }
        share = next;
        let evaluated = parallel::map(&pending, workers, "resolving keys in shares", |at| evaluate(&tasks[*at], share));
        for (at, (result, cost)) in pending.into_iter().zip(evaluated) {
            left = left.minus(cost.at_most(share));
            if cost.is_within(share) {
                found[at] = Some(result);
            }
        }
    }
}

/// Returns an equal part of `whole`.
fn split(whole: Cost, parts: usize) -> Cost {
    let part_of = |amount: usize| amount.checked_div(parts).unwrap_or(0);
    Cost { steps: part_of(whole.steps), text: part_of(whole.text) }
}

/// The cost so far.
#[derive(Default)]
struct Total {
    steps: AtomicUsize,
    text: AtomicUsize,
}

impl Total {
    fn get(&self) -> Cost {
        Cost { steps: self.steps.load(Ordering::Relaxed), text: self.text.load(Ordering::Relaxed) }
    }

    fn add(&self, cost: Cost) {
        self.steps.fetch_add(cost.steps, Ordering::Relaxed);
        self.text.fetch_add(cost.text, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tells which of the tasks, each given by its steps, are done within `steps`.
    fn done(costs: &[usize], steps: usize) -> Vec<bool> {
        let budget = Cost { steps, text: 1 };
        let done_with = |threads| {
            let all = evaluate(costs, &Workers::of(threads), budget, |cost, share| {
                let cost = Cost { steps: (*cost).min(share.steps + 1), text: 0 };
                ((), cost)
            });
            all.iter().map(Option::is_some).collect::<Vec<bool>>()
        };
        let one = done_with(1);
        assert_eq!(one, done_with(4));
        one
    }

    #[test]
    fn cheap_keys_are_done_whatever_others_cost() {
        assert_eq!(done(&[10, 20, 30], 60), [true; 3]);
        assert_eq!(done(&[], 0), [true; 0]);
        assert_eq!(done(&[1000, 10, 20, 1000, 30], 200), [false, true, true, false, true]);
        // The share grows once the others are done.
        assert_eq!(done(&[70, 10, 10, 10, 80], 150), [false, true, true, true, false]);
        assert_eq!(done(&[500; 10], 100), [false; 10]);
    }
}
