//! Times of work that is done several times.
#![allow(dead_code, reason = "each benchmark has its own use for it")]

use std::fmt;
use std::time::{Duration, Instant};

/// The times of several runs, in order of length.
pub(crate) struct Times(Vec<Duration>);

impl Times {
    /// Does `work` once to warm up, then `runs` times.
    pub(crate) fn of<E>(runs: usize, mut work: impl FnMut() -> Result<(), E>) -> Result<Times, E> {
        work()?;
        Times::once_or_more(runs, Duration::MAX, work)
    }

    /// Does `work` up to `runs` times, but no more once that took `enough`. Not warmed up.
    pub(crate) fn once_or_more<E>(
        runs: usize,
        enough: Duration,
        mut work: impl FnMut() -> Result<(), E>,
    ) -> Result<Times, E> {
        let (start, mut times) = (Instant::now(), Times(Vec::new()));
        while times.0.is_empty() || (times.0.len() < runs && start.elapsed() < enough) {
            let start = Instant::now();
            work()?;
            times.add(start.elapsed());
        }
        Ok(times)
    }

    /// Does each of two works in turn, so that whatever else the machine does weighs on both.
    pub(crate) fn of_both(runs: usize, mut one: impl FnMut(), mut other: impl FnMut()) -> (Times, Times) {
        one();
        other();
        let (mut first, mut second) = (Times(Vec::new()), Times(Vec::new()));
        for _ in 0..runs.max(1) {
            let start = Instant::now();
            one();
            let middle = Instant::now();
            other();
            first.add(middle - start);
            second.add(middle.elapsed());
        }
        (first, second)
    }

    fn add(&mut self, time: Duration) {
        self.0.push(time);
        self.0.sort();
    }

    /// The one in the middle.
    pub(crate) fn median(&self) -> Duration {
        self.0[self.0.len() / 2]
    }

    /// The shortest.
    pub(crate) fn least(&self) -> Duration {
        self.0[0]
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let (least, most) = (self.0[0], self.0[self.0.len() - 1]);
        write!(f, "{:9.2} ms ({:.2} - {:.2}, {} runs)", ms(self.median()), ms(least), ms(most), self.0.len())
    }
}
