//! `hierad log` and `blame` on a whole history, beside `git log --first-parent -p` of the same commits, in turn.
//!
//! A synthetic fleet of 10,000 nodes with 5,000 keys and a thousand commits (`HIERAD_BENCH_COMMITS`), and one more
//! repository where `HIERAD_BENCH_REPO` (a clone) and `HIERAD_BENCH_PROFILES` name it. First all commits are looked
//! through, and the index is written; then it is used for one key, for one node, and for all again. One key is looked
//! for without an index as well, up to the end and up to the first line. `HIERAD_BENCH_RUNS` is how often each is done.
#![allow(missing_docs, reason = "a program")]

mod measure;
mod synthetic;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use hierad::git::Repository;
use measure::program::{Subject, run};
use measure::{Result, Spread, Times, Wanted, asked, print, runs};
use serde_json::Value as Json;
use synthetic::{Synthetic, shape};

/// The largest index of a fleet of 10,000 nodes and its 10,000 commits, in MB.
const MOST_MEGABYTES: f64 = 200.0;

fn main() -> Result<()> {
    let made = Synthetic::new(shape(10_000, 5_000, asked("HIERAD_BENCH_COMMITS", 1_000)))?;
    measure(&made.subject, 3)?;
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    if let (Some(repository), Some(profiles)) = (named("HIERAD_BENCH_REPO"), named("HIERAD_BENCH_PROFILES")) {
        let name = "HIERAD_BENCH_REPO".into();
        measure(&Subject { name, repository: repository.canonicalize()?, profiles: profiles.canonicalize()? }, 5)?;
    }
    Ok(())
}

fn measure(subject: &Subject, usual_runs: usize) -> Result<()> {
    let count = runs(usual_runs);
    let name = |what: &str| format!("{}  {what}", subject.name);
    let commits = subject.git(&["rev-list", "--first-parent", "--count", "HEAD"])?;
    let index = Repository::discover(&subject.repository)?.common_dir().join("hierad/history");
    let hierad = |arguments: &[&str]| {
        let mut command = subject.hierad();
        command.args(arguments).stdout(Stdio::null());
        command
    };
    let (key, node) = example(subject)?;
    let mut git = Command::new("git");
    git.arg("-C").arg(&subject.repository).args(["log", "--first-parent", "-p", "HEAD"]).stdout(Stdio::null());
    let mut first = || {
        _ = std::fs::remove_dir_all(&index);
        run(&mut hierad(&["log", "--oneline"]))
    };
    let [git, first] = Times::of_each(count, [&mut || run(&mut git), &mut first])?;
    print(&name(&format!("git log -p, {commits} commits")), &git.spread(), None);
    print(&name("log, which writes the index"), &first.spread(), None);
    print(&name("log which writes the index, times as long"), &first.over(&git), Some(Wanted::AtMost(5.0)));
    let sizes = std::fs::read_dir(&index)?.map(|file| Ok(file?.metadata()?.len()));
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let megabytes = sizes.sum::<Result<u64>>()? as f64 / 1e6;
    print(&name("size of the index"), &Spread::new([megabytes], "MB"), Some(Wanted::AtMost(MOST_MEGABYTES)));
    let questions: [(&str, &[&str], Option<Wanted>); 6] = [
        ("log, by the index", &["log", "--oneline"], None),
        ("log KEY, by the index", &["log", "--oneline", &key], Some(Wanted::AtMost(50.0))),
        ("blame --node, by the index", &["blame", "--node", &node], Some(Wanted::AtMost(50.0))),
        ("log KEY without an index", &["log", "--oneline", &key, "--no-cache"], Some(Wanted::AtMost(1_000.0))),
        ("the first line of it", &["log", "--oneline", &key, "--no-cache", "-n1"], Some(Wanted::AtMost(200.0))),
        ("diff of the last commit", &["diff", "HEAD~1", "HEAD"], None),
    ];
    for (what, arguments, wanted) in questions {
        let times = Times::of(count, || run(&mut hierad(arguments)))?;
        print(&name(what), &times.spread(), wanted);
    }
    Ok(())
}

/// Returns a key that the last change of values is about, and a node that has it.
fn example(subject: &Subject) -> Result<(String, String)> {
    let output = subject.hierad().args(["log", "--format", "ndjson", "-n1"]).output()?;
    let report: Json = serde_json::from_slice(&output.stdout)?;
    let text = |value: &Json| value.as_str().map(str::to_owned).ok_or("no commit changes a value");
    Ok((text(&report["changes"][0]["key"])?, text(&report["node_names"][0])?))
}
