//! A daemon's reports against `diff`, and its snapshots against `render`, while everything around it changes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::image;
use super::site::Site;
use crate::support::{git_in, report};

/// The number of rounds of a sequence.
const ROUNDS: usize = 4;

/// The longest time that anything takes, unless there is a fault.
const PATIENCE: Duration = Duration::from_mins(1);

/// The branches; each is an environment of its own if the settings say so.
const BRANCHES: [&str; 2] = ["main", "test"];

/// Runs a sequence, and returns the number of comparisons.
pub(super) fn sequence(seed: u64) -> usize {
    let mut daemon = Daemon::start(seed);
    let mut compared = 0;
    for round in 0..ROUNDS {
        let changes = daemon.change();
        let commits = daemon.commit();
        for (branch, commit) in commits {
            let report = daemon.report(&commit);
            let environment = &daemon.environment;
            let told =
                format!("seed {seed}, round {round}, {branch} ({environment}) after {changes}: {}", daemon.log());
            assert_eq!(report, daemon.compared(branch, &commit), "{told}");
            daemon.await_snapshots(branch, &commit);
            assert_eq!(daemon.snapshots(branch), daemon.rendered(branch), "{told}");
            compared += 2;
        }
        if daemon.site.random.below(3) == 0 {
            compared += daemon.burst(&format!("seed {seed}, round {round}"));
        }
    }
    compared
}

struct Daemon {
    site: Site,
    /// The setting of the environment.
    environment: String,
    child: Child,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Daemon {
    fn start(seed: u64) -> Daemon {
        let mut site = Site::new(seed);
        site.sandbox.git(["branch", "test"]);
        site.sandbox.git(["worktree", "add", "--quiet", "../test", "test"]);
        let environment = Daemon::settings(&mut site);
        let log = fs::File::create(site.at("log")).unwrap();
        let mut command = site.command(site.sandbox.root(), "home");
        command.args(["-v", "--config", "../daemon.yaml", "watch", "--poll", "0.02"]);
        if let Some(image) = image() {
            command.env("LD_PRELOAD", image);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let daemon = Daemon { site, environment, child };
        daemon.wait("the daemon", || daemon.log().contains("hierad: watching"));
        daemon
    }

    /// Writes settings at random, and those of the daemon. Returns the line of the environment.
    fn settings(site: &mut Site) -> String {
        site.settings();
        let settings = fs::read_to_string(site.at("settings.yaml")).unwrap();
        let base = site.at("");
        let base = base.display();
        let text = format!(
            "{settings}branches: [main, test]\nstate: {base}state\nsinks: {{files: {{folder: {base}files}}}}\n\
             snapshots: {{tips: {{folder: '{base}tips/{{branch}}'}}}}\n"
        );
        fs::write(site.at("daemon.yaml"), text).unwrap();
        settings.lines().find(|line| line.starts_with("environment")).unwrap().to_owned()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.site.at("log")).unwrap()
    }

    #[track_caller]
    fn wait(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < end, "waited in vain for {what}: {}", self.log());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Changes something that the daemon is not told of.
    fn change(&mut self) -> &'static str {
        match self.site.random.below(4) {
            0..=1 => {
                self.site.profiles();
                "a change of profiles"
            }
            2 => {
                self.site.outside();
                "a change outside of the repository"
            }
            _ => "nothing",
        }
    }

    fn folder(&self, branch: &str) -> PathBuf {
        if branch == "main" { self.site.sandbox.root().to_owned() } else { self.site.at("test") }
    }

    /// Makes a commit on both branches at once, and returns them.
    fn commit(&mut self) -> Vec<(&'static str, String)> {
        self.site.data();
        let root = self.site.sandbox.root().to_owned();
        git_in(&root, ["add", "--all"]);
        let tree = git_in(&root, ["write-tree"]);
        let commit = |branch: &str| git_in(&root, ["commit-tree", "-m", "change", "-p", branch, &tree]);
        let commits: Vec<_> = BRANCHES.iter().map(|branch| (*branch, commit(branch))).collect();
        let update = commits.iter().map(|(branch, commit)| format!("update refs/heads/{branch} {commit}\\n"));
        self.site.sandbox.sh(&format!("printf '{}' | git update-ref --stdin", update.collect::<String>()));
        git_in(&self.site.at("test"), ["reset", "--quiet", "--hard"]);
        commits
    }

    /// Returns the parts of a commit's report that tell what it changes.
    fn report(&self, commit: &str) -> Json {
        let find = || {
            let files = fs::read_dir(self.site.at("files")).ok()?;
            let read = |path: PathBuf| fs::read(path).ok().map(report::read);
            let is_report = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
            let paths = files.map(|entry| entry.unwrap().path()).filter(is_report);
            paths.filter_map(read).find(|report| report["after"]["commit"] == commit)
        };
        self.wait("a report", || find().is_some());
        told(find().unwrap())
    }

    /// Returns the same by `diff`.
    fn compared(&self, branch: &str, commit: &str) -> Json {
        let arguments = ["diff", "--format", "json", &format!("{commit}^"), commit];
        told(report::read(self.clean(branch, &arguments)))
    }

    /// Runs a command in a clean home, with the settings of the daemon.
    fn clean(&self, branch: &str, arguments: &[&str]) -> Vec<u8> {
        let mut command = self.site.command(&self.folder(branch), "clean");
        let output = command.args(["--no-cache", "--config", "../settings.yaml"]).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    fn await_snapshots(&self, branch: &str, commit: &str) {
        let manifest = self.site.at("tips").join(branch).join("manifest.json");
        let is_there = || fs::read_to_string(&manifest).is_ok_and(|manifest| manifest.contains(commit));
        self.wait("snapshots", is_there);
    }

    fn snapshots(&self, branch: &str) -> BTreeMap<String, String> {
        files(&self.site.at("tips").join(branch))
    }

    fn rendered(&self, branch: &str) -> BTreeMap<String, String> {
        let folder = self.site.at("rendered");
        _ = fs::remove_dir_all(&folder);
        self.clean(branch, &["render", "--output", "../rendered"]);
        files(&folder)
    }

    /// Makes commits that mention a variable after another while a profile is written again and again, as a tool that
    /// collects facts does. Whichever state the reports are of, nothing is unknown.
    fn burst(&mut self, told: &str) -> usize {
        let root = self.site.sandbox.root().to_owned();
        let mut parent = git_in(&root, ["rev-parse", "main"]);
        let mut commits = Vec::new();
        let path = root.join("data/common.yaml");
        let former = fs::read_to_string(&path).unwrap();
        let start = self.site.random.below(1000);
        for n in start..start + 3 {
            fs::write(&path, format!("{former}more: 'at %{{facts.burst{n}}}'\n")).unwrap();
            git_in(&root, ["add", "--all"]);
            let tree = git_in(&root, ["write-tree"]);
            parent = git_in(&root, ["commit-tree", "-m", "burst", "-p", &parent, &tree]);
            commits.push(parent.clone());
        }
        let profile = self.site.at("nodes/n6.yaml");
        let write = |zone: &str| fs::write(&profile, format!("name: n6\nfacts: {{zone: {zone}}}\n")).unwrap();
        write("a");
        git_in(&root, ["update-ref", "refs/heads/main", &parent]);
        for n in 0..60 {
            write(&"z".repeat(1 + n % 7));
            std::thread::sleep(Duration::from_micros(1500));
        }
        for commit in &commits {
            let report = self.report(commit);
            assert!(!report.to_string().contains("unknown to hierad"), "{told}, in a burst: {report:#}{}", self.log());
        }
        fs::remove_file(profile).unwrap();
        self.await_snapshots("main", &parent);
        commits.len()
    }
}

/// Returns the parts of a report that tell what a commit changes.
fn told(mut report: Json) -> Json {
    let parts = ["changes", "causes", "node_sets", "nodes", "keys", "verdict", "blind_spots", "diagnostics"];
    parts.iter().map(|part| ((*part).to_owned(), report[*part].take())).collect::<serde_json::Map<_, _>>().into()
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
    };
    fs::read_dir(folder).unwrap().map(file).collect()
}
