//! The daemon holds no more after many commits, branches and reloads than after few.
//!
//! `HIERAD_SOAK_COMMITS` sets the number of commits (20,000 in the long test), of which each branch has forty.

use std::fs;
use std::process::{Child, Command};

use git2::{Oid, Repository};
use hierad::daemon::queue::Queue;
use hierad::git::{BranchName, CommitId};

use super::numbered;
use super::service::Service;
use super::sizes::{Sizes, check, sizes};

/// The commits of a branch before it is deleted.
const COMMITS: usize = 40;

/// The branches between two reloads.
const BRANCHES: usize = 10;

/// Settings with which nothing is kept that is older than a second, and each branch is an environment.
const SETTINGS: &str = "keep_reports: 0.00001\nenvironment: branch\n";

struct Soak {
    service: Service,
    daemon: Child,
    repository: Repository,
    count: usize,
}

impl Soak {
    fn start() -> Soak {
        let service =
            Service::with_snapshots("{history: {ref: true, prune: true}, tips: {folder: '../../tips/{branch}'}}");
        let path = service.site.root().join(".git/hierad.yaml");
        let settings = fs::read_to_string(&path).unwrap();
        // Their receivers keep all that they get, which is not the daemon's fault.
        let (settings, _) = settings.split_once("sinks:").unwrap();
        fs::write(&path, format!("{settings}{SETTINGS}sinks: {{log: {{stdout: true}}}}\n")).unwrap();
        service.site.git(["config", "--unset", "gc.auto"]);
        service.site.git(["config", "gc.autoDetach", "false"]);
        let daemon = service.start();
        service.wait("the daemon", || service.log().contains("hierad: watching"));
        let repository = Repository::open(service.site.root()).unwrap();
        Soak { service, daemon, repository, count: 0 }
    }

    /// Makes a commit on top of another one, and moves the branch there.
    fn commit(&mut self, branch: &str, parent: Oid) -> Oid {
        self.count += 1;
        let id = numbered::commit(&self.repository, parent, self.count as u64);
        numbered::advance(&self.repository, branch, id);
        id
    }

    /// Makes a branch with some commits, waits until all is done with them, and deletes it.
    async fn branch(&mut self, number: usize, commits: usize, queue: &Queue) {
        // Each is in the way of the next one.
        let branch = format!("feature{}{}", number / 2, if number.is_multiple_of(2) { "" } else { "/x" });
        let mut tip = self.repository.refname_to_id("refs/heads/main").unwrap();
        for _ in 0..commits {
            tip = self.commit(&branch, tip);
        }
        let (name, tip) = (BranchName::new(branch.as_str()), CommitId::from_hex(&tip.to_string()));
        let repository = self.service.site.open().name();
        let end = std::time::Instant::now() + std::time::Duration::from_mins(2);
        loop {
            let checkpoint = queue.checkpoint(&repository.as_str().into()).await.unwrap().unwrap_or_default();
            if checkpoint.branches.get(&name).copied() == tip && queue.counts().await.unwrap().is_empty() {
                break;
            }
            assert!(std::time::Instant::now() < end, "{branch} is not done: {}", self.service.log());
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        numbered::delete(&self.repository, &branch);
    }

    fn reload(&self, times: usize) {
        let told = Command::new("kill").args(["-HUP", &self.daemon.id().to_string()]).status().unwrap();
        assert!(told.success());
        self.service.wait("a reload", || self.service.log().matches("INFO reloaded").count() == times);
    }

    async fn sizes(&self) -> Sizes {
        let references = self.service.site.git(["for-each-ref", "refs/hierad"]).lines().count();
        sizes(&self.daemon, &self.service.site.beside("state"), references).await
    }
}

/// Runs so many branches with so many commits each, with a reload after each `round` of them. Returns the sizes after
/// each round.
fn soak(branches: usize, commits: usize, round: usize) -> Vec<Sizes> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut soak = Soak::start();
    let mut rounds = Vec::new();
    runtime.block_on(async {
        let queue = Queue::open(&soak.service.site.beside("state")).await.unwrap();
        for number in 0..branches {
            soak.branch(number, commits, &queue).await;
            if (number + 1).is_multiple_of(round) {
                soak.reload((number + 1) / round);
                let sizes = soak.sizes().await;
                println!("{:>6} commits: {sizes:?}", soak.count);
                rounds.push(sizes);
            }
        }
        queue.close().await;
    });
    let Soak { service, daemon, .. } = soak;
    service.end(daemon);
    service.site.hierad("queue check").ok();
    rounds
}

#[test]
fn nothing_grows_with_commits_and_branches() {
    let rounds = soak(12, 5, 2);
    // So few rounds show leaks of files, not of memory.
    check(
        &rounds,
        &[
            ("memory in kB", 50_000),
            ("bytes of the state", 1 << 20),
            ("descriptors", 8),
            ("mappings", 40),
            ("job", 20),
            ("report", 20),
            ("delivery", 60),
            ("resolution", 20),
            ("references", 4),
        ],
    );
}

#[test]
#[ignore = "takes long"]
fn nothing_grows_with_twenty_thousand_commits() {
    let commits = std::env::var("HIERAD_SOAK_COMMITS").ok().and_then(|value| value.parse().ok()).unwrap_or(20_000);
    let rounds = soak(commits / COMMITS, COMMITS, BRANCHES);
    let (memory, state) = (rounds[0]["memory in kB"] / 4, 1 << 20);
    // What is forgotten after a second may be there or not when it is counted.
    let round = (COMMITS * BRANCHES) as u64;
    check(
        &rounds,
        &[
            ("memory in kB", memory),
            ("bytes of the state", state),
            ("descriptors", 10),
            ("mappings", 60),
            ("references", 4),
            ("job", round),
            ("report", round),
            ("delivery", 3 * round),
            ("resolution", round),
        ],
    );
}
