//! `hierad diff` where each node has values of its own, on 10,000 nodes, from start to exit: keys that interpolate the
//! node's name or address, a deeply merged hash to which each node has a file, and a chain of lookups with many ends.
//!
//! Nothing is remembered from one run to the next. Of each diff the time and the peak of the resident memory are
//! printed, as text and as JSON, and with `HIERAD_BENCH_RESOLVE` (see `benches/measure/puppet.rs`) how many times as
//! long the real Puppet takes for both revisions, by the time that it takes for ten of the nodes. `HIERAD_BENCH_RUNS`
//! is how often each diff is made.
#![allow(missing_docs, reason = "a program")]

mod measure;
mod synthetic;

use measure::program::{Run, Subject, measured};
use measure::puppet::Puppet;
use measure::{Result, Spread, Wanted, print, runs};
use synthetic::cliffs::{Cliff, NODES};

/// The number of nodes that Puppet resolves.
const SAMPLE: usize = 10;

/// The limits of a diff: the time as text, and the memory.
struct Limits {
    seconds: f64,
    mebibytes: f64,
}

fn main() -> Result<()> {
    let puppet = Puppet::named();
    let puppet = puppet.as_ref();
    measure(&Cliff::of_own_keys(60)?, &Limits { seconds: 0.7, mebibytes: 300.0 }, puppet)?;
    measure(&Cliff::of_own_keys(500)?, &Limits { seconds: 5.0, mebibytes: 500.0 }, puppet)?;
    measure(&Cliff::of_deep_hash(200)?, &Limits { seconds: 3.0, mebibytes: 500.0 }, puppet)?;
    measure(&Cliff::of_chain(60, 500)?, &Limits { seconds: 3.0, mebibytes: 500.0 }, puppet)
}

fn measure(cliff: &Cliff, limits: &Limits, puppet: Option<&Puppet>) -> Result<()> {
    let subject = &cliff.subject;
    let text = diff(subject, "text", Some(limits.seconds), limits.mebibytes)?;
    diff(subject, "json", None, limits.mebibytes)?;
    let Some(puppet) = puppet else { return Ok(()) };
    let both = puppet.scaled(subject, "HEAD", SAMPLE, NODES)?;
    print(&format!("{}  Puppet, both revisions", subject.name), &both.scaled(1e-3, "s"), None);
    print(&format!("{}  faster than Puppet", subject.name), &both.over(&text), None);
    Ok(())
}

/// Measures the diff in a format; its time.
fn diff(subject: &Subject, format: &str, seconds: Option<f64>, mebibytes: f64) -> Result<Spread> {
    let mut command = subject.diff("HEAD~1", "HEAD")?;
    command.args(["--format", format]);
    let runs: Vec<Run> = (0..runs(5)).map(|_| measured(&mut command)).collect::<Result<_>>()?;
    let time = Spread::new(runs.iter().map(|run| run.time.as_secs_f64() * 1e3), "ms");
    let name = format!("{}  {format}", subject.name);
    print(&name, &time, seconds.map(|seconds| Wanted::AtMost(seconds * 1e3)));
    let peaks: Vec<f64> = runs.iter().filter_map(|run| run.peak).collect();
    if !peaks.is_empty() {
        print(&format!("{name}, peak memory"), &Spread::new(peaks, "MiB"), Some(Wanted::AtMost(mebibytes)));
    }
    Ok(time)
}
