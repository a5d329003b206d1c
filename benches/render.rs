//! `hierad render --output`: the snapshots of a synthetic fleet of 10,000 nodes with 5,000 keys, written to a new
//! folder, from start to exit; in turn with `cp -r` of the same files.
//!
//! Both begin alike: nothing waits to be written to the disk, and as much memory as they are going to fill with files
//! was just given back, by emptying the files that the same one wrote the time before. They are not removed, since some
//! file systems look long for the room of a file among those just removed. The first round, which has none before it,
//! does not count.
//!
//! The files need about 6 GB in the temporary folder (`TMPDIR`). `HIERAD_BENCH_RUNS` is how often they are written,
//! `HIERAD_BENCH_NODES` how many nodes there are.
#![allow(missing_docs, reason = "a program")]

mod measure;
mod synthetic;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use measure::program::{Run, measured, run};
use measure::{Result, Spread, Wanted, print, runs};
use synthetic::{Synthetic, shape};

fn main() -> Result<()> {
    let nodes = measure::asked("HIERAD_BENCH_NODES", 10_000);
    let made = Synthetic::new(shape(nodes, 5_000, 0))?;
    let temporary = tempfile::tempdir()?;
    let (mut speeds, mut copies, mut ratios, mut peaks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut former: Option<[PathBuf; 2]> = None;
    for round in 0..=runs(3) {
        let folders = ["snapshots", "copy"].map(|name| temporary.path().join(format!("{name}{round}")));
        let [snapshots, copy] = &folders;
        settle(former.as_ref().map(|[snapshots, _]| snapshots))?;
        let Run { time, peak } = measured(made.subject.hierad().args(["render", "HEAD", "--output"]).arg(snapshots))?;
        settle(former.as_ref().map(|[_, copy]| copy))?;
        let start = Instant::now();
        run(Command::new("cp").arg("-r").arg(snapshots).arg(copy))?;
        let copying = start.elapsed();
        if former.replace(folders.clone()).is_some() {
            let megabytes = megabytes(snapshots)?;
            speeds.push(megabytes / time.as_secs_f64());
            copies.push(megabytes / copying.as_secs_f64());
            ratios.push(time.as_secs_f64() / copying.as_secs_f64());
            peaks.extend(peak);
        }
    }
    let name = |what: &str| format!("{}  {what}", made.subject.name);
    print(&name("render"), &Spread::new(speeds, "MB/s"), Some(Wanted::AtLeast(300.0)));
    print(&name("cp -r"), &Spread::new(copies, "MB/s"), None);
    print(&name("render, times as long as cp -r"), &Spread::new(ratios, "times"), None);
    if !peaks.is_empty() {
        print(&name("render, peak memory"), &Spread::new(peaks, "MiB"), None);
    }
    Ok(())
}

/// Empties the files of a folder, and waits until the disk has all that was written.
fn settle(folder: Option<&PathBuf>) -> Result<()> {
    for entry in folder.map(fs::read_dir).transpose()?.into_iter().flatten() {
        fs::File::create(entry?.path())?;
    }
    run(&mut Command::new("sync"))
}

/// The size of the files in a folder.
fn megabytes(folder: &Path) -> Result<f64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    #[expect(clippy::cast_precision_loss, reason = "a few gigabytes")]
    Ok(bytes as f64 / 1e6)
}
