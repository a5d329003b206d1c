//! Stops work that takes too long or too much memory. This is the last resort: no other limit depends on the machine.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::settings::Limits;
use crate::workers::Stop;

/// Work stops at this fraction of the memory limit. The rest is for steps that are already under way.
const MEMORY_FRACTION: (usize, usize) = (3, 4);

/// Watches the time of the current run, and the memory of the process.
pub(super) struct Guard {
    time: Duration,
    memory: Option<usize>,
    run: Mutex<Run>,
}

#[derive(Default)]
struct Run {
    /// The time by which the run has to end, or `None` if none is under way.
    end: Option<Instant>,
    overrun: Option<Overrun>,
    /// True if the result is used only if it is complete.
    is_whole_or_nothing: bool,
}

/// The limit that a run exceeded, in words.
#[derive(Debug, Clone)]
pub(super) enum Overrun {
    /// The limit of time.
    Time(Arc<str>),
    /// The limit of memory.
    Memory(Arc<str>),
}

impl Overrun {
    pub(super) fn reason(&self) -> &Arc<str> {
        match self {
            Overrun::Time(text) | Overrun::Memory(text) => text,
        }
    }
}

impl Guard {
    /// Returns the guard of a run that begins now.
    pub(super) fn begun(limits: &Limits) -> Guard {
        let guard = Guard::idle(limits);
        guard.begin();
        guard
    }

    /// Returns a guard that checks only memory until a run begins.
    pub(super) fn idle(limits: &Limits) -> Guard {
        Guard { time: limits.time, memory: limits.memory, run: Mutex::default() }
    }

    /// Begins a run whose partial result is used if it is stopped.
    pub(super) fn begin(&self) {
        *self.lock() = Run { end: Instant::now().checked_add(self.time), ..Run::default() };
    }

    /// Begins a run whose result is used only if it is complete.
    pub(super) fn begin_whole(&self) {
        self.begin();
        self.lock().is_whole_or_nothing = true;
    }

    /// Ends the run, and returns the limit that stopped it, if any.
    pub(super) fn end(&self) -> Option<Overrun> {
        std::mem::take(&mut *self.lock()).overrun
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the process uses nearly as much memory as it may.
    fn is_memory_nearly_full(&self) -> bool {
        let stop_at = |limit: usize| limit / MEMORY_FRACTION.1 * MEMORY_FRACTION.0;
        self.memory.is_some_and(|limit| resident_bytes().is_some_and(|bytes| bytes > stop_at(limit)))
    }
}

impl Stop for Guard {
    fn unwanted(&self) -> Option<Arc<str>> {
        let is_whole_or_nothing = self.lock().is_whole_or_nothing;
        is_whole_or_nothing.then(|| self.reason()).flatten()
    }

    fn reason(&self) -> Option<Arc<str>> {
        let is_memory_nearly_full = self.is_memory_nearly_full();
        let mut run = self.lock();
        if let Some(overrun) = &run.overrun {
            return Some(overrun.reason().clone());
        }
        let overrun = if is_memory_nearly_full {
            let limit = self.memory? >> 20;
            Overrun::Memory(
                format!("hierad uses nearly all of its {limit} MiB of memory ('memory' under 'limits')").into(),
            )
        } else if run.end.is_some_and(|end| Instant::now() > end) {
            let limit = self.time.as_secs_f64();
            Overrun::Time(format!("the run takes more than {limit} seconds ('time' under 'limits')").into())
        } else {
            return None;
        };
        run.overrun = run.end.map(|_| overrun.clone());
        Some(overrun.reason().clone())
    }
}

/// Returns the memory that the process uses, in bytes, or `None` if the system does not say.
fn resident_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages.saturating_mul(page_size()))
}

#[cfg(unix)]
fn page_size() -> usize {
    rustix::param::page_size()
}

#[cfg(not(unix))]
fn page_size() -> usize {
    4096
}
