//! Makes snapshots on several threads.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::Snapshots;
use super::batches::{Batches, Table};
use crate::workers::{Stage, Workers};

/// The minimum number of batches for each thread, so that a slow thread leaves work to others.
const MIN_BATCHES_PER_THREAD: usize = 8;

/// Gives each snapshot to `work`, with the position of its node. Returns the number of snapshots for which `work`
/// returns true. If some fail, the error is that of the first such node, whatever the number of threads.
pub(super) fn for_each_snapshot(
    snapshots: &Snapshots<'_>,
    workers: &Workers,
    work: impl Fn(usize, &[u8]) -> io::Result<bool> + Sync,
) -> io::Result<usize> {
    let nodes = snapshots.nodes.len();
    let workers = workers.at_most(nodes);
    let batches = Mutex::new(snapshots.batches(nodes.div_ceil(MIN_BATCHES_PER_THREAD * workers.threads.get())));
    let stage = workers.begin("writing snapshots", Some(nodes));
    let run = Run { snapshots, work, batches, stage, end: AtomicUsize::new(nodes), fault: Mutex::default() };
    let count = AtomicUsize::new(0);
    workers.run("snapshot", || _ = count.fetch_add(run.work(), Ordering::Relaxed));
    match run.fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(count.into_inner()),
    }
}

/// The state that the threads share.
struct Run<'r, 'a, W> {
    snapshots: &'r Snapshots<'a>,
    work: W,
    batches: Mutex<Batches<'r>>,
    stage: Arc<Stage>,
    /// The nodes from this one on are skipped.
    end: AtomicUsize,
    /// The error of the first node that has one.
    fault: Mutex<Option<(usize, io::Error)>>,
}

impl<W: Fn(usize, &[u8]) -> io::Result<bool>> Run<'_, '_, W> {
    /// Works as long as there are batches. Returns the number of snapshots for which `work` returned true.
    fn work(&self) -> usize {
        let (mut table, mut text, mut count) = (Table::default(), Vec::new(), 0);
        // A separate closure, so that the lock is released before the work.
        let next = |table: &mut Table| self.batches.lock().unwrap_or_else(PoisonError::into_inner).next(table);
        while let Some(batch) = next(&mut table) {
            for (row, node) in batch.enumerate() {
                if node >= self.end.load(Ordering::Relaxed) {
                    return count;
                }
                text.clear();
                self.snapshots.append(node, table.row(row), &mut text);
                text.push(b'\n');
                match (self.work)(node, &text) {
                    Ok(counts) => count += usize::from(counts),
                    Err(error) => self.fail(node, error),
                }
                self.stage.advance(1);
            }
        }
        count
    }

    fn fail(&self, node: usize, error: io::Error) {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if fault.as_ref().is_none_or(|(first, _)| node < *first) {
            *fault = Some((node, error));
        }
        self.end.fetch_min(node, Ordering::Relaxed);
    }
}
