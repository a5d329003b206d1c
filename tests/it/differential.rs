//! Random sequences of changes and commands: no cache, no thread, no spelling and nothing that a daemon remembers makes
//! an answer differ from that of a run in a clean home that remembers nothing.
//!
//! `HIERAD_PROGRAM` names another program to try, `HIERAD_SEED` the first seed, and `HIERAD_SECONDS` says how long the
//! ignored tests go on. Each failure names its seed.

mod commands;
mod daemon;
mod site;

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::support::preload::Library;

/// The program that is tried.
fn program() -> PathBuf {
    std::env::var_os("HIERAD_PROGRAM").map_or_else(|| env!("CARGO_BIN_EXE_hierad").into(), PathBuf::from)
}

/// Has programs see the times of the last change as in an image of a file system, where they are what its maker wanted.
/// `None` where there is no C compiler.
fn image() -> Option<PathBuf> {
    static IMAGE: OnceLock<Option<Library>> = OnceLock::new();
    IMAGE.get_or_init(|| Library::of(include_str!("differential/image.c"))).as_ref().map(Library::path)
}

fn seed() -> u64 {
    std::env::var("HIERAD_SEED").map_or(1, |seed| seed.parse().unwrap())
}

/// Runs a sequence for each seed until the time is over, and returns the number of comparisons.
fn until(time: Duration, sequence: impl Fn(u64) -> usize) -> usize {
    let (start, mut compared) = (Instant::now(), 0);
    for seed in seed().. {
        compared += sequence(seed);
        if start.elapsed() > time {
            break;
        }
    }
    compared
}

/// The time of the ignored tests.
fn long() -> Duration {
    Duration::from_secs(std::env::var("HIERAD_SECONDS").map_or(60, |seconds| seconds.parse().unwrap()))
}

#[test]
fn commands_answer_as_without_a_cache() {
    assert!(until(Duration::from_secs(2), commands::sequence) >= 20);
}

#[test]
fn daemons_answer_as_commands() {
    assert!(until(Duration::from_secs(2), daemon::sequence) >= 4);
}

#[test]
#[ignore = "takes a minute, or as long as HIERAD_SECONDS says"]
fn commands_answer_as_without_a_cache_for_long() {
    let compared = until(long(), commands::sequence);
    println!("{compared} comparisons from seed {}", seed());
}

#[test]
#[ignore = "takes a minute, or as long as HIERAD_SECONDS says"]
fn daemons_answer_as_commands_for_long() {
    let compared = until(long(), daemon::sequence);
    println!("{compared} comparisons from seed {}", seed());
}
