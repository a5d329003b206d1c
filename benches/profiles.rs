//! Reading node profiles, within this process: one NDJSON file of 100,000, and a folder with a JSON file for each of
//! 10,000 nodes. Reading ends where the fleet is ready to be resolved.
//!
//! `HIERAD_BENCH_RUNS` is how often each is read, `HIERAD_BENCH_NODES` how many nodes the folder has,
//! `HIERAD_BENCH_THREADS` how many threads read.
#![allow(missing_docs, reason = "a program")]

mod measure;
mod synthetic;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use hierad::fleet::{Fleet, ReferencedVariables};
use hierad::git::Repository;
use hierad::hiera::layer::EnvironmentOptions;
use hierad::inventory::files::{EnvironmentOfNodes, ProfileFiles};
use hierad::pipeline::{RevisionId, Revisions};
use hierad::workers::Workers;
use measure::{Result, Spread, Wanted, print, runs};
use synthetic::{Synthetic, shape};

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let nodes = number("HIERAD_BENCH_NODES").unwrap_or(10_000);
    let workers = number("HIERAD_BENCH_THREADS").map_or_else(Workers::default, Workers::of);
    let fleet = Synthetic::new(shape(nodes, 500, 0))?;
    let folder = tempfile::tempdir()?;
    let many = folder.path().join("many.ndjson");
    Synthetic::profiles(shape(nodes * 10, 500, 0), &many)?;
    let files = folder.path().join("files");
    let bytes = split(&fleet.subject.profiles, &files)?;
    let mentioned = mentioned(&fleet.subject.repository)?;
    let cases = [
        (format!("{} nodes, NDJSON", nodes * 10), many.clone(), many.metadata()?.len()),
        (format!("{nodes} nodes, a JSON file each"), files, bytes),
    ];
    let mut speeds = [Vec::new(), Vec::new()];
    for _ in 0..runs(15) {
        for ((_, path, bytes), speeds) in cases.iter().zip(&mut speeds) {
            let start = Instant::now();
            drop(load(path, &mentioned, &workers)?);
            speeds.push(megabytes(*bytes) / start.elapsed().as_secs_f64());
        }
    }
    for ((name, ..), speeds) in cases.iter().zip(speeds) {
        print(name, &Spread::new(speeds, "MB/s"), Some(Wanted::AtLeast(200.0)));
    }
    Ok(())
}

/// Writes each line of `profiles` to a file of its own in `folder`; how many bytes they have.
fn split(profiles: &Path, folder: &Path) -> Result<u64> {
    std::fs::create_dir(folder)?;
    let text = std::fs::read_to_string(profiles)?;
    for (number, line) in text.lines().enumerate() {
        std::fs::write(folder.join(format!("{number:06}.json")), line)?;
    }
    Ok(text.len() as u64)
}

/// The fields of a profile that the last commit can read.
fn mentioned(repository: &Path) -> Result<ReferencedVariables> {
    let repository = Arc::new(Repository::discover(repository)?);
    let head = RevisionId::Commit(repository.resolve("HEAD")?);
    let revisions = Revisions::new(repository, EnvironmentOptions::default(), Arc::default());
    Ok(revisions.referenced_variables(&[head], &Workers::default()))
}

fn load(path: &PathBuf, mentioned: &ReferencedVariables, workers: &Workers) -> Result<Fleet> {
    let environment = EnvironmentOfNodes::Declared("production".into());
    let source = ProfileFiles::find(std::slice::from_ref(path), environment, workers.clone(), None)?;
    let (fleet, errors) = Fleet::load(Arc::new(source), mentioned, &|_| true);
    match errors.into_iter().next() {
        Some(error) => Err(error.into()),
        None => Ok(fleet),
    }
}

fn megabytes(bytes: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few hundred megabytes")]
    let bytes = bytes as f64;
    bytes / 1e6
}
