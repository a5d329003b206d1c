//! Spreads independent work over threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::workers::Workers;

/// Returns the result of `work` for each of `items`, in order. Progress is reported as the stage `stage_name`.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    workers: &Workers,
    stage_name: &'static str,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let stage = workers.begin(stage_name, Some(items.len()));
    workers.at_most(items.len()).run("fleet", || {
        let mut results = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            results.push((at, work(item)));
            stage.advance(1);
        }
        done.lock().unwrap_or_else(PoisonError::into_inner).extend(results);
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
