//! The daemon holds no more after many commits, branches and reloads than after few.
//!
//! `HIERAD_SOAK_COMMITS` sets the number of commits (20,000 in the long test), of which each branch has forty.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command};

use git2::{Oid, Repository, Signature, Time};
use hierad::daemon::queue::Queue;
use hierad::git::{BranchName, CommitId};
use sqlx::{Connection, SqliteConnection};

use super::service::Service;

/// The commits of a branch before it is deleted.
const COMMITS: usize = 40;

/// The branches between two reloads.
const BRANCHES: usize = 10;

/// Settings with which nothing is kept that is older than a second, and each branch is an environment.
const SETTINGS: &str = "keep_reports: 0.00001\nenvironment: branch\n";

/// The sizes that must not grow.
type Sizes = BTreeMap<&'static str, u64>;

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

    /// Makes a commit on top of another one, with a value of its own, and moves the branch there.
    fn commit(&mut self, branch: &str, parent: Oid) -> Oid {
        self.count += 1;
        let repository = &self.repository;
        let parent = repository.find_commit(parent).unwrap();
        let old = parent.tree().unwrap();
        let data = repository.find_tree(old.get_name("data").unwrap().id()).unwrap();
        let blob = repository.blob(format!("number: {}\n", self.count).as_bytes()).unwrap();
        let mut data = repository.treebuilder(Some(&data)).unwrap();
        data.insert("common.yaml", blob, 0o100_644).unwrap();
        let mut root = repository.treebuilder(Some(&old)).unwrap();
        root.insert("data", data.write().unwrap(), 0o040_000).unwrap();
        let tree = repository.find_tree(root.write().unwrap()).unwrap();
        let who = Signature::new("Ada", "ada@example.com", &Time::new(1_700_000_000, 0)).unwrap();
        let id = repository.commit(None, &who, &who, &format!("commit {}", self.count), &tree, &[&parent]).unwrap();
        insist(|| repository.reference(&format!("refs/heads/{branch}"), id, true, "test").map(drop));
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
        insist(|| self.repository.find_reference(&format!("refs/heads/{branch}"))?.delete());
    }

    fn reload(&self, times: usize) {
        let told = Command::new("kill").args(["-HUP", &self.daemon.id().to_string()]).status().unwrap();
        assert!(told.success());
        self.service.wait("a reload", || self.service.log().matches("INFO reloaded").count() == times);
    }

    async fn sizes(&self) -> Sizes {
        let process = format!("/proc/{}", self.daemon.id());
        let maps = fs::read_to_string(format!("{process}/maps")).unwrap();
        let status = fs::read_to_string(format!("{process}/status")).unwrap();
        // Without the packs that are mapped, which grow with the history.
        let resident = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        let resident: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
        let state = self.service.site.beside("state");
        let bytes = fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
        let database = format!("sqlite://{}", state.join("queue.db").display());
        let mut connection = SqliteConnection::connect(&database).await.unwrap();
        let mut sizes = Sizes::from([
            ("descriptors", fs::read_dir(format!("{process}/fd")).unwrap().count() as u64),
            ("mappings", maps.lines().filter(|line| line.contains("/objects/")).count() as u64),
            ("deleted files", maps.lines().filter(|line| line.contains("(deleted)")).count() as u64),
            ("memory in kB", resident),
            ("bytes of the state", bytes),
            ("references", self.service.site.git(["for-each-ref", "refs/hierad"]).lines().count() as u64),
        ]);
        for table in ["job", "report", "delivery", "resolution", "branch"] {
            let query = sqlx::query_scalar(sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}")));
            let rows: i64 = query.fetch_one(&mut connection).await.unwrap();
            sizes.insert(table, rows.unsigned_abs());
        }
        connection.close().await.unwrap();
        sizes
    }
}

/// Changes a reference as soon as git does not pack it.
fn insist(change: impl Fn() -> Result<(), git2::Error>) {
    while let Err(error) = change() {
        assert_eq!(error.code(), git2::ErrorCode::Locked, "{error}");
        std::thread::sleep(std::time::Duration::from_millis(1));
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

/// Checks that the sizes at the end are those of the beginning, but for some of each.
fn check(rounds: &[Sizes], slack: &[(&str, u64)]) {
    let (begin, end) = rounds.split_at(rounds.len() / 2);
    for name in rounds[0].keys() {
        let most = |rounds: &[Sizes]| rounds.iter().map(|sizes| sizes[name]).max().unwrap();
        let allowed = slack.iter().find(|(of, _)| of == name).map_or(0, |(_, slack)| *slack);
        assert!(most(end) <= most(begin) + allowed, "{name}: {} after {}: {rounds:#?}", most(end), most(begin));
    }
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
