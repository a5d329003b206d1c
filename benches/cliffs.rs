//! `hierad diff` where each node has values of its own, on 10,000 nodes, from start to exit: keys that interpolate the
//! node's name or address, a deeply merged hash to which each node has a file, and a chain of lookups with many ends.
//!
//! Nothing is remembered from one run to the next. Of each diff the time and the peak of the resident memory are
//! printed, as text and as JSON, how much JSON it is, and with `HIERAD_BENCH_RESOLVE` (see
//! `benches/measure/puppet.rs`) how many times as long the real Puppet takes for both revisions, by the time that it
//! takes for ten of the nodes.
//!
//! Then come repositories of random shapes, of which the worst is shown: `HIERAD_BENCH_SHAPES` of them, 20, from
//! `HIERAD_SEED` on.
//!
//! `HIERAD_BENCH_LARGE=1` adds a level of the hierarchy that goes, on 100,000 nodes with 10,000 keys, which takes
//! minutes to make. `HIERAD_BENCH_RUNS` is how often each diff is made.
#![allow(missing_docs, reason = "a program")]

mod measure;
mod synthetic;

use measure::program::{Run, Subject, measured, printed};
use measure::puppet::Puppet;
use measure::{Result, Spread, Wanted, print, runs};
use synthetic::cliffs::{Cliff, NODES};
use synthetic::{Synthetic, shape};

/// The number of nodes that Puppet resolves.
const SAMPLE: usize = 10;

/// A megabyte of JSON.
const MB: f64 = 1e6;

/// The limits of a diff: the time as text, and the memory.
struct Limits {
    seconds: f64,
    mebibytes: f64,
}

fn main() -> Result<()> {
    let puppet = Puppet::named();
    let puppet = puppet.as_ref();
    own_keys(60, &Limits { seconds: 0.7, mebibytes: 300.0 }, puppet)?;
    own_keys(500, &Limits { seconds: 2.0, mebibytes: 500.0 }, puppet)?;
    comment(2_000)?;
    cliff(&Cliff::of_deep_hash(200)?, &Limits { seconds: 3.0, mebibytes: 500.0 }, puppet)?;
    for by_file in [false, true] {
        cliff(&Cliff::of_chain(60, 500, by_file)?, &Limits { seconds: 3.0, mebibytes: 500.0 }, puppet)?;
    }
    worst_shape()?;
    if std::env::var_os("HIERAD_BENCH_LARGE").is_some() { level() } else { Ok(()) }
}

fn raise(worst: &mut (f64, u64), figure: (f64, u64)) {
    if figure.0 > worst.0 {
        *worst = figure;
    }
}

/// Measures diffs of repositories of random shapes, and shows the worst figures with their seeds.
fn worst_shape() -> Result<()> {
    let first: u64 = measure::asked("HIERAD_SEED", 1);
    let mut worst: [(f64, u64); 4] = Default::default();
    for seed in first..first + measure::asked("HIERAD_BENCH_SHAPES", 20) {
        let made = Cliff::of_seed(seed)?;
        for (format, at) in [("text", 0), ("json", 1)] {
            let run = measured(made.subject.diff("HEAD~1", "HEAD").args(["--format", format]))?;
            raise(&mut worst[at], (run.time.as_secs_f64() * 1e3, seed));
            raise(&mut worst[2], (run.peak.unwrap_or_default(), seed));
        }
        #[expect(clippy::cast_precision_loss, reason = "it is shown in megabytes")]
        let bytes = printed(made.subject.diff("HEAD~1", "HEAD").args(["--format", "json"]))? as f64;
        raise(&mut worst[3], (bytes / MB, seed));
    }
    let kinds =
        [("text", "ms", 3_000.0), ("json", "ms", 3_000.0), ("peak memory", "MiB", 500.0), ("json", "MB", 100.0)];
    for ((kind, unit, limit), (figure, seed)) in kinds.into_iter().zip(worst) {
        print(&format!("worst shape, seed {seed}  {kind}"), &Spread::new([figure], unit), Some(Wanted::AtMost(limit)));
    }
    Ok(())
}

fn own_keys(count: usize, limits: &Limits, puppet: Option<&Puppet>) -> Result<()> {
    let made = Cliff::of_own_keys(count)?;
    let bytes = cliff(&made, limits, puppet)?;
    print(&format!("{}  json", made.subject.name), &Spread::new([bytes / MB], "MB"), Some(Wanted::AtMost(100.0)));
    Ok(())
}

/// Measures the comment on a change of so many keys on all nodes: how long it is, and how much longer it takes than one
/// without anything but the verdict.
fn comment(keys: usize) -> Result<()> {
    let made = Cliff::of_own_keys(keys)?;
    let subject = &made.subject;
    let time = |budget: &str| -> Result<Spread> {
        let mut command = subject.diff("HEAD~1", "HEAD");
        command.args(["--format", "markdown", "--budget", budget]);
        let runs: Vec<Run> = (0..runs(5)).map(|_| measured(&mut command)).collect::<Result<_>>()?;
        Ok(Spread::new(runs.iter().map(|run| run.time.as_secs_f64() * 1e3), "ms"))
    };
    let more = time("60000")?.against(&time("100")?, "ms", |whole, verdict| whole - verdict);
    print(&format!("{}  comment", subject.name), &more, Some(Wanted::AtMost(50.0)));
    #[expect(clippy::cast_precision_loss, reason = "it is a number of thousands")]
    let bytes = printed(subject.diff("HEAD~1", "HEAD").args(["--format", "markdown"]))? as f64;
    print(&format!("{}  comment", subject.name), &Spread::new([bytes], "bytes"), Some(Wanted::AtMost(65_536.0)));
    Ok(())
}

/// Measures a diff of a repository; the number of bytes of JSON.
fn cliff(cliff: &Cliff, limits: &Limits, puppet: Option<&Puppet>) -> Result<f64> {
    let subject = &cliff.subject;
    let (text, bytes) = diffs(subject, ["HEAD~1", "HEAD"], limits)?;
    if let Some(puppet) = puppet {
        let both = puppet.scaled(subject, "HEAD", SAMPLE, NODES)?;
        print(&format!("{}  Puppet, both revisions", subject.name), &both.scaled(1e-3, "s"), None);
        print(&format!("{}  faster than Puppet", subject.name), &both.over(&text), None);
    }
    Ok(bytes)
}

/// Measures the diff of a commit that takes a level away, on a large fleet.
fn level() -> Result<()> {
    let made = Synthetic::new(shape(100_000, 10_000, 0))?;
    let subject = &made.subject;
    let (_, bytes) = diffs(subject, ["hierarchy~1", "hierarchy"], &Limits { seconds: 2.5, mebibytes: 700.0 })?;
    print(&format!("{}  json", subject.name), &Spread::new([bytes / MB], "MB"), Some(Wanted::AtMost(50.0)));
    Ok(())
}

/// Measures a diff as text and as JSON; the time of text, and the number of bytes of JSON.
fn diffs(subject: &Subject, revisions: [&str; 2], limits: &Limits) -> Result<(Spread, f64)> {
    let text = diff(subject, revisions, "text", Some(limits.seconds), limits.mebibytes)?;
    diff(subject, revisions, "json", None, limits.mebibytes)?;
    #[expect(clippy::cast_precision_loss, reason = "it is shown in megabytes")]
    let bytes = printed(subject.diff(revisions[0], revisions[1]).args(["--format", "json"]))? as f64;
    Ok((text, bytes))
}

/// Measures the diff in a format; its time.
fn diff(subject: &Subject, revisions: [&str; 2], format: &str, seconds: Option<f64>, mebibytes: f64) -> Result<Spread> {
    let mut command = subject.diff(revisions[0], revisions[1]);
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
