//! How work is done: on how many threads, and who is told how far it is.
//!
//! What is told is numbers; whether anybody sees them, and where, is for the edges of the program to say.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Scope};

/// The threads that work may use, and who is told how far it is. What comes out depends on neither.
#[derive(Clone)]
pub struct Workers {
    /// How many threads there may be, the one that asks included.
    pub threads: NonZeroUsize,
    /// Whether work that is done sooner without them gets fewer.
    pub sparing: bool,
    /// Who is told.
    pub progress: Arc<dyn Progress>,
}

/// Who is told what is being done.
pub trait Progress: Send + Sync {
    /// A stage begins, perhaps inside of another one. It has ended when nobody else holds it.
    fn begin(&self, stage: &Arc<Stage>);
}

/// Something that is being done, step by step.
#[derive(Debug)]
pub struct Stage {
    /// What it is, for a person: "resolving keys".
    pub what: &'static str,
    /// How many steps it has, if that is known.
    pub total: Option<usize>,
    done: AtomicUsize,
}

impl Stage {
    /// Counts steps that are done.
    pub fn advance(&self, steps: usize) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// How many steps are done.
    pub fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }
}

/// Nobody is told.
struct Nobody;

impl Progress for Nobody {
    fn begin(&self, _: &Arc<Stage>) {}
}

/// What is worth a thread, in microseconds of work: to begin and to end one takes some hundreds, and it may wait for a core as long.
const FOR_A_THREAD: usize = 2000;

/// As many threads as there are cores, where there is work for them; nobody is told.
impl Default for Workers {
    fn default() -> Workers {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Workers { sparing: true, ..Workers::of(cores) }
    }
}

impl Workers {
    /// So many threads, at least one; nobody is told.
    pub fn of(threads: usize) -> Workers {
        let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
        Workers { threads, sparing: false, progress: Arc::new(Nobody) }
    }

    /// The same, but no more than so many threads.
    #[must_use]
    pub fn at_most(&self, threads: usize) -> Workers {
        Workers { threads: Workers::of(threads).threads.min(self.threads), ..self.clone() }
    }

    /// The same for work that takes one thread about so many microseconds.
    #[must_use]
    pub fn worth(&self, micros: usize) -> Workers {
        if self.sparing { self.at_most(micros.div_ceil(FOR_A_THREAD)) } else { self.clone() }
    }

    /// Tells that a stage begins. It lasts as long as what comes back is held.
    pub fn begin(&self, what: &'static str, total: Option<usize>) -> Arc<Stage> {
        let stage = Arc::new(Stage { what, total, done: AtomicUsize::new(0) });
        self.progress.begin(&stage);
        stage
    }

    /// Does `work` on each thread, all called `name`, until it has returned on all. Where it returns there is nothing left to do.
    pub fn run(&self, name: &str, work: impl Fn() + Sync) {
        let is_done = AtomicBool::new(false);
        let work = || {
            work();
            is_done.store(true, Ordering::Relaxed);
        };
        thread::scope(|scope| Helpers { scope, name, work: &work, is_done: &is_done }.call(self.threads.get() - 1));
    }
}

/// Threads that come to help, one after the other: of work that is done soon just few get to see anything.
#[derive(Clone, Copy)]
struct Helpers<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    name: &'scope str,
    work: &'scope (dyn Fn() + Sync),
    is_done: &'scope AtomicBool,
}

impl Helpers<'_, '_> {
    /// Works on this thread and, unless all is done before, on so many others.
    fn call(self, others: usize) {
        if others > 0 && !self.is_done.load(Ordering::Relaxed) {
            let builder = thread::Builder::new().name(self.name.into());
            // Where there is no other thread, this one does it all.
            _ = builder.spawn_scoped(self.scope, move || self.call(others - 1));
        }
        (self.work)();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_work_gets_fewer_threads_where_nobody_says_how_many() {
        let sparing = Workers { sparing: true, ..Workers::of(4) };
        let threads = |workers: &Workers, micros| workers.worth(micros).threads.get();
        assert_eq!([0, 2000, 2001, 6000, usize::MAX].map(|micros| threads(&sparing, micros)), [1, 1, 2, 3, 4]);
        assert_eq!(threads(&Workers::of(4), 0), 4);
        assert_eq!(threads(&sparing.at_most(2), usize::MAX), 2);
    }
}
