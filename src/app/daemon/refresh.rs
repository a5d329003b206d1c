//! Asks node sources again when their answers are out of date. This runs in the background: no commit waits for it.

use std::sync::{Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::app::pipelines::{BranchPipelines, SourceTrouble};
use crate::inventory::{FactNames, Inventory};

/// The interval at which the ages of answers are checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The pause before all sources are asked again after one of them has failed.
const RETRY_INTERVAL: Duration = Duration::from_mins(2);

/// Keeps the answers of all sources fresh for as long as somebody uses the pipelines. These read the profiles again
/// when there is a new answer. Until then, and while a source is unavailable, the last answer stays in use.
pub(super) fn keep_fresh(inventory: Inventory, trouble: SourceTrouble, pipelines: Weak<Mutex<BranchPipelines>>) {
    if !inventory.has_sources() {
        return;
    }
    let work = move || {
        let mut next = Instant::now();
        while pipelines.strong_count() > 0 {
            if Instant::now() >= next && inventory.is_due() {
                let error = ask(&inventory);
                next = Instant::now() + if error.is_some() { RETRY_INTERVAL } else { Duration::ZERO };
                *trouble.lock().unwrap_or_else(PoisonError::into_inner) = error;
            }
            thread::sleep(CHECK_INTERVAL);
        }
    };
    if let Err(error) = thread::Builder::new().name("nodes".to_owned()).spawn(work) {
        tracing::error!(%error, "sources will not be asked for nodes again: cannot start a thread");
    }
}

/// Asks all sources for the facts that they were asked for before. Returns the first error.
fn ask(inventory: &Inventory) -> Option<String> {
    let mut first = None;
    for (source, answer) in inventory.fetch(&FactNames::default()) {
        match answer {
            Ok(stored) => tracing::debug!(source, nodes = stored.header.count, "asked for nodes"),
            Err(error) => {
                tracing::warn!(%error, "the last answer stays in use");
                first.get_or_insert_with(|| error.to_string());
            }
        }
    }
    first
}
