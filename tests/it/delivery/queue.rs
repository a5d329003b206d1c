//! `hierad queue` at the terminal: what is waiting, what was set aside, and what to do about it.

use super::daemon::{Daemon, change, files, wait};
use super::servers::closed_port;
use crate::support::Sandbox;
use crate::support::terminal::{Printed, SITE};

/// A repository whose daemon has ended: two reports were set aside, two are waiting, both under two sinks.
fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    let sinks = format!(
        "  bad: {{command: [sh, -c, 'echo no disk >&2; exit 1'], retry_for: 0.0000001}}\n  \
        dead: {{webhook: 'http://127.0.0.1:{}/'}}\n  files: {{folder: files}}\n",
        closed_port()
    );
    let daemon = Daemon::start(&site, &sinks);
    change(&site, 1);
    change(&site, 2);
    let is_done = || {
        let listed = list(&site);
        listed.matches("  dead  ").count() == 2 && listed.contains("Connection refused")
    };
    wait(is_done, &|| list(&site));
    daemon.end();
    site
}

fn list(site: &Sandbox) -> String {
    site.hierad("queue list").ok().to_owned()
}

/// The last line, which counts.
fn counts(site: &Sandbox) -> String {
    site.hierad("queue").ok().lines().last().unwrap().to_owned()
}

#[track_caller]
fn says(printed: &Printed, line: &str) {
    assert_eq!(printed.ok(), format!("{line}\n"));
}

#[test]
fn the_queue_lists_open_jobs() {
    let site = site();
    let listed = list(&site);
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 5, "{listed}");
    let commit = site.git(["rev-parse", "--short=8", "HEAD~1"]);
    let bad = format!(
        "     1  dead         main {commit} to bad, tried 2 times: the command sh failed (exit status: 1): no disk"
    );
    assert_eq!(lines[0], bad);
    assert!(lines[1].starts_with(&format!("     1  undelivered  main {commit} to dead, tried ")), "{listed}");
    assert!(lines[2].starts_with("     2  dead         main ") && lines[2].contains(" to bad, "), "{listed}");
    assert_eq!(lines[4], "2 undelivered, 2 dead");
    assert_eq!(site.hierad("queue").ok().lines().count(), 5);
    assert_eq!(site.hierad("queue list --limit 1").ok().lines().collect::<Vec<_>>(), [&bad, "2 undelivered, 2 dead"]);
    let rows = site.hierad("queue list --format json");
    let rows: Vec<serde_json::Value> = rows.ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 4);
    let first = &rows[0];
    for (name, value) in [("state", "dead"), ("branch", "main"), ("sink", "bad"), ("kind", "new")] {
        assert_eq!(first[name], value);
    }
    assert_eq!((&first["number"], &first["attempts"]), (&1.into(), &2.into()));
    assert_eq!(first["after"], site.git(["rev-parse", "HEAD~1"]));
    assert_eq!(first["before"], site.git(["rev-parse", "HEAD~2"]));
    assert_eq!(first["error"], "the command sh failed (exit status: 1): no disk");
    assert_eq!(files(&site.root().join("files"))[0], format!("0000000001-{}.json", first["id"].as_str().unwrap()));
    says(&site.hierad("queue check"), "the queue in $BASE/repository/.git/hierad/daemon is intact");
}

#[test]
fn failed_jobs_are_retried_or_dropped() {
    let site = site();
    says(&site.hierad("queue retry 2 --sink bad"), "1 to be tried again");
    assert_eq!(counts(&site), "3 undelivered, 1 dead");
    site.hierad("queue retry --sink nosuch").fails(&["the queue has no report for a sink 'nosuch'"]);
    says(&site.hierad("queue drop 2"), "0 given up; --undelivered includes what is still tried");
    says(&site.hierad("queue drop --all"), "1 given up");
    assert_eq!(counts(&site), "3 undelivered");
    // A sink that the settings know no more.
    says(&site.hierad("queue drop --sink dead --undelivered"), "2 given up");
    assert_eq!(counts(&site), "1 undelivered");
    let daemon = Daemon::start(&site, "  bad: {command: [sh, -c, 'cat > taken']}\n");
    wait(|| site.root().join("taken").exists(), &|| list(&site));
    wait(|| counts(&site) == "nothing is waiting", &|| list(&site));
    daemon.end();
    let taken = std::fs::read_to_string(site.root().join("taken")).unwrap();
    assert!(taken.contains(&site.git(["rev-parse", "HEAD"])), "{taken}");
    says(&site.hierad("queue retry --all"), "0 to be tried again");
}

#[test]
fn running_daemons_see_retries() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "  bad: {command: [sh, -c, 'cat ready > taken'], retry_for: 0.0000001}\n");
    change(&site, 1);
    wait(|| counts(&site) == "1 dead", &|| list(&site));
    site.write("ready", "yes");
    says(&site.hierad("queue retry --all"), "1 to be tried again");
    wait(|| counts(&site) == "nothing is waiting", &|| list(&site));
    daemon.end();
    assert_eq!(std::fs::read_to_string(site.root().join("taken")).unwrap(), "yes");
}

#[test]
fn impossible_arguments_are_refused() {
    let site = Sandbox::of(SITE);
    site.hierad("queue").fails(&["no daemon keeps its state in $BASE/repository/.git/hierad/daemon"]);
    site.hierad("queue --state nowhere list").fails(&["no daemon keeps its state in nowhere"]);
    for arguments in ["queue retry", "queue drop", "queue retry --all --sink x", "queue retry x", "queue drop --all 1"]
    {
        assert_ne!(site.hierad(arguments).status, 0, "{arguments}");
    }
}
