//! Random repositories, one seed after the other.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::answers::Tally;
use super::difference::Difference;
use super::generator::{self, Repository};
use super::shrink;
use super::stage::{self, Stage};
use super::{Args, Fault};

/// The most differences of one repository to print.
const SHOWN: usize = 4;

/// What all threads found so far.
#[derive(Default)]
struct Found {
    repositories: u64,
    different: Vec<u64>,
    tally: Tally,
    faults: Vec<String>,
}

/// Compares the repositories of all seeds; whether none differed.
pub(crate) fn run(args: &Args) -> Result<bool, Fault> {
    let next = AtomicU64::new(0);
    let found = Mutex::new(Found::default());
    thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(|| {
                if let Err(fault) = work(args, &next, &found) {
                    lock(&found).faults.push(fault.to_string());
                }
            });
        }
    });
    let found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let outcome = match found.different.len() {
        0 => "no difference".to_owned(),
        count => format!("{count} repositories differ: seeds {:?}", found.different),
    };
    println!("{} repositories, {}: {outcome}", found.repositories, found.tally);
    match found.faults.first() {
        Some(fault) => Err(fault.clone().into()),
        None => Ok(found.different.is_empty()),
    }
}

fn lock(found: &Mutex<Found>) -> std::sync::MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn work(args: &Args, next: &AtomicU64, found: &Mutex<Found>) -> Result<(), Fault> {
    let mut stage = Stage::new(args)?;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= args.repos {
            return Ok(());
        }
        let seed = args.seed + number;
        let repository = generator::generate(seed);
        let version = args.puppet.of_seed(seed);
        let outcome = stage.compare(&repository, version);
        let report = match &outcome {
            Ok((differences, _)) if differences.is_empty() => None,
            Ok((differences, _)) => Some(describe(differences)),
            Err(fault) => {
                stage = Stage::new(args)?; // a Puppet that died is no use for the next
                Some(format!("  {fault}"))
            }
        };
        let mut report = report.map(|report| format!("seed {seed}, Puppet {version}:\n{report}\n"));
        if let Some(report) = &mut report {
            *report += &keep(args, &mut stage, &repository, version)?;
        }
        let mut found = lock(found);
        found.repositories += 1;
        if let Ok((_, tally)) = outcome {
            found.tally.add(tally);
        }
        if let Some(report) = report {
            found.different.push(seed);
            println!("{report}");
        }
    }
}

fn describe(differences: &[Difference]) -> String {
    let mut lines: Vec<String> = differences.iter().take(SHOWN).map(ToString::to_string).collect();
    if differences.len() > SHOWN {
        lines.push(format!("  and {} more", differences.len() - SHOWN));
    }
    lines.join("\n")
}

/// Keeps a repository that differs, shrunk if that is asked for; returns what to print of it.
fn keep(args: &Args, stage: &mut Stage, repository: &Repository, version: u8) -> Result<String, Fault> {
    if let Some(folder) = &args.keep {
        let root = folder.join(format!("seed-{}", repository.seed));
        _ = fs::remove_dir_all(&root);
        stage::write(&root, repository)?;
    }
    if !args.shrink {
        return Ok(String::new());
    }
    let Some(first) = stage.compare(repository, version)?.0.first().map(Difference::kind) else {
        return Ok("it does not differ again".to_owned());
    };
    let small = shrink::shrink(repository, |candidate| match stage.compare(candidate, version) {
        Ok((differences, _)) => differences.iter().any(|difference| difference.kind() == first),
        Err(_) => false,
    });
    let text = format!("{}==== profiles\n{}", small.fixture(), small.ndjson());
    let left = stage.compare(&small, version).map(|(differences, _)| describe(&differences)).unwrap_or_default();
    if let Some(folder) = &args.keep {
        write_text(&folder.join(format!("seed-{}.txt", repository.seed)), &format!("{left}\n{text}"))?;
    }
    Ok(format!("shrunk:\n{left}\n{text}"))
}

fn write_text(path: &Path, text: &str) -> Result<(), Fault> {
    fs::write(path, text)?;
    Ok(())
}
