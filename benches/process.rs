//! The whole program on whole repositories: `hierad diff HEAD~1 HEAD` and `hierad render`, from start to exit.
//!
//! The demo's repository, and one more where `HIERAD_BENCH_REPO` (a clone) and `HIERAD_BENCH_PROFILES` name it. Where
//! `HIERAD_BENCH_RESOLVE` names a script that has Puppet resolve every key on every profile (`ruby SCRIPT --repo DIR --profiles PATH`,
//! `HIERAD_BENCH_RESOLVE_ARGS` are more arguments for it), the diff is compared with Puppet's work on both revisions.
//! `HIERAD_BENCH_PUPPET` is hierad's `--puppet`: 7 or 8; `HIERAD_BENCH_RUNS` is how often hierad runs.
#![allow(missing_docs, reason = "a program")]

mod measure;

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use measure::Times;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const HIERAD: &str = env!("CARGO_BIN_EXE_hierad");

/// The most time that Puppet is given for more runs than one.
const PUPPET_TIME: Duration = Duration::from_secs(60);
const PUPPET_RUNS: usize = 3;

fn main() -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let demo = temporary.path().join("demo");
    run(Command::new(HIERAD).arg("demo").arg("--keep").arg(&demo))?;
    Subject { name: "demo", repository: demo.join("data"), profiles: demo.join("profiles") }.measure()?;
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    if let (Some(repository), Some(profiles)) = (named("HIERAD_BENCH_REPO"), named("HIERAD_BENCH_PROFILES")) {
        let (repository, profiles) = (repository.canonicalize()?, profiles.canonicalize()?);
        let subject = Subject { name: "HIERAD_BENCH_REPO", repository, profiles };
        let diff = subject.measure()?;
        if let Some(script) = named("HIERAD_BENCH_RESOLVE") {
            subject.against_puppet(&script, &diff, temporary.path())?;
        }
    }
    Ok(())
}

/// A repository and its node profiles.
struct Subject {
    name: &'static str,
    repository: PathBuf,
    profiles: PathBuf,
}

impl Subject {
    /// Measures `diff` and `render`; the times of `diff`.
    fn measure(&self) -> Result<Times> {
        let runs = std::env::var("HIERAD_BENCH_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(15);
        let diff = Times::of(runs, || run(self.hierad().args(["diff", "HEAD~1", "HEAD"])))?;
        println!("{:<18} diff HEAD~1 HEAD  {diff}", self.name);
        let render = Times::of(runs, || run(self.hierad().args(["render", "HEAD"])))?;
        println!("{:<18} render HEAD       {render}", self.name);
        Ok(diff)
    }

    fn hierad(&self) -> Command {
        let mut command = Command::new(HIERAD);
        command.arg("--repo").arg(&self.repository).arg("--profiles").arg(&self.profiles);
        if let Some(version) = std::env::var_os("HIERAD_BENCH_PUPPET") {
            command.arg("--puppet").arg(version);
        }
        command
    }

    /// Has Puppet resolve both revisions, as a diff with Puppet must.
    fn against_puppet(&self, script: &Path, diff: &Times, temporary: &Path) -> Result<()> {
        let revisions = ["HEAD~1", "HEAD"].map(|revision| self.check_out(revision, &temporary.join(revision)));
        let revisions = revisions.into_iter().collect::<Result<Vec<PathBuf>>>()?;
        let more = std::env::var("HIERAD_BENCH_RESOLVE_ARGS").unwrap_or_default();
        let resolve = || {
            revisions.iter().try_for_each(|folder| {
                let mut ruby = Command::new("ruby");
                ruby.arg(script).arg("--repo").arg(folder).arg("--profiles").arg(&self.profiles);
                run(ruby.args(more.split_whitespace()))
            })
        };
        let puppet = Times::once_or_more(PUPPET_RUNS, PUPPET_TIME, resolve)?;
        println!("{:<18} Puppet, both      {puppet}", self.name);
        let ratio = puppet.median().as_secs_f64() / diff.median().as_secs_f64();
        println!("{:<18} hierad is {ratio:.0} times as fast", self.name);
        Ok(())
    }

    /// Puts the files of a revision into a new folder; the repository stays as it is.
    fn check_out(&self, revision: &str, folder: &Path) -> Result<PathBuf> {
        let hex = Command::new("git").arg("-C").arg(&self.repository).args(["rev-parse", revision]).output()?.stdout;
        let hex = String::from_utf8(hex)?;
        let clone = ["clone", "--quiet", "--shared", "--no-checkout"];
        run(Command::new("git").args(clone).arg(&self.repository).arg(folder))?;
        run(Command::new("git").arg("-C").arg(folder).args(["checkout", "--quiet", "--detach", hex.trim()]))?;
        Ok(folder.to_owned())
    }
}

/// Runs a program to its end and drops what it prints; what it complains about is the error.
fn run(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let program: OsString = command.get_program().to_owned();
    Err(format!("{}: {}\n{}", program.display(), output.status, String::from_utf8_lossy(&output.stderr)).into())
}
