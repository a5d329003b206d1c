//! The cost of hooks, on a synthetic fleet of 10,000 nodes with 5,000 keys: `hierad notify` from its start to its end,
//! and a commit with the installed hook beside one without. First without a daemon, then with one that is never at
//! rest: its branch is moved to and fro by the commit of the widest effect, again and again.
//!
//! The figure is the 99th percentile of the calls of each round. `HIERAD_BENCH_CALLS` is how many calls
//! a round has: 1000; `HIERAD_BENCH_RUNS` is the number of rounds: 3. There are a tenth as many commits.
#![allow(missing_docs, reason = "a program")]

mod measure;
mod synthetic;

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use measure::program::{HIERAD, Subject, run};
use measure::{Daemon, Result, Spread, Times, Wanted, print, runs};
use synthetic::{Synthetic, shape};

const BRANCH: &str = "watched";

fn main() -> Result<()> {
    let calls = measure::asked("HIERAD_BENCH_CALLS", 1000);
    let made = Synthetic::new(shape(10_000, 5_000, 10))?;
    let subject = &made.subject;
    run(Command::new(&*HIERAD).args(["hooks", "install", "post-commit", "--repo"]).arg(&subject.repository))?;
    all("no daemon", subject, calls)?;
    let daemon = Busy::start(subject)?;
    let (before, start) = (daemon.count(), Instant::now());
    all("a busy daemon", subject, calls)?;
    let reports = f64::from(daemon.count() - before) / start.elapsed().as_secs_f64();
    print("notify  meanwhile, reports of the daemon a second", &Spread::new([reports], ""), None);
    Ok(())
}

fn all(what: &str, subject: &Subject, calls: usize) -> Result<()> {
    let rounds: Result<Vec<f64>> = (0..runs(3)).map(|_| slowest_hundredth(subject, calls)).collect();
    print(&format!("notify  {what}, 99th percentile"), &Spread::new(rounds?, "ms"), Some(Wanted::AtMost(50.0)));
    let commit = |hooks: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(&subject.repository).args(hooks);
        run(git.args(["commit", "--quiet", "--allow-empty", "--message", "nothing"]))
    };
    let [with, without] = Times::of_each(
        (calls / 10).max(1),
        [&mut || commit(&[]), &mut || commit(&["-c", "core.hooksPath=/dev/null"])],
    )?;
    print(&format!("commit  {what}, without the hook"), &without.spread(), None);
    print(&format!("commit  {what}, with it"), &with.spread(), None);
    print(&format!("commit  {what}, how much more"), &with.more_than(&without), Some(Wanted::AtMost(60.0)));
    Ok(())
}

/// The time in milliseconds that one in a hundred of `calls` calls exceeds.
fn slowest_hundredth(subject: &Subject, calls: usize) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..calls.max(1) {
        let mut notify = Command::new(&*HIERAD);
        notify.arg("notify").current_dir(&subject.repository);
        notify.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let status = notify.status()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        if !status.success() {
            return Err(format!("hierad notify: {status}").into());
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[(times.len() * 99).div_ceil(100) - 1])
}

/// A daemon that always has something to do; it ends when this does.
struct Busy {
    _daemon: Daemon,
    reports: Arc<AtomicU32>,
    ends: Arc<AtomicBool>,
    mover: Option<JoinHandle<()>>,
}

impl Busy {
    fn start(subject: &Subject) -> Result<Busy> {
        subject.git(&["branch", BRANCH, "hierarchy"])?;
        let mut command = subject.hierad();
        command.args(["watch", "--branch", BRANCH, "--format", "json"]);
        let (reports, ends) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let counted = reports.clone();
        let daemon = Daemon::start(&mut command, move |_| _ = counted.fetch_add(1, Ordering::Relaxed))?;
        let (repository, ending) = (subject.repository.clone(), ends.clone());
        let mover = std::thread::spawn(move || {
            for place in ["hierarchy~1", "hierarchy"].iter().cycle() {
                if ending.load(Ordering::Relaxed) {
                    return;
                }
                let mut git = Command::new("git");
                git.arg("-C").arg(&repository).args(["update-ref", &format!("refs/heads/{BRANCH}"), place]);
                _ = run(&mut git);
            }
        });
        Ok(Busy { _daemon: daemon, reports, ends, mover: Some(mover) })
    }

    /// Returns the number of reports that it has written.
    fn count(&self) -> u32 {
        self.reports.load(Ordering::Relaxed)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        _ = self.mover.take().map(JoinHandle::join);
    }
}
