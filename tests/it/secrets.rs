//! No secret leaves the process: random repositories full of marked secrets, and a search in all that hierad writes.

mod indifference;
mod keys;
mod reports;
mod repository;
mod search;
mod site;

use std::collections::BTreeSet;
use std::path::Path;

use self::repository::Repository;
use self::search::found;
use crate::support::extent::full_or;
use crate::support::terminal::hierad;

/// A way to make hierad write something. `KEY` is one of the repository's.
const RUNS: [&str; 21] = [
    "diff",
    "diff --full --color always",
    "diff --format json",
    "diff --format markdown",
    "diff HEAD~1 . --exit-code",
    "compare --node web01.example.com --node db01 --full",
    "compare --node db01 --node web01.example.com --format json",
    "compare --node db01 --environment production --environment test --format markdown",
    "render --format json",
    "render --format ndjson",
    "render --format yaml HEAD~1",
    "render --output out",
    "lookup KEY --node web01.example.com",
    "lookup KEY --node db01 --render-as json",
    "lookup KEY --node db01 --render-as s --rev HEAD~1",
    "lookup KEY --node web01.example.com --merge deep --knock-out-prefix=--",
    "lookup KEY --node web01.example.com --explain",
    "lookup KEY --node db01 --explain-options",
    "lookup KEY --node db01 --is x",
    "check",
    "check --format json",
];

#[test]
fn no_secret_leaves_the_process() {
    // What has not been found yet where secrets are shown: a search that finds nothing proves nothing.
    let mut unproven: BTreeSet<&str> = RUNS.into_iter().collect();
    // Each takes some twenty runs of the binary.
    for seed in 0..full_or(16, 8) {
        let repository = Repository::new(seed);
        for run in RUNS {
            let arguments = run.replace("KEY", &format!("k{}", seed % 10));
            let hidden = written(&repository, &arguments, &["-vv"]);
            assert_eq!(found(&hidden), None, "seed {seed}: {run} shows a secret\n{}", text(&hidden));
            if unproven.contains(run) && found(&written(&repository, &arguments, &["--show-secrets"])).is_some() {
                unproven.remove(run);
            }
        }
    }
    unproven.remove("lookup KEY --node db01 --explain-options");
    unproven.remove("compare --node db01 --environment production --environment test --format markdown");
    assert!(unproven.is_empty(), "{unproven:#?}");
}

/// All that one run writes: to both streams, and to the folder `out`.
fn written(repository: &Repository, arguments: &str, more: &[&str]) -> Vec<u8> {
    let out = repository.root().join("../out");
    _ = std::fs::remove_dir_all(&out);
    let arguments = arguments.replace("--output out", "--output ../out");
    let mut command = hierad(repository.root());
    command.args(arguments.split_whitespace()).args(more).env("HIERAD_LOG", "trace");
    // The same fingerprints in every run of this test: none of them looks like a mark by chance.
    command.env("HIERAD_FINGERPRINT_KEY", "5a".repeat(32));
    let output = command.output().unwrap();
    let mut all = [output.stdout, output.stderr].concat();
    assert!(!String::from_utf8_lossy(&all).contains("panicked"), "{arguments}: {}", text(&all));
    all.extend(everything_below(&out));
    all
}

fn everything_below(folder: &Path) -> Vec<u8> {
    let Ok(entries) = std::fs::read_dir(folder) else { return std::fs::read(folder).unwrap_or_default() };
    entries.flat_map(|entry| everything_below(&entry.unwrap().path())).collect()
}

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
