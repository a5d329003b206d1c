//! The references of snapshots: none is in another's way, and none holds up others.

use std::fs;
use std::process::{Child, Command};

use hierad::event::JobNumber;

use super::service::{SITE, Service};
use super::several::{Several, here};
use crate::support::{Sandbox, git_in, terminal};

const DELETED: &str = "refs/hierad/deleted";
const SNAPSHOTS: &str = "refs/hierad/snapshots";

/// Collects everything that no reference needs.
const COLLECT: &str = "git reflog expire --expire=now --all; git gc --quiet --prune=now";

/// A daemon that writes snapshots on references.
fn started(snapshots: &str) -> (Service, Child) {
    let service = Service::with_snapshots(&format!("{{history: {{ref: true, {snapshots}}}}}"));
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    (service, daemon)
}

/// The names of the references below `prefix`.
fn names(site: &Sandbox, prefix: &str) -> Vec<String> {
    let names = site.git(["for-each-ref", "--format=%(refname)", prefix]);
    names.lines().map(|name| name.strip_prefix(prefix).unwrap().trim_start_matches('/').to_owned()).collect()
}

/// The subjects of the snapshots on a reference, the oldest first.
fn subjects(repository: &std::path::Path, reference: &str) -> Vec<String> {
    let log = git_in(repository, ["log", "--reverse", "--format=%s", reference]);
    log.lines().map(str::to_owned).collect()
}

impl Service {
    /// Makes a branch with a commit, and waits until all is done with it.
    fn branch_off(&self, branch: &str, message: &str) {
        let reports = self.files().len();
        self.site.git(["switch", "--quiet", "--create", branch, "main"]);
        self.site.write("data/common.yaml", format!("number: {message}\n"));
        self.site.commit(message);
        self.wait("a report", || self.files().len() > reports);
        self.wait("its snapshot", || self.is_idle());
    }

    fn delete(&self, branch: &str) {
        self.site.git(["switch", "--quiet", "main"]);
        self.site.git(["branch", "--quiet", "-D", branch]);
        let words = format!("the branch was deleted branch={branch} ");
        self.wait("the end of the branch", || self.log().contains(&words));
    }
}

#[test]
fn a_deleted_branch_makes_way_for_another() {
    let (service, daemon) = started("");
    let site = &service.site;
    service.branch_off("feature", "one");
    service.delete("feature");
    service.branch_off("feature/x", "two");
    service.branch_off("feature/y", "three");
    assert_eq!(names(site, SNAPSHOTS), ["feature/x", "feature/y"]);
    assert_eq!(names(site, DELETED), ["feature"]);
    // It comes back with its branch, and makes the others go.
    service.delete("feature/x");
    service.delete("feature/y");
    service.branch_off("feature", "four");
    assert_eq!(names(site, SNAPSHOTS), ["feature"]);
    assert_eq!(names(site, DELETED), ["feature%2Fx", "feature%2Fy"]);
    assert_eq!(subjects(site.root(), "refs/hierad/snapshots/feature"), ["one", "four"]);
    assert_eq!(subjects(site.root(), "refs/hierad/deleted/feature%2Fy"), ["three"]);
    service.end(daemon);
}

#[test]
fn references_of_deleted_branches_go_if_settings_say_so() {
    let remote = tempfile::tempdir().unwrap();
    git_in(remote.path(), ["init", "--quiet", "--bare"]);
    let (service, daemon) = started(&format!("prune: true, push: '{}'", remote.path().display()));
    let site = &service.site;
    let pushed = || git_in(remote.path(), ["for-each-ref", "--format=%(refname:lstrip=3)", "refs/hierad"]);
    service.branch_off("feature", "one");
    service.branch_off("other", "two");
    assert_eq!((names(site, SNAPSHOTS).len(), pushed().as_str()), (2, "feature\nother"));
    service.delete("feature");
    service.branch_off("feature/x", "three");
    service.branch_off("more", "four");
    // The daemon does not look with each commit, and less often where looks take long.
    service.wait("the end of its snapshots", || {
        pushed() == "feature/x\nmore\nother" || {
            site.commit("one more");
            false
        }
    });
    assert_eq!(names(site, SNAPSHOTS), ["feature/x", "more", "other"]);
    assert_eq!(names(site, DELETED), [""; 0]);
    service.end(daemon);
}

#[test]
fn pushed_references_make_way_too() {
    let remote = tempfile::tempdir().unwrap();
    git_in(remote.path(), ["init", "--quiet", "--bare"]);
    let (service, daemon) = started(&format!("push: '{}'", remote.path().display()));
    let pushed = || git_in(remote.path(), ["for-each-ref", "--format=%(refname:lstrip=2)", "refs/hierad"]);
    service.branch_off("feature", "one");
    service.delete("feature");
    service.branch_off("feature/x", "two");
    assert_eq!(pushed(), "deleted/feature\nsnapshots/feature/x");
    service.delete("feature/x");
    service.branch_off("feature", "three");
    assert_eq!(pushed(), "deleted/feature%2Fx\nsnapshots/feature");
    assert_eq!(subjects(remote.path(), "refs/hierad/snapshots/feature"), ["one", "three"]);
    service.end(daemon);
}

#[test]
fn snapshots_that_cannot_be_written_hold_up_no_other_branch() {
    let (service, daemon) = started("");
    let site = &service.site;
    // A commit that is none of hierad's is not built on.
    site.git(["update-ref", "refs/hierad/snapshots/main", "HEAD"]);
    site.commit("one");
    site.commit("two");
    service.wait("reports", || service.files().len() == 2);
    service.wait("an error", || service.log().contains("hierad did not write it"));
    site.git(["branch", "topic", "main~1"]);
    site.git(["switch", "--quiet", "topic"]);
    site.commit("three");
    service.wait("the other branch", || names(site, SNAPSHOTS).contains(&"topic".to_owned()));
    let queue = service.site.hierad("queue");
    assert!(queue.ok().contains("to history, tried "), "{queue:?}");
    site.git(["update-ref", "-d", "refs/hierad/snapshots/main"]);
    site.hierad("queue retry --sink history").ok();
    service.wait("all", || service.is_idle());
    assert_eq!(subjects(site.root(), "refs/hierad/snapshots/main"), ["one", "two"]);
    service.end(daemon);
}

#[test]
fn a_snapshot_that_ends_the_daemon_again_and_again_is_set_aside() {
    let (service, daemon) = started("");
    let site = &service.site;
    // As long as this is in the way, nothing is written.
    site.git(["update-ref", "refs/hierad/snapshots/main", "HEAD"]);
    site.commit("one");
    service.wait("an error", || service.log().contains("hierad did not write it"));
    service.end(daemon);
    let ended = |times: usize| {
        service.in_queue(async |queue| {
            queue.retry(None, Some("history")).await.unwrap();
            for _ in 0..times {
                queue.begin_delivery(JobNumber(1), "history").await.unwrap();
            }
        });
    };
    ended(19);
    let daemon = service.start();
    service.wait("another attempt", || service.log().matches("hierad did not write it").count() > 1);
    service.end(daemon);
    ended(20);
    let daemon = service.start();
    let told = || site.hierad("queue").out;
    service.wait("an end", || told().contains("the daemon has ended 20 times while this was written"));
    site.git(["update-ref", "-d", "refs/hierad/snapshots/main"]);
    site.commit("two");
    service.wait("the next", || site.git(["for-each-ref", SNAPSHOTS]).contains("snapshots/main"));
    assert_eq!(subjects(site.root(), "refs/hierad/snapshots/main"), ["two"]);
    service.end(daemon);
}

#[test]
fn snapshots_of_collected_commits_are_skipped() {
    let (service, daemon) = started("");
    let site = &service.site;
    site.git(["update-ref", "refs/hierad/snapshots/main", "HEAD"]);
    site.commit("one");
    service.wait("an error", || service.log().contains("hierad did not write it"));
    site.git(["commit", "--quiet", "--amend", "--allow-empty", "--message", "two"]);
    service.wait("reports", || service.files().len() == 2);
    // As long as that is in the way, nothing is written of it.
    site.sh(&format!("{COLLECT}; git update-ref -d refs/hierad/snapshots/main"));
    site.hierad("queue retry --sink history").ok();
    service.wait("all", || service.is_idle());
    assert_eq!(subjects(site.root(), "refs/hierad/snapshots/main"), ["two"]);
    assert!(service.log().contains("git has collected the commit"), "{}", service.log());
    assert_eq!(service.metric("hierad_deliveries_total{sink=\"history\",result=\"skipped\"}"), Some(1));
    service.end(daemon);
}

#[test]
fn snapshots_that_are_not_watched_any_more_are_skipped() {
    let (one, two) = (Sandbox::of(SITE), Sandbox::of(SITE));
    let several = Several::of(&[]);
    let settings = |branches: &str, repositories: &[(&str, &Sandbox)]| {
        let lines: Vec<String> = repositories.iter().map(|(name, site)| here(name, site)).collect();
        several.watch_with(&format!("snapshots: {{history: {{ref: true, branches: {branches}}}}}"), &lines);
    };
    settings("'**'", &[("one", &one), ("two", &two)]);
    let daemon = several.start();
    several.wait("both watches", || several.count("hierad: watching") == 2);
    for site in [&one, &two] {
        site.git(["update-ref", "refs/hierad/snapshots/main", "HEAD"]);
        site.commit("a");
    }
    several.wait("errors", || several.count("hierad did not write it") >= 2);
    settings("'**'", &[("one", &one)]);
    Several::signal(&daemon, "-HUP");
    let is_told = |name: &str| several.queue().contains(name);
    several.wait("the end of one", || several.queue().lines().count() == 2 && is_told("1 undelivered"));
    settings("other", &[("one", &one)]);
    Several::signal(&daemon, "-HUP");
    several.wait("the new settings", || several.count("reloaded") == 2);
    // The daemon looks at it when it is due.
    let command = Command::new(env!("CARGO_BIN_EXE_hierad"))
        .current_dir(several.path("."))
        .args(["--config", "hierad.yaml", "queue", "retry", "--all"])
        .output();
    assert!(command.unwrap().status.success());
    several.wait("the end of the other", || several.queue() == "nothing is waiting\n");
    assert!(several.log().contains("the branch main is not watched any more"), "{}", several.log());
    several.end(daemon);
}

#[test]
fn a_new_mirror_goes_on_with_the_snapshots_that_were_pushed() {
    let there = Sandbox::of(SITE);
    let remote = tempfile::tempdir().unwrap();
    git_in(remote.path(), ["init", "--quiet", "--bare"]);
    let several = Several::of(&[]);
    several.watch_with(
        &format!("snapshots: {{history: {{ref: true, push: 'file://{}'}}}}", remote.path().display()),
        &[format!("m: {{url: 'file://{}', fetch: 0.2}}", there.root().display())],
    );
    let daemon = several.start();
    several.wait("the watch", || several.count("hierad: watching") == 1);
    let pushed = || {
        let all = git_in(remote.path(), ["for-each-ref", "refs/hierad/snapshots/main"]);
        if all.is_empty() { Vec::new() } else { subjects(remote.path(), "refs/hierad/snapshots/main") }
    };
    there.commit("a");
    several.wait("a snapshot", || pushed() == ["a"]);
    several.end(daemon);
    fs::remove_dir_all(several.path("state/mirrors/m.git")).unwrap();
    there.commit("b");
    let daemon = several.start();
    several.wait("the next snapshot", || pushed() == ["a", "b"]);
    // The same while it runs, and then the snapshots of both have begun anew.
    fs::remove_dir_all(several.path("state/mirrors/m.git")).unwrap();
    there.commit("c");
    several.wait("one more", || pushed() == ["a", "b", "c"]);
    several.wait("an empty queue", || several.queue() == "nothing is waiting\n");
    several.end(daemon);
}

#[test]
fn snapshots_at_a_remote_count_over_those_that_began_anew() {
    let (one, remote) = (Sandbox::of(terminal::SITE), tempfile::tempdir().unwrap());
    git_in(remote.path(), ["init", "--quiet", "--bare"]);
    let export = format!("export --push {}", remote.path().display());
    one.hierad(&export).is(0);
    one.git(["update-ref", "-d", "refs/hierad/snapshots/main"]);
    one.commit("a");
    one.hierad("export").is(0);
    one.commit("b");
    one.hierad(&export).is(0);
    assert_eq!(subjects(remote.path(), "refs/hierad/snapshots/main").len(), 3);
    // Those of another repository do not.
    let other = Sandbox::with(&[]);
    other.write("hiera.yaml", "version: 5\nhierarchy: [{name: c, path: common.yaml}]\n");
    other.write("data/common.yaml", "a: 1\n");
    other.write("profiles/a.yaml", "name: a\n");
    other.settings("profiles: [profiles]\n");
    other.commit("other");
    other.hierad(&export).fails(&["are of another repository"]);
}

#[test]
fn a_mirror_that_was_half_replaced_keeps_its_snapshots() {
    let there = Sandbox::of(SITE);
    let several = Several::of(&[format!("m: {{url: 'file://{}', fetch: 0.2}}", there.root().display())]);
    let daemon = several.start();
    several.wait("the watch", || several.count("hierad: watching") == 1);
    there.commit("a");
    several.wait("a report", || several.reports().len() == 1);
    several.end(daemon);
    let mirrors = several.path("state/mirrors");
    there.sh(&format!(
        "git --git-dir {0}/m.git update-ref refs/hierad/x refs/heads/main; cp -r {0}/m.git {0}/m.new; mv {0}/m.git {0}/m.damaged",
        mirrors.display()
    ));
    there.commit("b");
    let daemon = several.start();
    several.wait("a report", || several.reports().len() == 2);
    assert_eq!(git_in(&mirrors.join("m.git"), ["log", "-1", "--format=%s", "refs/hierad/x"]), "a");
    several.end(daemon);
}
