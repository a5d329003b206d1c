//! Full disks, receivers that are down, and a repository that is tidied up under the daemon.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hierad::event::{CommitEvent, EventKind, JobNumber};
use hierad::git::{BranchName, CommitId};

use super::receiver::Mood;
use super::script::Script;
use super::service::Service;
use crate::hostile::attacks::doubling_trees;

#[test]
fn receivers_get_all_reports_after_an_outage() {
    let service = Service::new();
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    let mut script = Script::new(service.site.root(), 3);
    let refused = || service.metric("hierad_deliveries_total{sink=\"web\",result=\"refused\"}").unwrap();
    let backlog = || service.metric("hierad_queue_items{stage=\"undelivered\",sink=\"web\"}").unwrap();
    assert_eq!((refused(), backlog()), (0, 0));
    for mood in [Mood::Broken, Mood::Rude, Mood::Silent] {
        service.receiver.set(mood);
        let words = match mood {
            Mood::Broken => "500 Internal Server Error",
            Mood::Rude => "error sending request",
            _ => "operation timed out",
        };
        let before = refused();
        script.calm_steps(4);
        service.wait("the other sinks", || service.told().len() == script.made.len());
        service.wait("an error of the webhook", || service.log().contains(words));
        service.wait("the error in the queue", || service.site.hierad("queue").ok().contains(words));
        service.wait("a count", || refused() > before);
        assert_eq!(backlog(), script.made.len() as u64);
        service.get("/health/ready").ok();
    }
    service.receiver.set(Mood::Good);
    service.site.hierad("queue retry --sink web").ok();
    service.wait("all reports", || service.is_idle());
    assert_eq!(backlog(), 0);
    service.end(daemon);
    service.check(&script.made);
}

#[test]
fn reports_come_in_order_after_an_outage() {
    let service = Service::new();
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    service.receiver.set(Mood::Broken);
    service.site.commit("one");
    service.site.commit("two");
    let refused = || service.metric("hierad_deliveries_total{sink=\"web\",result=\"refused\"}").unwrap();
    service.wait("an attempt", || refused() > 0 && service.files().len() == 2);
    service.end(daemon);
    // As after some hours.
    service.in_queue(async |queue| {
        queue.not_delivered(JobNumber(1), "web", "no", Some(Duration::from_mins(30))).await.unwrap();
    });
    service.receiver.set(Mood::Good);
    let daemon = service.start();
    service.site.commit("three");
    service.wait("all reports", || service.is_idle() && service.files().len() == 3);
    service.end(daemon);
    let reports = service.receiver.reports();
    let summaries: Vec<&str> = reports.iter().map(|report| report["after"]["summary"].as_str().unwrap()).collect();
    assert_eq!(summaries, ["one", "two", "three"]);
}

#[test]
fn garbage_collection_loses_no_commit() {
    let service = Service::new();
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    let mut script = Script::new(service.site.root(), 4);
    for number in 0..40 {
        script.step(&mut |branch, commit| {
            let arrival = (branch.to_owned(), commit.to_owned());
            service.wait("a report", || service.files().values().any(|arrivals| arrivals.contains(&arrival)));
        });
        if number % 4 == 0 {
            service.site.sh("git reflog expire --expire=now --all; git gc --quiet --prune=now");
        }
    }
    service.wait("all reports", || service.is_idle() && service.files().len() >= script.made.len());
    service.end(daemon);
    service.check(&script.made);
}

#[test]
fn collected_commits_delay_nothing() {
    let service = Service::new();
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    service.wait("its first look", || service.get("/health/ready").status == 200);
    service.end(daemon);
    let collect = "git reflog expire --expire=now --all; git gc --quiet --prune=now";
    // What the daemon knows as the tip of main is gone when it is back.
    service.site.sh(&format!("git commit -q --amend --allow-empty -m amended; {collect}"));
    let amended = service.site.id("HEAD").to_string();
    let daemon = service.start();
    service.wait("a report", || service.told().len() == 1);
    assert!(service.log().contains("git has collected the former tip"), "{}", service.log());
    service.end(daemon);
    service.check(&[("main".to_owned(), amended.clone())].into());
    // So is a commit that is a job, and it is no use to wait for it.
    let gone = CommitId::from_hex(&"1".repeat(40)).unwrap();
    let event = CommitEvent::new(BranchName::new("main"), None, gone, EventKind::New);
    service.in_queue(async |queue| queue.add(&"repository".into(), &[event]).await.unwrap());
    let daemon = service.start();
    service.wait("a report", || service.told().len() == 2);
    service.end(daemon);
    let is_told = |line: &str| line.contains(&format!("job=2 commit={gone}")) && line.contains("it is set aside");
    assert!(service.log().lines().any(is_told), "{}", service.log());
    assert!(service.site.hierad("queue").ok().contains("2  failed       main 11111111, tried once: object 1111"));
}

#[test]
fn a_commit_that_is_too_large_is_set_aside_and_told() {
    let service = Service::new();
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    let first = service.site.id("HEAD").to_string();
    let hostile = doubling_trees(&service.site);
    service.wait("the refusal", || service.site.hierad("queue").out.contains("more entries than hierad reads"));
    service.site.sh(
        "tree=$(git rev-parse main~1^{tree}); git update-ref refs/heads/main $(git commit-tree -p main -m good $tree)",
    );
    let good = service.site.id("main").to_string();
    service.wait("the next report", || service.told().len() == 1);
    service.end(daemon);
    service.site.hierad("queue").ok();
    let report = service.get_file(&good);
    assert_eq!(report["before"]["commit"], first.as_str(), "{report}");
    let told = report["diagnostics"].to_string();
    assert!(told.contains(&hostile) && told.contains("could not be resolved"), "{report}");
}

#[test]
fn a_daemon_starts_beside_a_tip_that_cannot_be_read() {
    let service = Service::new();
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    service.site.sh("tree=$(echo garbage | git hash-object -t tree -w --stdin --literally)
        tree=$( (git ls-tree main; printf '040000 tree %s\\thostile\\n' $tree) | git mktree)
        git update-ref refs/heads/main $(git commit-tree -p main -m hostile $tree)");
    let hostile = service.site.id("main").to_string();
    service.wait("the refusal", || service.site.hierad("queue").out.contains("damaged"));
    service.end(daemon);
    let daemon = service.start();
    service.wait("the daemon", || service.log().matches("hierad: answering at").count() == 2);
    service.site.sh("git update-ref refs/heads/main $(git commit-tree -p main -m good main~1^{tree})");
    service.wait("the next report", || service.told().len() == 1);
    let good = service.site.id("main").to_string();
    service.end(daemon);
    assert!(service.get_file(&good)["diagnostics"].to_string().contains(&hostile));
}

#[test]
#[ignore = "needs a system that lets users mount"]
fn a_full_disk_loses_no_report() {
    let service = Service::new();
    let mut small = SmallDisk::mount(&service);
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    let mut script = Script::new(service.site.root(), 5);
    let failures = || service.metric("hierad_queue_failures_total").unwrap();
    for round in 0..3 {
        service.wait("health", || service.get("/health/ready").status == 200);
        let before = failures();
        small.run("head -c 16000000 /dev/zero > $STATE/ballast 2>/dev/null; echo full >> $LOG");
        service.wait("a full disk", || service.log().matches("\nfull").count() > round);
        script.calm_steps(10);
        service.wait("an error", || service.log().matches("disk is full").count() > round);
        service.wait("a count", || failures() > before);
        service.wait("ill health", || service.get("/health/ready").body.contains("the queue cannot be used"));
        assert_eq!(service.get("/health/ready").status, 503);
        service.get("/health/live").ok();
        small.run("rm $STATE/ballast; echo free >> $LOG");
        service.wait("all reports", || service.told().len() >= script.made.len());
    }
    service.wait("health", || service.get("/health/ready").status == 200);
    service.wait("all reports of the webhook", || service.receiver.got().len() >= script.made.len());
    small.end();
    let again = service.log().matches("looking for commits works again").count();
    assert!(again <= 3, "it works again when commits were taken: {}", service.log());
    assert!(service.log().contains("a signal asks the daemon to end"), "{}", service.log());
}

/// A daemon whose state is on a disk of its own, which is small.
struct SmallDisk {
    shell: Child,
}

impl SmallDisk {
    /// Mounts the disk and starts the daemon.
    fn mount(service: &Service) -> SmallDisk {
        std::fs::create_dir(service.site.beside("state")).unwrap();
        let script = "mount -t tmpfs -o size=12m none $STATE; \"$HIERAD\" -v --color never watch --poll 0.05 >/dev/null 2>> $LOG & \
            while read line; do eval \"$line\"; done; kill $!; wait $!";
        let mut command = crate::support::terminal::hierad(service.site.root());
        let hierad = command.get_program().to_owned();
        let environment: Vec<_> =
            command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
        command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", script]).env_clear().current_dir(service.site.root()).env("HIERAD", hierad);
        command.envs(environment.into_iter().filter_map(|(name, value)| Some((name, value?))));
        command.env("STATE", service.site.beside("state")).env("LOG", service.site.beside("log"));
        SmallDisk { shell: command.stdin(Stdio::piped()).spawn().unwrap() }
    }

    /// Runs a line in the shell that sees the disk.
    fn run(&mut self, line: &str) {
        writeln!(self.shell.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn end(mut self) {
        drop(self.shell.stdin.take());
        assert!(self.shell.wait().unwrap().success());
    }
}
