//! Shared by the benchmarks: times and other figures with their spread, programs with their peak memory, Puppet.
//!
//! A figure is printed as its median with the least and the greatest of all runs, and with what is wanted of it: `met`,
//! or `not met`. Nothing fails on a slow machine.
#![allow(dead_code, unused_imports, reason = "each benchmark has its own use for it")]

use std::str::FromStr;

mod daemon;
pub(crate) mod floor;
pub(crate) mod libyaml;
pub(crate) mod memory;
pub(crate) mod program;
pub(crate) mod puppet;
mod spread;
mod times;

pub(crate) use daemon::Daemon;
pub(crate) use program::Result;
pub(crate) use spread::{Spread, Wanted, print};
pub(crate) use times::Times;

/// The number of runs: `HIERAD_BENCH_RUNS`, or else `default`.
pub(crate) fn runs(default: usize) -> usize {
    asked("HIERAD_BENCH_RUNS", default).max(1)
}

/// The number that the environment has under this name, or else `default`.
pub(crate) fn asked<T: FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}
