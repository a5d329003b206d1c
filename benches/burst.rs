//! Very many commits at once: 10,000 that come to the branch of the demo's repository in one push, from the push until
//! all of their reports are with two sinks, standard output and a folder. How many a second, and whether the daemon's
//! memory stays flat: what it has at the end beside what it had halfway.
//!
//! `HIERAD_BENCH_COMMITS` is how many commits there are: 10000; `HIERAD_BENCH_RUNS` is the number of rounds: 3.
#![allow(missing_docs, reason = "a program")]

mod measure;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use measure::program::{HIERAD, run};
use measure::{Daemon, Result, Spread, Wanted, memory, print, runs};

/// The limit on cached parsed files, in MiB.
const CACHE: &str = "16";

/// The longest time for one report.
const PATIENCE: Duration = Duration::from_mins(1);

fn main() -> Result<()> {
    let commits = measure::asked("HIERAD_BENCH_COMMITS", 10_000);
    let rounds: Result<Vec<Round>> = (0..runs(3)).map(|_| round(commits)).collect();
    let rounds = rounds?;
    let spread = |unit, figure: fn(&Round) -> Option<f64>| {
        let values: Option<Vec<f64>> = rounds.iter().map(figure).collect();
        values.map(|values| Spread::new(values, unit))
    };
    let show = |what: &str, spread: Option<Spread>, wanted| {
        if let Some(spread) = spread {
            print(&format!("burst  {commits} commits, {what}"), &spread, wanted);
        }
    };
    show("all reported after", spread("s", |round| Some(round.seconds)), None);
    show("reported a second", spread("", |round| Some(round.rate)), None);
    show("memory at the end", spread("MiB", |round| round.memory.last().copied().flatten()), None);
    let growth = |round: &Round| Some(round.memory[1]? / round.memory[0]?);
    show("as much as halfway", spread("times", growth), Some(Wanted::AtMost(1.1)));
    Ok(())
}

struct Round {
    seconds: f64,
    rate: f64,
    /// Halfway and at the end, in MiB, where the system tells.
    memory: [Option<f64>; 2],
}

fn round(commits: usize) -> Result<Round> {
    let temporary = tempfile::tempdir()?;
    let site = Site::new(temporary.path())?;
    site.prepare(commits)?;
    let (daemon, reports) = site.watch()?;
    let start = Instant::now();
    site.git(&["update-ref", "refs/heads/main", "refs/prepared"])?;
    let wait_for = |count| (0..count).try_for_each(|_| reports.recv_timeout(PATIENCE));
    wait_for(commits / 2)?;
    let halfway = memory::resident(daemon.id());
    wait_for(commits - commits / 2)?;
    while fs::read_dir(&site.reports)?.count() < commits {
        std::thread::yield_now();
    }
    let seconds = start.elapsed().as_secs_f64();
    let memory = [halfway, memory::resident(daemon.id())];
    #[allow(clippy::cast_precision_loss, reason = "thousands")]
    let rate = commits as f64 / seconds;
    Ok(Round { seconds, rate, memory })
}

/// The demo's repository, with settings of a daemon.
struct Site {
    repository: PathBuf,
    reports: PathBuf,
}

impl Site {
    fn new(folder: &Path) -> Result<Site> {
        let demo = folder.join("demo");
        run(Command::new(&*HIERAD).arg("demo").arg("--keep").arg(&demo))?;
        let site = Site { repository: demo.join("data"), reports: folder.join("reports") };
        let settings = format!(
            "profiles: {}\nstate: {}\nsinks: {{out: {{stdout: true}}, files: {{folder: {}}}}}\n",
            demo.join("profiles").display(),
            folder.join("state").display(),
            site.reports.display()
        );
        fs::write(site.repository.join(".git/hierad.yaml"), settings)?;
        Ok(site)
    }

    /// A daemon, and a message for each of its reports.
    fn watch(&self) -> Result<(Daemon, Receiver<()>)> {
        let mut command = Command::new(&*HIERAD);
        command.arg("--repo").arg(&self.repository).args(["--cache-size", CACHE, "watch"]);
        let (sender, reports) = channel();
        let daemon = Daemon::start(&mut command, move |_| _ = sender.send(()))?;
        Ok((daemon, reports))
    }

    fn git(&self, arguments: &[&str]) -> Result<()> {
        run(Command::new("git").arg("-C").arg(&self.repository).args(arguments))
    }

    /// Makes so many commits, which no branch has: each gives a key of all nodes another value.
    fn prepare(&self, commits: usize) -> Result<()> {
        let common = fs::read_to_string(self.repository.join("data/common.yaml"))?;
        let mut git = Command::new("git");
        git.arg("-C").arg(&self.repository).args(["fast-import", "--quiet"]);
        let mut import = git.stdin(Stdio::piped()).spawn()?;
        let mut stream = import.stdin.take().ok_or("no pipe")?;
        for number in 1..=commits {
            let text = format!("{common}\nburst: {number}\n");
            writeln!(stream, "commit refs/prepared\ncommitter a <a@example.com> {number} +0000\ndata 1\n.")?;
            if number == 1 {
                writeln!(stream, "from refs/heads/main^0")?;
            }
            writeln!(stream, "M 100644 inline data/common.yaml\ndata {}\n{text}", text.len())?;
        }
        drop(stream);
        if import.wait()?.success() { Ok(()) } else { Err("git fast-import has failed".into()) }
    }
}
