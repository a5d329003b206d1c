//! `hierad diff` on a synthetic fleet, from start to exit: 10,000 nodes with 5,000 keys (see `examples/fleet`).
//!
//! One commit of each kind: a key in the file of a node, of a role, of all; an entry of `lookup_options`; a level of
//! the hierarchy. Nothing is remembered from one run to the next. Of each diff the time and the peak of the resident
//! memory are printed, and with `HIERAD_BENCH_RESOLVE` (see `benches/measure/puppet.rs`) how many times as long the
//! real Puppet takes for both revisions, by the time that it takes for ten of the nodes.
//!
//! `HIERAD_BENCH_LARGE=1` adds 100,000 nodes with 10,000 keys, which takes minutes. `HIERAD_BENCH_RUNS` is how often
//! each diff is made.
#![allow(missing_docs, reason = "a program")]

mod measure;
mod synthetic;

use measure::program::{Run, Subject, measured};
use measure::puppet::Puppet;
use measure::{Result, Spread, Wanted, print, runs};
use synthetic::{Synthetic, shape};

/// The branches of a synthetic fleet, each on a commit of a kind.
const KINDS: [&str; 5] = ["node", "role", "common", "options", "hierarchy"];

/// The number of nodes that Puppet resolves.
const SAMPLE: usize = 10;

/// A fleet, and what is wanted of a diff on it.
struct Size {
    nodes: usize,
    keys: usize,
    runs: usize,
    milliseconds: f64,
    mebibytes: f64,
}

fn main() -> Result<()> {
    measure(&Size { nodes: 10_000, keys: 5_000, runs: 7, milliseconds: 500.0, mebibytes: 300.0 }, Puppet::named())?;
    if std::env::var_os("HIERAD_BENCH_LARGE").is_some() {
        measure(&Size { nodes: 100_000, keys: 10_000, runs: 3, milliseconds: 5_000.0, mebibytes: 1_536.0 }, None)?;
    }
    Ok(())
}

fn measure(size: &Size, puppet: Option<Puppet>) -> Result<()> {
    let made = Synthetic::new(shape(size.nodes, size.keys, 0))?;
    let times: Vec<Spread> = KINDS.iter().map(|kind| diff(&made.subject, kind, size)).collect::<Result<_>>()?;
    let Some(puppet) = puppet else { return Ok(()) };
    let subject = &made.subject;
    let both = puppet.scaled(subject, "HEAD", SAMPLE, size.nodes)?;
    print(&format!("{}  Puppet, both revisions", subject.name), &both.scaled(1e-3, "s"), None);
    for (kind, time) in KINDS.iter().zip(&times) {
        let name = format!("{}  diff {kind}, faster than Puppet", subject.name);
        print(&name, &both.over(time), Some(Wanted::AtLeast(10_000.0)));
    }
    Ok(())
}

/// Measures the diff of the commit of a kind; its time.
fn diff(subject: &Subject, kind: &str, size: &Size) -> Result<Spread> {
    let mut command = subject.diff(&format!("{kind}~1"), kind);
    measured(&mut command)?;
    let runs: Vec<Run> = (0..runs(size.runs)).map(|_| measured(&mut command)).collect::<Result<_>>()?;
    let time = Spread::new(runs.iter().map(|run| run.time.as_secs_f64() * 1e3), "ms");
    let name = format!("{}  diff {kind}", subject.name);
    print(&name, &time, Some(Wanted::AtMost(size.milliseconds)));
    let peaks: Vec<f64> = runs.iter().filter_map(|run| run.peak).collect();
    if !peaks.is_empty() {
        let name = format!("{name}, peak memory");
        print(&name, &Spread::new(peaks, "MiB"), Some(Wanted::AtMost(size.mebibytes)));
    }
    Ok(time)
}
