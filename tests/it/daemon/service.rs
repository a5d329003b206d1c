//! A daemon at work on a repository, its sinks, and what they got.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hierad::daemon::queue::Queue;
use serde_json::Value as Json;

use super::receiver::Receiver;
use crate::http::client::{Answer, raw, request};
use crate::support::Sandbox;
use crate::support::extent::pause;
use crate::support::terminal::hierad;

/// The longest time that anything takes, unless there is a fault.
const PATIENCE: Duration = Duration::from_mins(2);

/// A hierarchy of two levels, and three nodes.
pub(super) const SITE: &str = "
-- hiera.yaml
version: 5
hierarchy:
- {name: Node, path: 'nodes/%{trusted.certname}.yaml'}
- {name: Common, path: common.yaml}
-- data/common.yaml
number: 0
-- data/nodes/b.yaml
who: b
";

pub(super) const PROFILES: &str = "{\"name\": \"a\"}\n{\"name\": \"b\"}\n{\"name\": \"c\"}\n";

/// A repository with a folder, a command and a webhook as sinks.
pub(crate) struct Service {
    pub(crate) site: Sandbox,
    pub(super) receiver: Receiver,
}

/// The reports that a sink got: by id, the branch and the commit.
pub(super) type Got = BTreeMap<String, BTreeSet<(String, String)>>;

impl Service {
    /// With snapshots of each commit on references and in folders.
    pub(super) fn new() -> Service {
        Service::with_snapshots("{history: {ref: true}, tips: {folder: '../../tips/{branch}'}}")
    }

    pub(super) fn with_snapshots(snapshots: &str) -> Service {
        let site = Sandbox::of(SITE);
        fs::write(site.beside("profiles.ndjson"), PROFILES).unwrap();
        Service::of(site, &format!("snapshots: {snapshots}\n"))
    }

    /// For a repository that has its profiles beside it, with more settings.
    pub(crate) fn of(site: Sandbox, more: &str) -> Service {
        let receiver = Receiver::start();
        site.git(["config", "gc.auto", "0"]);
        let settings = format!(
            "profiles: {profiles}\nstate: {state}\n{more}{http}\
             sinks:\n  files: {{folder: {files}}}\n  \
             web: {{webhook: 'http://{web}/hook', timeout: 2}}\n  \
             told: {{command: [sh, -c, 'echo $HIERAD_ID $HIERAD_BRANCH $HIERAD_AFTER >> {told}']}}\n",
            http =
                if more.lines().any(|line| line.starts_with("http:")) { "" } else { "http: {listen: '127.0.0.1:0'}\n" },
            profiles = site.beside("profiles.ndjson").display(),
            state = site.beside("state").display(),
            files = site.beside("files").display(),
            told = site.beside("told").display(),
            web = receiver.address(),
        );
        fs::write(site.root().join(".git/hierad.yaml"), settings).unwrap();
        Service { site, receiver }
    }

    /// Starts the daemon; where it ends wrongly, what it said is in the log.
    pub(crate) fn start(&self) -> Child {
        let log = fs::File::options().create(true).append(true).open(self.site.beside("log")).unwrap();
        let mut command = hierad(self.site.root());
        command.args(["-v", "--color", "never", "watch", "--poll", "0.05"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.site.beside("log")).unwrap_or_default()
    }

    /// Waits until `is_so`.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_so() {
            let log = || self.log().lines().rev().take(20).collect::<Vec<_>>().join("\n");
            assert!(start.elapsed() < PATIENCE, "waited in vain for {what}; the log, backwards:\n{}", log());
            pause(start);
        }
    }

    /// Waits until so many reports are there and nothing is waiting, or that is to be expected no more.
    pub(super) fn settle(&self, reports: usize) {
        let start = Instant::now();
        while start.elapsed() < PATIENCE && !(self.files().len() >= reports && self.is_idle()) {
            pause(start);
        }
        assert_eq!(self.site.hierad("queue").ok(), "nothing is waiting\n");
    }

    /// The same, with nothing to tell of what happened meanwhile.
    #[track_caller]
    pub(super) fn patiently(what: &str, mut is_so: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
            pause(start);
        }
    }

    /// Returns true if nothing is waiting.
    pub(super) fn is_idle(&self) -> bool {
        self.site.hierad("queue").out == "nothing is waiting\n"
    }

    /// Does something to the queue, while no daemon works on it.
    pub(super) fn in_queue(&self, step: impl AsyncFnOnce(&Queue)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let queue = Queue::open(&self.site.beside("state")).await.unwrap();
            step(&queue).await;
            queue.close().await;
        });
    }

    /// Returns the address that the running daemon answers at.
    pub(crate) fn address(&self) -> SocketAddr {
        let address = || {
            let log = self.log();
            let (_, after) = log.rsplit_once("hierad: answering at http://")?;
            Some(after.split_once('\n')?.0.parse().unwrap())
        };
        self.wait("an address", || address().is_some());
        address().unwrap()
    }

    /// Asks the running daemon.
    pub(crate) fn get(&self, path: &str) -> Answer {
        raw(self.address(), &request("GET", path, "", b""))
    }

    /// Returns the metric of this name, or `None` if there is none.
    pub(super) fn metric(&self, name: &str) -> Option<u64> {
        self.get("/metrics").metric(name)?.parse().ok()
    }

    /// Ends the daemon as an operator does.
    pub(crate) fn end(&self, mut daemon: Child) {
        let killed = Command::new("kill").args(["-TERM", &daemon.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let status = daemon.wait().unwrap();
        assert!(status.success(), "{status}: {}", self.log());
    }

    /// The report of the commit `after` in the folder.
    pub(super) fn get_file(&self, after: &str) -> serde_json::Value {
        let files = fs::read_dir(self.site.beside("files")).unwrap();
        let reports = files.filter_map(|file| serde_json::from_slice(&fs::read(file.unwrap().path()).unwrap()).ok());
        reports.into_iter().find(|report: &serde_json::Value| report["after"]["commit"] == after).unwrap()
    }

    /// The files in the folder, whole reports all of them.
    pub(super) fn files(&self) -> Got {
        let mut got = Got::new();
        for path in self.paths() {
            let report: Json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let text = |value: &Json| value.as_str().unwrap().to_owned();
            let arrival = (text(&report["branch"]), text(&report["after"]["commit"]));
            got.entry(text(&report["event"]["id"])).or_default().insert(arrival);
        }
        got
    }

    /// The files in the folder.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.site.beside("files")) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
    }

    /// Returns the reports that the command got.
    pub(super) fn told(&self) -> Got {
        let mut got = Got::new();
        for line in fs::read_to_string(self.site.beside("told")).unwrap_or_default().lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [id, branch, commit] = words.as_slice() else { panic!("{line}") };
            got.entry((*id).to_owned()).or_default().insert(((*branch).to_owned(), (*commit).to_owned()));
        }
        got
    }

    /// Checks that each sink got the report of each of these commits, under one id, and nothing else.
    #[track_caller]
    pub(super) fn check(&self, made: &BTreeSet<(String, String)>) {
        let files = self.files();
        for (sink, got) in [("files", &files), ("told", &self.told()), ("web", &self.receiver.got())] {
            let all: Vec<&(String, String)> = got.values().flatten().collect();
            let distinct: BTreeSet<(String, String)> = all.iter().map(|arrival| (*arrival).clone()).collect();
            assert_eq!(all.len(), distinct.len(), "{sink}: a commit came under two ids");
            let lost: Vec<_> = made.difference(&distinct).collect();
            let odd: Vec<_> = distinct.difference(made).collect();
            assert!(lost.is_empty() && odd.is_empty(), "{sink}: lost {lost:?}, odd {odd:?}");
            assert_eq!(got, &files, "{sink} and files differ");
        }
        self.check_snapshots();
        self.site.hierad("queue check").ok();
    }

    /// Checks that the snapshots of each branch are one commit for each that was reported of it, in the same order.
    #[track_caller]
    fn check_snapshots(&self) {
        let mut reported: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut paths = self.paths();
        // They begin with their numbers.
        paths.sort();
        for path in paths {
            let report: Json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let text = |value: &Json| value.as_str().unwrap().to_owned();
            reported.entry(text(&report["branch"])).or_default().push(text(&report["after"]["commit"]));
        }
        for (branch, commits) in &reported {
            let reference = format!("refs/hierad/snapshots/{branch}");
            let format = "--format=%(trailers:key=Hierad-Commit,valueonly,separator=)";
            let log = self.site.git(["log", "--reverse", format, &reference]);
            assert_eq!(&log.lines().collect::<Vec<_>>(), commits, "{branch}");
        }
        let branches = self.site.git(["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        for branch in branches.lines().filter(|branch| reported.contains_key(*branch)) {
            self.check_folder(&format!("tips/{branch}"), branch);
        }
    }

    /// Checks that a folder has the snapshots of a revision. Only a process that was killed may have left more.
    #[track_caller]
    pub(super) fn check_folder(&self, folder: &str, revision: &str) {
        let expected = tempfile::tempdir().unwrap();
        self.site.hierad(&format!("render {revision} --output {}", expected.path().display())).ok();
        let differences = Command::new("diff")
            .args(["-r", "-x", ".hierad-*"])
            .arg(expected.path())
            .arg(self.site.beside(folder))
            .output();
        let differences = String::from_utf8(differences.unwrap().stdout).unwrap();
        assert_eq!(differences, "", "{folder} and {revision}");
    }
}
