//! The cost of resolving a synthetic fleet as it grows, and of reading profiles, within this process.
//!
//! Three fleets in turn: 10,000 nodes with 5,000 keys; the same repository with ten times the nodes, at the same roles
//! and sites; and twice the keys. Resolving is all that happens between the profiles and the effective values of one
//! revision, with nothing remembered: its data is read and parsed and hierarchies are resolved for all nodes
//! (`hierarchies`), then all keys (`keys`).
//!
//! Some keys have a value of each node's own (`https://%{facts.networking.fqdn}`): these grow with the nodes, whatever
//! anyone does. So of ten times the nodes there are two figures: all keys, and those that have at most a tenth as many
//! answers as nodes.
//!
//! `HIERAD_BENCH_RUNS` is how often each fleet is resolved, `HIERAD_BENCH_NODES` how many nodes the first fleet has.
#![allow(missing_docs, reason = "a program")]

mod measure;
mod synthetic;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hierad::disclosure::Disclosure;
use hierad::fleet::{Effective, Fleet};
use hierad::git::Repository;
use hierad::hiera::layer::EnvironmentOptions;
use hierad::inventory::files::{EnvironmentOfNodes, ProfileFiles};
use hierad::pipeline::{Pipeline, RevisionId, Revisions};
use hierad::workers::Workers;
use measure::program::Subject;
use measure::{Result, Spread, Wanted, print, runs};
use synthetic::{Synthetic, shape};

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Keys = BTreeSet<Arc<str>>;

/// Profiles, the repository that they are resolved with, and the keys: those that nodes share, or all.
struct Case<'a> {
    profiles: &'a Path,
    subject: &'a Subject,
    keys: Option<&'a Keys>,
}

/// All keys of a repository for these profiles.
fn whole<'a>(profiles: &'a Path, subject: &'a Subject) -> Case<'a> {
    Case { profiles, subject, keys: None }
}

/// The times of one run.
struct Run {
    reading: Duration,
    hierarchies: Duration,
    keys: Duration,
    effective: Effective,
}

fn main() -> Result<()> {
    let nodes = measure::asked("HIERAD_BENCH_NODES", 10_000);
    let (small, more_keys) = (Synthetic::new(shape(nodes, 5_000, 0))?, Synthetic::new(shape(nodes, 10_000, 0))?);
    let folder = tempfile::tempdir()?;
    let [few, many] = ["few.ndjson", "many.ndjson"].map(|name| folder.path().join(name));
    Synthetic::profiles(shape(nodes, 5_000, 0), &few)?;
    Synthetic::profiles(shape(nodes * 10, 5_000, 0), &many)?;
    let shared = shared_keys(&whole(&few, &small.subject).run()?.effective, nodes / 10);
    let keys = Some(&shared);
    let cases = [
        Case { keys, ..whole(&few, &small.subject) },
        Case { keys, ..whole(&many, &small.subject) },
        whole(&few, &small.subject),
        whole(&many, &small.subject),
        whole(&few, &more_keys.subject),
    ];
    let mut resolving: [Vec<[f64; 2]>; 5] = Default::default();
    let mut speeds = Vec::new();
    for _ in 0..runs(5) {
        for (case, resolving) in cases.iter().zip(&mut resolving) {
            let run = case.run()?;
            resolving.push([run.hierarchies, run.keys].map(|time| time.as_secs_f64() * 1e3));
            speeds.push(megabytes(case.profiles)? / run.reading.as_secs_f64());
        }
    }
    show(nodes, shared.len(), &resolving, speeds);
    Ok(())
}

fn show(nodes: usize, shared: usize, resolving: &[Vec<[f64; 2]>; 5], speeds: Vec<f64>) {
    let many = nodes * 10;
    let names = [
        format!("{nodes} x {shared} shared keys"),
        format!("{many} x {shared} shared keys"),
        format!("{nodes} x 5000"),
        format!("{many} x 5000"),
        format!("{nodes} x 10000"),
    ];
    for (name, times) in names.iter().zip(resolving) {
        for (part, what) in ["hierarchies", "keys"].iter().enumerate() {
            print(&format!("{name}, {what}"), &Spread::new(times.iter().map(|times| times[part]), "ms"), None);
        }
    }
    let ratio = |one: usize, other: usize| {
        let total = |times: &[f64; 2]| times[0] + times[1];
        let runs = resolving[one].iter().zip(&resolving[other]);
        Spread::new(runs.map(|(one, other)| total(one) / total(other)), "times")
    };
    print("ten times the nodes, shared keys", &ratio(1, 0), Some(Wanted::AtMost(1.5)));
    print("ten times the nodes, all keys", &ratio(3, 2), None);
    print("twice the keys", &ratio(4, 2), Some(Wanted::AtMost(2.2)));
    print("profiles", &Spread::new(speeds, "MB/s"), Some(Wanted::AtLeast(200.0)));
}

/// The keys that have at most `limit` answers.
fn shared_keys(effective: &Effective, limit: usize) -> Keys {
    effective.keys.iter().filter(|(_, answers)| answers.len() <= limit).map(|(key, _)| key.clone()).collect()
}

impl Case<'_> {
    /// Reads the profiles and resolves the last commit for them.
    fn run(&self) -> Result<Run> {
        let repository = Arc::new(Repository::discover(&self.subject.repository)?);
        let head = RevisionId::Commit(repository.resolve("HEAD")?);
        let revisions = Revisions::new(repository, EnvironmentOptions::default(), Arc::default());
        // Which variables are read is known once the data is.
        let mentioned = revisions.referenced_variables(&[head], &Workers::default());
        let workers = Workers::default();
        let start = Instant::now();
        let environment = EnvironmentOfNodes::Declared("production".into());
        let source = ProfileFiles::find(&[self.profiles.to_owned()], environment, workers.clone(), None)?;
        let (fleet, errors) = Fleet::load(Arc::new(source), &mentioned, &|_| true);
        if let Some(error) = errors.into_iter().next() {
            return Err(error.into());
        }
        let reading = start.elapsed();
        let start = Instant::now();
        let revisions = Revisions::new(revisions.repository, revisions.options, Arc::default());
        let pipeline = Pipeline::new(revisions, Arc::new(fleet), workers, Arc::new(Disclosure::shown()));
        let revision = pipeline.revision(head)?;
        let middle = Instant::now();
        let effective = pipeline.effective(&revision, self.keys.unwrap_or(&revision.keys));
        Ok(Run { reading, hierarchies: middle - start, keys: middle.elapsed(), effective })
    }
}

fn megabytes(path: &Path) -> Result<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a few hundred megabytes")]
    let bytes = std::fs::metadata(path)?.len() as f64;
    Ok(bytes / 1e6)
}
