//! `hierad watch`: every commit once and in order, and an orderly end.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::Value as Json;

use crate::support::terminal::{SITE, changes, hierad, nodes_of};
use crate::support::{Sandbox, report};

/// The longest time that a report takes, unless there is a fault.
const PATIENCE: Duration = Duration::from_mins(2);

/// A watch at work.
struct Watch {
    child: Child,
    lines: Receiver<String>,
    errors: BufReader<ChildStderr>,
    /// Its output before it began.
    banner: String,
}

impl Watch {
    fn start(site: &Sandbox, arguments: &str) -> Watch {
        let mut command = hierad(site.root());
        command.args(["watch", "--format", "json", "--poll", "0.05"]).args(arguments.split_whitespace());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || out.lines().try_for_each(|line| sender.send(line.unwrap())));
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut banner = String::new();
        errors.read_line(&mut banner).unwrap();
        Watch { child, lines, errors, banner }
    }

    fn report(&self) -> Json {
        let line = self.lines.recv_timeout(PATIENCE).expect("a report");
        report::read(line)
    }

    /// Sends a signal; the status and the errors it ends with, when nothing more is reported.
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        let killed = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let status = self.child.wait().unwrap();
        let rest: Vec<String> = self.lines.iter().collect();
        assert!(rest.is_empty(), "{rest:?}");
        let mut errors = String::new();
        self.errors.read_to_string(&mut errors).unwrap();
        (status.code(), errors)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[test]
fn commits_are_reported_once_in_order() {
    let site = Sandbox::of(SITE);
    site.files("-- data/common.yaml\nmotd: 0\nntp: [a, b]\n");
    site.commit("start");
    let watch = Watch::start(&site, "");
    assert!(watch.banner.starts_with("hierad: watching main in "), "{}", watch.banner);
    site.sh("
        for i in $(seq 200); do
            printf 'motd: %d\\nntp: [a, b]\\n' $i > data/common.yaml
            git commit --quiet --all --message \"motd $i\"
            case $i in
                *50) git pack-refs --all ;;
                *99) git gc --quiet ;;
            esac
        done
    ");
    let commits = site.git(["rev-list", "--reverse", "HEAD~200..HEAD"]);
    let commits: Vec<&str> = commits.lines().collect();
    assert_eq!(commits.len(), 200);
    let mut before = site.git(["rev-parse", "HEAD~200"]);
    for (at, commit) in commits.iter().enumerate() {
        let report = watch.report();
        assert_eq!(report["after"]["commit"], **commit, "report {at}");
        assert_eq!(report["before"]["commit"], before, "report {at}");
        assert_eq!(report["branch"], "main");
        assert_eq!(changes(&report), ["motd changed db01,web01"]);
        before = (*commit).to_owned();
    }
    let (status, errors) = watch.end("-TERM");
    assert_eq!((status, &*errors), (Some(0), ""));
}

#[test]
fn interrupts_end_the_watch() {
    let site = Sandbox::of(SITE);
    site.files("-- data/common.yaml\nmotd: 1\n");
    site.commit("one");
    let watch = Watch::start(&site, "--since HEAD~1 --branch m*");
    assert_eq!(watch.report()["after"]["summary"], "one");
    site.git(["checkout", "--quiet", "-b", "other"]);
    site.commit("not watched");
    site.git(["checkout", "--quiet", "main"]);
    site.files("-- data/common.yaml\nmotd: 2\n");
    site.git(["commit", "--quiet", "--all", "--amend", "--message", "two"]);
    let report = watch.report();
    assert_eq!((&report["after"]["summary"], &report["branch"]), (&"two".into(), &"main".into()));
    let (status, errors) = watch.end("-INT");
    assert_eq!(status, Some(0), "{errors}");
}

#[test]
fn signals_count_from_the_first_message_on() {
    let site = Sandbox::of(SITE);
    for signal in ["-TERM", "-INT"] {
        let watch = Watch::start(&site, "--branch nosuch");
        assert!(watch.banner.contains("WARN no branch matches 'branches' or --branch: "), "{}", watch.banner);
        let (status, rest) = watch.end(signal);
        assert!(status == Some(0) && rest.contains("watching no branch so far") && rest.lines().count() == 1, "{rest}");
    }
}

#[test]
fn branches_that_are_not_there_are_told_before_the_start() {
    let site = Sandbox::of(SITE);
    for more in ["", "sinks: {files: {folder: reports}}\n"] {
        for (branches, is_told) in [("nosuch", true), ("[nosuch, main]", false)] {
            site.write(".git/hierad.yaml", format!("profiles: [../profiles]\nbranches: {branches}\n{more}"));
            let checked = site.hierad("watch --check-config");
            assert!(checked.ok().starts_with("the settings are fine: 1 repository") || !more.is_empty());
            assert_eq!(checked.err.contains("no branch matches 'branches'"), is_told, "{checked:#?}");
        }
    }
}

#[test]
fn unwatchable_repositories_fail_at_once() {
    let site = Sandbox::of(SITE);
    site.hierad("watch --since nosuch").fails(&["unknown revision 'nosuch'"]);
    site.hierad("watch --poll 0").fails(&["--poll", "must be 0.01 or more"]);
    site.hierad("watch --poll x").fails(&["'x' is not a number of seconds"]);
    site.hierad("watch --profiles nowhere").fails(&["no node profiles at nowhere"]);
    site.hierad("watch --branch [").fails(&["["]);
}

#[test]
fn profiles_that_change_are_read_again() {
    let site = Sandbox::of(SITE);
    let watch = Watch::start(&site, "");
    let port = |number: u32| {
        site.files(&format!("-- data/roles/web.yaml\nport: {number}\n"));
        site.commit("port");
        let report = watch.report();
        serde_json::json!(nodes_of(&report, &report["changes"][0]["nodes"]))
    };
    assert_eq!(port(1), serde_json::json!(["web01"]));
    site.files("-- profiles/web02.yaml\n{name: web02, variables: {role: web}}\n");
    site.files("-- profiles/db01.yaml\n{name: db01, facts: {os: {family: RedHat}}, variables: {role: web}}\n");
    assert_eq!(port(2), serde_json::json!(["db01", "web01", "web02"]));
    // What cannot be found any more is as it was.
    std::fs::rename(site.root().join("profiles"), site.beside("profiles")).unwrap();
    assert_eq!(port(3), serde_json::json!(["db01", "web01", "web02"]));
}
