//! Times of work that is done several times.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use super::Spread;

/// The times of several runs.
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
        let (start, mut times) = (Instant::now(), Vec::new());
        while times.is_empty() || (times.len() < runs && start.elapsed() < enough) {
            times.push(timed(&mut work)?);
        }
        Ok(Times(times))
    }

    /// Does each of several works in turn, once to warm up and then `runs` times, so that whatever else the machine
    /// does weighs on all of them.
    pub(crate) fn of_each<E, const N: usize>(
        runs: usize,
        mut works: [&mut dyn FnMut() -> Result<(), E>; N],
    ) -> Result<[Times; N], E> {
        let mut times = [const { Times(Vec::new()) }; N];
        works.iter_mut().try_for_each(|work| work())?;
        for _ in 0..runs.max(1) {
            for (work, times) in works.iter_mut().zip(&mut times) {
                times.0.push(timed(work)?);
            }
        }
        Ok(times)
    }

    /// Does each of two works that cannot fail in turn.
    pub(crate) fn of_both(runs: usize, mut one: impl FnMut(), mut other: impl FnMut()) -> (Times, Times) {
        let mut one = || -> Result<(), Infallible> {
            one();
            Ok(())
        };
        let mut other = || {
            other();
            Ok(())
        };
        let Ok([one, other]) = Times::of_each(runs, [&mut one, &mut other]);
        (one, other)
    }

    /// In milliseconds.
    pub(crate) fn spread(&self) -> Spread {
        Spread::new(self.0.iter().map(|time| time.as_secs_f64() * 1e3), "ms")
    }

    /// Returns the milliseconds that each run took longer than the one of `other` in turn with it.
    pub(crate) fn more_than(&self, other: &Times) -> Spread {
        let more = |(one, other): (&Duration, &Duration)| (one.as_secs_f64() - other.as_secs_f64()) * 1e3;
        Spread::new(self.0.iter().zip(&other.0).map(more), "ms")
    }

    /// Returns the ratio of each run to the one of `other` in turn with it.
    pub(crate) fn over(&self, other: &Times) -> Spread {
        Spread::new(self.0.iter().zip(&other.0).map(|(one, other)| one.as_secs_f64() / other.as_secs_f64()), "times")
    }
}

/// The time that `work` takes.
fn timed<E>(mut work: impl FnMut() -> Result<(), E>) -> Result<Duration, E> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}
