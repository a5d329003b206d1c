//! The whole program on whole repositories: `hierad diff HEAD~1 HEAD` and `hierad render`, from start to exit.
//!
//! The demo's repository, and one more where `HIERAD_BENCH_REPO` (a clone) and `HIERAD_BENCH_PROFILES` name it. Beside
//! the diff, in turn with it, runs what cannot be left out (`benches/measure/floor.rs`), from start to exit as well:
//! reading each distinct data file of both revisions from git and counting libyaml's events in it, and then the same
//! with the files of profiles. The ratios are those of runs in turn. Nothing is remembered from one diff to the next,
//! but for the one that is said to write the cache and the one behind it, which is said to come from there.
//!
//! With `HIERAD_BENCH_RESOLVE` (see `benches/measure/puppet.rs`) the diff on `HIERAD_BENCH_REPO` is compared with
//! Puppet's work on both revisions. `HIERAD_BENCH_PUPPET` is hierad's `--puppet`: 7 or 8; `HIERAD_BENCH_RUNS` is how
//! often hierad runs.
#![allow(missing_docs, reason = "a program")]

mod measure;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use hierad::git::Repository;
use measure::program::{HIERAD, Subject, installed, run};
use measure::puppet::Puppet;
use measure::{Result, Times, Wanted, floor, print, runs};

const REVISIONS: [&str; 2] = ["HEAD~1", "HEAD"];

/// The argument that makes this program do nothing but the least.
const FLOOR: &str = "floor";

fn main() -> Result<()> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == FLOOR) {
        let paths: Vec<&Path> = arguments[1..].iter().map(Path::new).collect();
        return read_floor(paths[0], paths.get(1).copied()).map(|_| ());
    }
    let temporary = tempfile::tempdir()?;
    let demo = temporary.path().join("demo");
    run(Command::new(&*HIERAD).arg("demo").arg("--keep").arg(&demo))?;
    measure(&Subject { name: "demo".into(), repository: demo.join("data"), profiles: demo.join("profiles") }, None)?;
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    if let (Some(repository), Some(profiles)) = (named("HIERAD_BENCH_REPO"), named("HIERAD_BENCH_PROFILES")) {
        let name = "HIERAD_BENCH_REPO".into();
        let subject = Subject { name, repository: repository.canonicalize()?, profiles: profiles.canonicalize()? };
        let diff = measure(&subject, Some(Wanted::AtMost(3.0)))?;
        if let Some(puppet) = Puppet::named() {
            let both = puppet.both(&subject, REVISIONS[0], REVISIONS[1])?;
            print(&format!("{}  Puppet, both revisions", subject.name), &both, None);
            print(&format!("{}  diff, faster than Puppet", subject.name), &both.over(&diff.spread()), None);
        }
    }
    Ok(())
}

/// Measures `diff` and `render`; the times of `diff`. `wanted` is its ratio to the least.
fn measure(subject: &Subject, wanted: Option<Wanted>) -> Result<Times> {
    let name = |what: &str| format!("{}  {what}", subject.name);
    let runs = runs(15);
    let mut command = subject.diff(REVISIONS[0], REVISIONS[1]);
    let mut diff = || run(&mut command);
    let cache = Repository::discover(&subject.repository)?.common_dir().join("hierad/cache");
    let diff_with_cache = || run(subject.hierad().arg("diff").args(REVISIONS));
    let mut first = || {
        _ = std::fs::remove_file(&cache);
        diff_with_cache()
    };
    let mut again = diff_with_cache;
    let mut nothing = || run(Command::new(&*HIERAD).arg("--version"));
    let this = installed(&std::env::current_exe()?);
    let mut data = || run(&mut least(&this, &[&subject.repository]));
    let mut all = || run(&mut least(&this, &[&subject.repository, &subject.profiles]));
    let [diff, first, again, nothing, data, all] =
        Times::of_each(runs, [&mut diff, &mut first, &mut again, &mut nothing, &mut data, &mut all])?;
    print(&name("diff HEAD~1 HEAD"), &diff.spread(), None);
    print(&name("diff, which writes the cache"), &first.spread(), None);
    print(&name("diff, from the cache"), &again.spread(), None);
    print(&name("nothing but --version"), &nothing.spread(), None);
    let floor::Work { files, bytes, .. } = read_floor(&subject.repository, None)?;
    print(&name(&format!("libyaml, {files} files, {} kB", bytes / 1000)), &data.spread(), None);
    print(&name("diff, times as long"), &diff.over(&data), wanted);
    print(&name("diff which writes the cache, times as long"), &first.over(&data), None);
    print(&name("diff from the cache, times as long"), &again.over(&data), wanted);
    let floor::Work { files, bytes, .. } = read_floor(&subject.repository, Some(&subject.profiles))?;
    print(&name(&format!("libyaml with profiles, {files} files, {} kB", bytes / 1000)), &all.spread(), None);
    print(&name("diff, times as long as with profiles"), &diff.over(&all), None);
    let render = Times::of(runs, || run(subject.hierad().args(["render", "HEAD"])))?;
    print(&name("render HEAD"), &render.spread(), None);
    Ok(diff)
}

/// This program, to do the least.
fn least(program: &Path, paths: &[&Path]) -> Command {
    let mut command = Command::new(program);
    command.arg(FLOOR).args(paths);
    command
}

fn read_floor(repository: &Path, profiles: Option<&Path>) -> Result<floor::Work> {
    let mut work = floor::read(repository, REVISIONS)?;
    if let Some(profiles) = profiles {
        floor::read_profiles(profiles, &mut work)?;
    }
    Ok(work)
}
