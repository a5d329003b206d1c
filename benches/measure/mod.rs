//! What the benchmarks share: times and other figures with their spread, programs with their peak memory, Puppet.
//!
//! A figure is printed as its median with the least and the greatest of all runs, and with what is wanted of it: `met`, or
//! `not met`. Nothing fails on a slow machine.
#![allow(dead_code, unused_imports, reason = "each benchmark has its own use for it")]

pub(crate) mod floor;
pub(crate) mod libyaml;
pub(crate) mod memory;
pub(crate) mod program;
pub(crate) mod puppet;
mod spread;
mod times;

pub(crate) use program::Result;
pub(crate) use spread::{Spread, Wanted, print};
pub(crate) use times::Times;

/// How often each thing is done: `HIERAD_BENCH_RUNS`, or else `default`.
pub(crate) fn runs(default: usize) -> usize {
    let named = std::env::var("HIERAD_BENCH_RUNS").ok().and_then(|runs| runs.parse().ok());
    named.unwrap_or(default).max(1)
}
