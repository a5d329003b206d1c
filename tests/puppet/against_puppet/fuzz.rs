//! Random repositories, one seed after the other.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::answers::Tally;
use super::generator::{self, Repository};
use super::process::NoAnswer;
use super::shrink;
use super::stage::{Finding, Layout, Stage};
use super::{Args, Fault};

/// The most differences of one repository to print.
const SHOWN: usize = 4;

/// The findings of all threads so far.
#[derive(Default)]
struct Found {
    repositories: u64,
    /// On which Puppet itself does not come to an end.
    unanswered: Vec<u64>,
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
    if args.texts {
        let Tally { errors, unknown, texts, .. } = &found.tally;
        print!("texts that differ:\n{texts}unknown to hierad:\n{unknown}errors of Puppet:\n{errors}");
    }
    let outcome = match found.different.len() {
        0 => "no difference".to_owned(),
        count => format!("{count} repositories differ: seeds {:?}", found.different),
    };
    if !found.unanswered.is_empty() {
        println!("Puppet itself gives no answer: seeds {:?}", found.unanswered);
    }
    println!("{} repositories, {}: {outcome}", found.repositories, found.tally);
    match found.faults.first() {
        Some(fault) => Err(fault.clone().into()),
        None if found.repositories == 0 && args.repos > 0 => Err("nothing was compared".into()),
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
        let revisions = revisions(args, seed);
        let version = args.puppet.of_seed(seed);
        let outcome = stage.compare(&revisions, version);
        let report = match &outcome {
            Ok((findings, _)) if findings.is_empty() => None,
            Ok((findings, _)) => Some(describe(findings)),
            Err(fault) => {
                stage = Stage::new(args)?; // a Puppet that died is no use for the next
                if fault.is::<NoAnswer>() {
                    lock(found).unanswered.push(seed);
                    continue;
                }
                Some(format!("  {fault}"))
            }
        };
        let mut report = report.map(|report| format!("seed {seed}, Puppet {version}:\n{report}\n"));
        if let Some(report) = &mut report {
            *report += &keep(args, &mut stage, &revisions, version)?;
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

/// The repository of a seed, and the one some edits later if that is asked for.
fn revisions(args: &Args, seed: u64) -> Vec<Repository> {
    let first = args.repository(seed);
    let second = args.diff.then(|| generator::edited(&first, 0));
    [first].into_iter().chain(second).collect()
}

fn describe(findings: &[Finding]) -> String {
    let mut lines: Vec<String> = findings.iter().take(SHOWN).map(|finding| finding.text.clone()).collect();
    if findings.len() > SHOWN {
        lines.push(format!("  and {} more", findings.len() - SHOWN));
    }
    lines.join("\n")
}

/// Keeps a repository that differs, shrunk if that is asked for; returns what to print of it.
fn keep(args: &Args, stage: &mut Stage, revisions: &[Repository], version: u8) -> Result<String, Fault> {
    let seed = revisions.first().map_or(0, |revision| revision.seed);
    if let Some(folder) = &args.keep {
        let root = folder.join(format!("seed-{seed}"));
        _ = fs::remove_dir_all(&root);
        Layout::write(&root, revisions, &args.ruby_in_settings())?;
    }
    if !args.shrink {
        return Ok(String::new());
    }
    let Ok((findings, _)) = stage.compare(revisions, version) else {
        return Ok("it cannot be shrunk".to_owned());
    };
    let Some(first) = findings.first().map(|finding| finding.kind.clone()) else {
        return Ok("it does not differ again".to_owned());
    };
    let small = shrink::shrink(revisions, |candidate| match stage.compare(candidate, version) {
        Ok((findings, _)) => findings.iter().any(|finding| finding.kind == first),
        Err(_) => false,
    });
    let left = stage.compare(&small, version).map(|(findings, _)| describe(&findings)).unwrap_or_default();
    let fixtures: Vec<String> = small.iter().map(Repository::fixture).collect();
    let profiles = small.first().map(Repository::ndjson).unwrap_or_default();
    let text = format!("shrunk:\n{left}\n{}==== profiles\n{profiles}", fixtures.join("==== then\n"));
    if let Some(folder) = &args.keep {
        fs::write(folder.join(format!("seed-{seed}.txt")), &text)?;
    }
    Ok(text)
}
