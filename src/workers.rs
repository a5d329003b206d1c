//! The threads that work is done on, and the progress that it reports.
//!
//! Progress is reported as numbers; the edges of the program decide whether to show them. Results depend neither on the
//! number of threads nor on who listens.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Scope};

/// The target of log lines about what a run reads and how long its phases take. A daemon makes a run for each commit.
pub const RUN: &str = "hierad::run";

/// The threads that work may use, and the receiver of its progress.
#[derive(Clone)]
pub struct Workers {
    /// The maximum number of threads, including the calling one.
    pub threads: NonZeroUsize,
    /// The receiver of progress.
    pub progress: Arc<dyn Progress>,
    /// The maximum cost of a run.
    pub limits: RunLimits,
    /// Stops the work from outside.
    pub stop: Arc<dyn Stop>,
}

/// The maximum cost of a run; `None` for the defaults, which grow with the number of nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunLimits {
    /// The number of steps.
    pub steps: Option<usize>,
    /// The maximum size, in bytes, of the text that it makes, if that is less than the default.
    pub text_ceiling: Option<usize>,
}

/// Something that may stop the work: a clock, a gauge of memory.
pub trait Stop: Send + Sync {
    /// Returns the reason if the work is to stop. Once there is one, it remains until the work has ended.
    fn reason(&self) -> Option<Arc<str>>;

    /// Returns the reason if the result of the work is no longer wanted, not even its finished part.
    fn unwanted(&self) -> Option<Arc<str>> {
        None
    }

    /// Returns the number of times that there was a reason, if it is counted. Code that writes something permanently
    /// compares it before and after: the reason may have been other work, which may have ended since.
    fn count(&self) -> u64 {
        0
    }
}

/// Counts how often there is a reason to stop.
pub struct Counted {
    stop: Arc<dyn Stop>,
    count: AtomicU64,
}

impl Counted {
    /// Counts the reasons of `stop`.
    pub fn new(stop: Arc<dyn Stop>) -> Counted {
        Counted { stop, count: AtomicU64::new(0) }
    }
}

impl Stop for Counted {
    fn reason(&self) -> Option<Arc<str>> {
        let reason = self.stop.reason()?;
        self.count.fetch_add(1, Ordering::Relaxed);
        Some(reason)
    }

    fn unwanted(&self) -> Option<Arc<str>> {
        self.stop.unwanted()
    }

    fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

/// A receiver of progress.
pub trait Progress: Send + Sync {
    /// Notes that a stage begins, possibly inside another one. The stage has ended when nobody else holds it.
    fn begin(&self, stage: &Arc<Stage>);
}

/// A stage of the work, done step by step.
#[derive(Debug)]
pub struct Stage {
    /// Its name, for a person: "resolving keys".
    pub what: &'static str,
    /// The number of steps, or `None` if it is unknown.
    pub total: Option<usize>,
    done: AtomicUsize,
}

impl Stage {
    /// Counts steps that are done.
    pub fn advance(&self, steps: usize) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// Returns the number of steps that are done.
    pub fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }
}

/// Ignores all progress, and stops nothing.
struct Nobody;

impl Progress for Nobody {
    fn begin(&self, _: &Arc<Stage>) {}
}

impl Stop for Nobody {
    fn reason(&self) -> Option<Arc<str>> {
        None
    }
}

/// Uses as many threads as there are cores; ignores progress.
impl Default for Workers {
    fn default() -> Workers {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Workers::of(cores)
    }
}

impl Workers {
    /// Returns workers with this many threads, at least one; ignores progress.
    pub fn of(threads: usize) -> Workers {
        let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
        Workers { threads, progress: Arc::new(Nobody), limits: RunLimits::default(), stop: Arc::new(Nobody) }
    }

    /// Limits the number of threads.
    #[must_use]
    pub fn at_most(&self, threads: usize) -> Workers {
        Workers { threads: Workers::of(threads).threads.min(self.threads), ..self.clone() }
    }

    /// Reports that a stage begins. It lasts as long as the returned value is held.
    pub fn begin(&self, what: &'static str, total: Option<usize>) -> Arc<Stage> {
        let stage = Arc::new(Stage { what, total, done: AtomicUsize::new(0) });
        self.progress.begin(&stage);
        stage
    }

    /// Calls `work` on each thread, all called `name`, and waits for all. When one call returns there must be nothing
    /// left to do.
    pub fn run(&self, name: &str, work: impl Fn() + Sync) {
        let is_done = AtomicBool::new(false);
        let work = || {
            work();
            is_done.store(true, Ordering::Relaxed);
        };
        thread::scope(|scope| Helpers { scope, name, work: &work, is_done: &is_done }.call(self.threads.get() - 1));
    }
}

/// Threads that each start the next one, so that work that is soon done starts only a few.
#[derive(Clone, Copy)]
struct Helpers<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    name: &'scope str,
    work: &'scope (dyn Fn() + Sync),
    is_done: &'scope AtomicBool,
}

impl Helpers<'_, '_> {
    /// Works on this thread and, unless all is done before, on as many others.
    fn call(self, others: usize) {
        if others > 0 && !self.is_done.load(Ordering::Relaxed) {
            let builder = thread::Builder::new().name(self.name.into());
            // If no thread can be started, this one does it all.
            _ = builder.spawn_scoped(self.scope, move || self.call(others - 1));
        }
        (self.work)();
    }
}
