//! Reading YAML: `puppet::yaml::parse`, which makes values with lines, against the bare events of libyaml on the same
//! bytes.
//!
//! `HIERAD_BENCH_REPO=DIR` adds the data files of a checked-out repository.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot go on has failed")]

mod measure;

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;

use hierad::puppet::yaml;
use measure::{Times, libyaml};

const RUNS: usize = 15;

/// About as many bytes are read in one run.
const BYTES: usize = 4 << 20;

fn main() {
    println!("{:<28} {:>10} {:>12} {:>12}  hierad / libyaml", "", "bytes", "hierad", "libyaml");
    compare("nodes: small hashes", &[small().into_bytes()]);
    compare("lists and nested hashes", &[nested().into_bytes()]);
    compare("texts over many lines", &[texts().into_bytes()]);
    if let Some(repository) = std::env::var_os("HIERAD_BENCH_REPO") {
        let mut files = Vec::new();
        collect(Path::new(&repository), &mut files);
        compare("HIERAD_BENCH_REPO", &files);
    }
}

fn compare(name: &str, files: &[Vec<u8>]) {
    let size: usize = files.iter().map(Vec::len).sum();
    let repeat = (BYTES / size.max(1)).max(1);
    let each = |work: &dyn Fn(&[u8])| (0..repeat).for_each(|_| files.iter().for_each(|file| work(file)));
    let ours = |file: &[u8]| _ = black_box(yaml::parse(file));
    let theirs = |file: &[u8]| _ = black_box(libyaml::events(file));
    let (ours, theirs) = Times::of_both(RUNS, || each(&ours), || each(&theirs));
    #[expect(clippy::cast_precision_loss, reason = "sizes are small")]
    let megabytes = (size * repeat) as f64 / 1e6;
    let speed = |times: &Times| megabytes / (times.spread().median / 1e3);
    let best = |times: &Times| megabytes / (times.spread().least / 1e3);
    println!(
        "{name:<28} {size:>10} {:>7.0} MB/s {:>7.0} MB/s  {:.2} (best runs: {:.0} and {:.0} MB/s)",
        speed(&ours),
        speed(&theirs),
        speed(&ours) / speed(&theirs),
        best(&ours),
        best(&theirs),
    );
}

fn small() -> String {
    let mut text = String::from("---\n");
    for i in 0..3000 {
        _ = writeln!(text, "profile::base::option_{i}: {}", i % 7 == 0);
        _ = writeln!(text, "role::web{i}::port: {}\nrole::web{i}::host: 'web{i}.example.com'", 8000 + i);
        _ = writeln!(text, "role::web{i}::root: \"/srv/%{{facts.networking.fqdn}}/{i}\"  # one for each");
    }
    text
}

fn nested() -> String {
    let mut text = String::from("---\nusers:\n");
    for i in 0..2000 {
        _ = writeln!(
            text,
            "  user{i}:\n    uid: {}\n    groups:\n      - sudo\n      - docker\n      - \"team-{i}\"",
            1000 + i
        );
        _ = writeln!(
            text,
            "    ssh: {{type: ed25519, key: AAAAC3NzaC1lZDI1NTE5AAAAI{i:08}, options: [no-pty, no-x11]}}"
        );
    }
    text
}

fn texts() -> String {
    let mut text = String::from("---\n");
    for i in 0..300 {
        _ = writeln!(text, "motd_{i}: |");
        for line in 0..20 {
            _ = writeln!(text, "  Line {line} of a text that goes on for a while, with no end in sight.");
        }
        _ = writeln!(text, "folded_{i}: >-");
        for line in 0..5 {
            _ = writeln!(text, "  line {line} that is joined with the next one,");
        }
    }
    text
}

fn collect(folder: &Path, files: &mut Vec<Vec<u8>>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries.into_iter().filter(|path| !path.ends_with(".git") && !path.is_symlink()) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "eyaml") {
            files.push(std::fs::read(&path).unwrap());
        }
    }
}
