//! The daemon, its settings and what it says.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::clock::Clock;
use crate::daemon::receiver::Receiver;
use crate::http::client::{Answer, raw, request};
use crate::support::terminal::{hierad, run};

/// The longest time that anything takes, unless there is a fault.
const PATIENCE: Duration = Duration::from_mins(5);

/// The words of a schedule that has looked at the clock.
pub(super) const LOOK: &str = "waiting for the time";

/// The words of the log that are counted.
const COUNTED: [&str; 5] =
    ["INFO reloaded", "hierad: answering at http://", "name=\"nightly\"", "name=\"hourly\"", LOOK];

/// A daemon in a folder, where its receivers are, too.
pub(super) struct Daemon {
    place: TempDir,
    pub(super) clock: Clock,
    pub(super) receiver: Receiver,
    child: Option<Child>,
    log: Log,
}

/// The words of the daemon so far.
struct Log {
    path: PathBuf,
    read: u64,
    counts: BTreeMap<&'static str, usize>,
    address: Option<SocketAddr>,
    /// The errors that nobody expects.
    errors: Vec<String>,
}

impl Daemon {
    /// Makes one that is not yet started, or returns `None` where its clock cannot be set.
    pub(super) fn new() -> Option<Daemon> {
        let place = tempfile::tempdir().unwrap();
        let clock = Clock::new(place.path().join("clock"))?;
        let counts = COUNTED.into_iter().map(|words| (words, 0)).collect();
        let log = Log { path: place.path().join("log"), read: 0, counts, address: None, errors: Vec::new() };
        Some(Daemon { place, clock, receiver: Receiver::start(), child: None, log })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Writes its settings, with these lines of `repositories`.
    pub(super) fn settings(&self, repositories: &[String]) {
        let web = self.receiver.address();
        let tell = "test ! -e dead && echo $HIERAD_ID $HIERAD_NUMBER $HIERAD_REPOSITORY $HIERAD_BRANCH \
                    $HIERAD_BEFORE $HIERAD_AFTER >> told";
        let settings = format!(
            "profiles: profiles.ndjson\nstate: state\nkeep_reports: 10\nhttp: {{listen: '127.0.0.1:0'}}\n\
             sinks:\n  files: {{folder: files}}\n  \
             web: {{webhook: 'http://{web}/hook', timeout: 2, retry_for: 100000}}\n  \
             told: {{command: [sh, -c, '{tell}']}}\n\
             snapshots:\n  history: {{ref: true, prune: true}}\n  \
             tips: {{folder: 'tips/{{repository}}', branches: main}}\n  \
             nightly: {{folder: 'nightly/{{repository}}', branches: main, schedule: '30 2 * * *', \
             time_zone: Europe/Berlin}}\n  \
             hourly: {{folder: 'hourly/{{repository}}', branches: main, schedule: '@hourly'}}\n\
             repositories:\n  {}\n",
            repositories.join("\n  ")
        );
        fs::write(self.path("hierad.yaml"), settings).unwrap();
    }

    fn command(&self) -> Command {
        let mut command = hierad(self.place.path());
        self.clock.give(&mut command);
        command.env("TZ", "Europe/Berlin").args(["--config", "hierad.yaml"]);
        command
    }

    pub(super) fn start(&mut self) {
        let said = File::options().create(true).append(true).open(&self.log.path).unwrap();
        let mut command = self.command();
        command.args(["-v", "--color", "never", "watch", "--poll", "0.05"]);
        let before = self.count("hierad: answering at http://");
        self.child = Some(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).spawn().unwrap());
        self.wait("the daemon", |daemon| daemon.count("hierad: answering at http://") > before);
    }

    pub(super) fn child(&self) -> &Child {
        self.child.as_ref().unwrap()
    }

    pub(super) fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "the daemon has ended by itself: {ended:?}\n{}", self.tail());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.child().id().to_string()]).status().unwrap().success());
    }

    /// Has it read its settings again.
    pub(super) fn reload(&mut self) {
        let before = self.count("INFO reloaded");
        self.signal("-HUP");
        self.wait("a reload", |daemon| daemon.count("INFO reloaded") > before);
    }

    pub(super) fn end(&mut self) {
        self.signal("-TERM");
        let status = self.child.take().unwrap().wait().unwrap();
        assert!(status.success(), "{status}: {}", self.tail());
    }

    /// Runs `hierad queue` with more arguments.
    pub(super) fn queue(&self, arguments: &str) -> String {
        run(self.command().arg("queue").args(arguments.split_whitespace())).ok().to_owned()
    }

    pub(super) fn get(&self, path: &str) -> Answer {
        raw(self.log.address.unwrap(), &request("GET", path, "", b""))
    }

    /// Waits until `is_so`.
    #[track_caller]
    pub(super) fn wait(&mut self, what: &str, mut is_so: impl FnMut(&mut Daemon) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so(self) {
            if let Some(child) = &mut self.child {
                let ended = child.try_wait().unwrap();
                assert!(ended.is_none(), "the daemon has ended by itself: {ended:?}\n{}", self.tail());
            }
            assert!(Instant::now() < end, "waited in vain for {what} in {}\n{}", self.place(), self.tail());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Keeps its folder where a test has failed.
    pub(super) fn place(&self) -> String {
        self.place.path().display().to_string()
    }

    fn tail(&self) -> String {
        let log = fs::read_to_string(&self.log.path).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    /// Returns how often scheduled work was done, or how often it said these words.
    pub(super) fn count(&mut self, words: &'static str) -> usize {
        self.log.read_on();
        self.log.counts[words]
    }

    pub(super) fn errors(&mut self) -> &[String] {
        self.log.read_on();
        &self.log.errors
    }
}

impl Log {
    fn read_on(&mut self) {
        let Ok(mut file) = File::open(&self.path) else { return };
        file.seek(SeekFrom::Start(self.read)).unwrap();
        let mut text = Vec::new();
        file.read_to_end(&mut text).unwrap();
        let Some(end) = text.iter().rposition(|byte| *byte == b'\n') else { return };
        self.read += end as u64 + 1;
        for line in String::from_utf8_lossy(&text[..=end]).lines() {
            self.line(line);
        }
    }

    fn line(&mut self, line: &str) {
        let is_run = line.contains("scheduled work is done");
        for (words, count) in &mut self.counts {
            *count += usize::from(line.contains(words) && (is_run || !words.starts_with("name")));
        }
        if let Some((_, address)) = line.split_once("hierad: answering at http://") {
            self.address = Some(address.trim().parse().unwrap());
        }
        // The command is dead for days at times.
        if (line.contains("ERROR") && !line.contains("sink=\"told\"")) || line.contains("panicked") {
            self.errors.push(line.to_owned());
        }
    }
}

/// The names of what is in a folder, without what is hidden.
pub(super) fn listed(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            _ = child.kill();
            _ = child.wait();
        }
        self.place.disable_cleanup(std::thread::panicking());
    }
}
