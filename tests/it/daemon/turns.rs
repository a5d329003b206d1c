//! Branches take turns: a commit that takes long, or many of them, hold up no other branch.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Child;
use std::time::{Duration, Instant};

use super::attempts::with_patient_function;
use super::service::Service;

/// The longest time that a commit may wait for those of other branches, here where nothing is optimised.
const HELD_UP: Duration = Duration::from_mins(1);

/// A daemon that is killed in the end, even in the midst of what has no end.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// A daemon that has seen these branches, beside `main`.
fn started(branches: &[&str]) -> (Service, Killed) {
    let service = with_patient_function(600);
    for branch in branches {
        service.site.git(["branch", branch]);
    }
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    (service, Killed(daemon))
}

impl Service {
    /// Makes a commit on a branch whose function behaves like this.
    fn commit_on(&self, branch: &str, mood: &str) -> String {
        self.site.git(["switch", "--quiet", branch]);
        let commit = self.commit_mood(&format!("{mood} {branch} {}", self.files().len()));
        self.site.git(["switch", "--quiet", "main"]);
        commit
    }

    /// The number of times that a function was asked which never answers.
    fn asked(&self) -> usize {
        std::fs::read_to_string(self.site.beside("answer.asked")).unwrap_or_default().lines().count()
    }

    /// Makes a commit on a branch, and checks that its report is soon there.
    #[track_caller]
    fn is_reported_soon(&self, branch: &str) {
        let (commit, start) = (self.commit_on(branch, "quiet"), Instant::now());
        let arrival = (branch.to_owned(), commit);
        self.wait("its report", || self.files().values().any(|arrivals| arrivals.contains(&arrival)));
        assert!(start.elapsed() < HELD_UP, "{:?}", start.elapsed());
    }

    /// The branches of the reports, in the order in which they were made.
    fn order(&self) -> Vec<String> {
        let log = self.log();
        let resolved = log.lines().filter(|line| line.contains("resolved bytes="));
        let branch = |line: &str| line.split("branch=").nth(1).unwrap().split([' ', '}']).next().unwrap().to_owned();
        resolved.map(branch).collect()
    }
}

#[test]
fn a_commit_without_end_holds_up_no_other_branch() {
    let (service, _daemon) = started(&["hostile", "other"]);
    service.commit_on("hostile", "slow");
    service.wait("a question", || service.asked() == 1);
    let next = service.commit_on("hostile", "quiet");
    service.is_reported_soon("main");
    service.is_reported_soon("other");
    service.is_reported_soon("main");
    // The commits of the branch itself come in their order.
    let queue = service.site.hierad("queue");
    assert!(queue.ok().contains(&format!("waiting      hostile {}\n", &next[..8])), "{queue:?}");
}

#[test]
fn commits_without_end_on_several_branches_hold_up_no_other() {
    let (service, _daemon) = started(&["first", "second", "third", "other"]);
    for (number, branch) in ["first", "second"].into_iter().enumerate() {
        service.commit_on(branch, "slow");
        service.wait("a question", || service.asked() == number + 1);
    }
    service.commit_on("third", "slow");
    service.is_reported_soon("main");
    assert!(service.log().contains("a commit of another branch goes first"), "{}", service.log());
    service.wait("another one", || service.asked() >= 3);
    service.is_reported_soon("other");
}

#[test]
fn a_commit_that_is_tried_again_holds_up_no_other_branch() {
    let (service, daemon) = started(&["hostile", "other"]);
    service.commit_on("hostile", "slow");
    service.wait("a question", || service.asked() == 1);
    drop(daemon);
    let _daemon = Killed(service.start());
    service.wait("one more", || service.asked() == 2);
    service.is_reported_soon("main");
    service.is_reported_soon("other");
}

#[test]
fn a_commit_that_waits_to_be_tried_again_holds_up_no_other_branch() {
    let (service, _daemon) = started(&["hostile"]);
    service.site.sh("tree=$(echo garbage | git hash-object -t tree -w --stdin --literally)
        tree=$( (git ls-tree main; printf '040000 tree %s\\thostile\\n' $tree) | git mktree)
        git update-ref refs/heads/hostile $(git commit-tree -p main -m hostile $tree)");
    service.wait("a failure", || service.log().contains("trying again"));
    service.is_reported_soon("main");
    service.wait("the end of the other", || service.log().contains("it is set aside"));
    let log = service.log();
    assert!(log.find("resolved bytes=") < log.find("it is set aside"), "{log}");
}

#[test]
fn many_commits_hold_up_no_other_branch() {
    for (branch, last) in [("main", 1), ("other", 2)] {
        let (service, daemon) = started(&["hostile", "other"]);
        drop(daemon);
        for number in 0..12 {
            service.commit_on("hostile", &format!("quiet {number}"));
        }
        service.commit_on(branch, "quiet");
        let _daemon = Killed(service.start());
        service.wait("all reports", || service.order().len() == 13);
        let order = service.order();
        let turn = order.iter().position(|of| of == branch).unwrap();
        assert!(turn <= last, "{branch}: {order:?}");
    }
}

#[test]
fn a_default_branch_that_takes_long_holds_up_no_other() {
    let (service, _daemon) = started(&["one", "two"]);
    service.commit_on("main", "slow");
    service.wait("a question", || service.asked() == 1);
    service.is_reported_soon("one");
    service.is_reported_soon("two");
}

#[test]
fn commits_beside_each_other_are_reported_once_and_in_order() {
    let (service, _daemon) = started(&["one", "two"]);
    let mut made = BTreeSet::new();
    let mut order: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (number, mood) in ["pausing", "quiet", "quiet"].into_iter().enumerate() {
        for branch in ["one", "two", "main"] {
            let commit = service.commit_on(branch, &format!("{mood} {number}"));
            made.insert((branch.to_owned(), commit.clone()));
            order.entry(branch.to_owned()).or_default().push(commit);
        }
    }
    service.settle(made.len());
    service.check(&made);
    let log = service.log();
    for (branch, commits) in order {
        let place = |commit: &String| {
            let is_it = |line: &&str| line.contains("resolved bytes=") && line.contains(&format!("commit={commit}"));
            log.lines().position(|line| is_it(&line) && line.contains(&format!("branch={branch}")))
        };
        let places: Vec<Option<usize>> = commits.iter().map(place).collect();
        assert!(places.is_sorted() && places.iter().all(Option::is_some), "{branch}: {places:?}");
    }
    assert!(log.contains("in a process of its own"), "{log}");
}
