//! `hierad watch` on a synthetic fleet of 10,000 nodes with 5,000 keys: from the moment at which a branch moves to the
//! moment at which the whole report of it has been read from the daemon's standard output.
//!
//! First it is the commit by which hiera.yaml loses the level of the sites, again and again. Then the branch goes on by
//! one commit at a time, of a random kind, once the report of the last one is there and the daemon rests; those of the
//! hierarchy take any level away, or bring one back. The branch is moved by a `git update-ref --stdin` that runs
//! already: the clock starts when that is told to commit its transaction. Reports are lines of JSON.
//!
//! `HIERAD_BENCH_UPDATES` is how many commits there are: 150, of which a tenth are of the hierarchy;
//! `HIERAD_BENCH_RUNS` how often the level is lost: 15 times.
#![allow(missing_docs, reason = "a program")]

mod measure;
mod synthetic;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use measure::program::Subject;
use measure::{Daemon, Result, Spread, Wanted, print};
use synthetic::{Synthetic, shape};

const BRANCH: &str = "watched";

/// The commit before the one by which hiera.yaml loses a level, and that one.
const LEVEL_LOST: [&str; 2] = ["hierarchy~1", "hierarchy"];

/// The kind of commits that change hiera.yaml, in whatever way.
const HIERARCHY: &str = "hierarchy";

/// The longest time for a report.
const PATIENCE: Duration = Duration::from_mins(1);

/// The pause between a report and the next commit.
const REST: Duration = Duration::from_millis(50);

fn main() -> Result<()> {
    let updates = measure::asked("HIERAD_BENCH_UPDATES", 150);
    let made = Synthetic::new(shape(10_000, 5_000, updates))?;
    let subject = &made.subject;
    subject.git(&["branch", BRANCH, LEVEL_LOST[1]])?;
    let (mut watch, mut branch) = (Watch::start(subject)?, Branch::open(subject)?);
    let commits = LEVEL_LOST.map(|name| subject.git(&["rev-parse", name]));
    let [before, after] = commits.map(|commit| commit.map(|commit| commit.trim().to_owned()));
    show("a level less", &level_lost(&mut watch, &mut branch, &[before?, after?])?, Some(100.0));
    let mut times: BTreeMap<&str, Vec<Reported>> = BTreeMap::new();
    for (number, line) in subject.git(&["log", "--reverse", "--format=%H %s", "hierarchy..HEAD"])?.lines().enumerate() {
        let (commit, summary) = line.split_once(' ').unwrap_or((line, ""));
        let reported = branch.go_on(&mut watch, commit)?;
        // The first one is compared with a revision that the daemon has not seen last.
        if number > 0 {
            times.entry(kind(summary)).or_default().push(reported);
        }
    }
    for (kind, times) in &times {
        show(kind, times, (*kind != HIERARCHY).then_some(10.0));
    }
    let all: Vec<Reported> = times.into_values().flatten().collect();
    show("all", &all, Some(10.0));
    print("watch  reports", &Spread::new(all.iter().map(|reported| reported.size), "kB"), None);
    Ok(())
}

/// Goes back and forth between two commits, and ends at the second. What counts is the way there, but for the first
/// time.
fn level_lost(watch: &mut Watch, branch: &mut Branch, [before, after]: &[String; 2]) -> Result<Vec<Reported>> {
    let mut times = Vec::new();
    for _ in 0..=measure::runs(15) {
        branch.go_on(watch, before)?;
        times.push(branch.go_on(watch, after)?);
    }
    Ok(times.split_off(1))
}

fn show(kind: &str, times: &[Reported], limit: Option<f64>) {
    let times = Spread::new(times.iter().map(|reported| reported.milliseconds), "ms");
    print(&format!("watch  {kind}"), &times, limit.map(Wanted::AtMost));
}

/// The time of a report, and its kilobytes.
struct Reported {
    milliseconds: f64,
    size: f64,
}

/// The kind of a commit, by its message.
fn kind(summary: &str) -> &'static str {
    match summary.split(['/', ':']).next() {
        Some("nodes") => "node",
        Some("roles") => "role",
        Some("common.yaml") => "common",
        Some("lookup_options") => "options",
        _ => HIERARCHY,
    }
}

/// A daemon that watches the branch, and when its reports were there.
struct Watch {
    _daemon: Daemon,
    reports: Receiver<(Instant, Vec<u8>)>,
}

impl Watch {
    fn start(subject: &Subject) -> Result<Watch> {
        let mut command = subject.hierad();
        command.args(["watch", "--branch", BRANCH, "--format", "json"]);
        let (sender, reports) = channel();
        let daemon = Daemon::start(&mut command, move |line| _ = sender.send((Instant::now(), line)))?;
        Ok(Watch { _daemon: daemon, reports })
    }

    /// When the report of `commit`, which is the next, was there, and its size in kilobytes.
    fn report(&mut self, commit: &str) -> Result<(Instant, f64)> {
        let (time, line) = self.reports.recv_timeout(PATIENCE)?;
        let line = String::from_utf8(line)?;
        if line.contains(&format!("\"after\":{{\"commit\":\"{commit}\"")) {
            #[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
            return Ok((time, line.len() as f64 / 1e3));
        }
        Err(format!("not the report of {commit}: {}", line.chars().take(300).collect::<String>()).into())
    }
}

/// The watched branch, in the hands of git.
struct Branch {
    git: Child,
    input: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Branch {
    fn open(subject: &Subject) -> Result<Branch> {
        let mut command = Command::new("git");
        command.arg("-C").arg(&subject.repository).args(["update-ref", "--stdin"]);
        let mut git = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(input), Some(output)) = (git.stdin.take(), git.stdout.take()) else { return Err("no pipes".into()) };
        Ok(Branch { git, input, answers: BufReader::new(output) })
    }

    /// Goes on to `commit` and waits for the report.
    fn go_on(&mut self, watch: &mut Watch, commit: &str) -> Result<Reported> {
        self.prepare(commit)?;
        std::thread::sleep(REST);
        let start = Instant::now();
        self.commit()?;
        let (arrival, size) = watch.report(commit)?;
        Ok(Reported { milliseconds: (arrival - start).as_secs_f64() * 1e3, size })
    }

    /// Has git do all but the last step.
    fn prepare(&mut self, commit: &str) -> Result<()> {
        write!(self.input, "start\nupdate refs/heads/{BRANCH} {commit}\nprepare\n")?;
        self.input.flush()?;
        self.answer("start: ok")?;
        self.answer("prepare: ok")
    }

    /// Moves the branch.
    fn commit(&mut self) -> Result<()> {
        self.input.write_all(b"commit\n")?;
        self.input.flush()?;
        self.answer("commit: ok")
    }

    fn answer(&mut self, wanted: &str) -> Result<()> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.trim_end() == wanted { Ok(()) } else { Err(format!("git update-ref: {line}").into()) }
    }
}

impl Drop for Branch {
    fn drop(&mut self) {
        _ = self.git.kill();
        _ = self.git.wait();
    }
}
