//! The promises of docs/operations.md: backups, one daemon for a state, metrics and alerts, lines of the log.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use regex::Regex;

use super::service::{Got, Service};
use crate::support::terminal::run;

const PAGE: &str = "docs/operations.md";
const ALERTS: &str = "examples/monitoring/alerts.yml";
const DASHBOARD: &str = "examples/monitoring/dashboard.json";

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    fs::read_to_string(project().join(path)).unwrap()
}

fn start(service: &Service) -> Child {
    let before = service.log().matches("hierad: watching").count();
    let daemon = service.start();
    service.wait("the daemon", || service.log().matches("hierad: watching").count() > before);
    daemon
}

fn commit(service: &Service, numbers: std::ops::Range<usize>) {
    for number in numbers {
        service.site.write("data/common.yaml", format!("number: {number}\n"));
        service.site.commit(&number.to_string());
    }
}

/// Runs a script that names the folder of the state and that of its backup as `$STATE` and `$BACKUP`.
fn sh(service: &Service, script: &str) {
    let mut command = Command::new("sh");
    command.args(["-ec", script]).env("STATE", service.site.beside("state"));
    command.env("BACKUP", service.site.beside("backup"));
    assert_eq!(run(&mut command).status, 0);
}

/// A restored daemon goes on where the backup was made, and receivers that know ids notice nothing.
#[test]
fn a_backup_is_restored() {
    let service = Service::new();
    let daemon = start(&service);
    commit(&service, 1..6);
    service.settle(5);
    service.end(daemon);
    sh(&service, "mkdir $BACKUP; tar -C $STATE -czf $BACKUP/hierad.tgz --exclude=mirrors .");
    let daemon = start(&service);
    commit(&service, 6..11);
    service.settle(10);
    service.end(daemon);
    let before: [Got; 3] = [service.files(), service.told(), service.receiver.got()];

    sh(&service, "rm -r $STATE; mkdir $STATE; tar -C $STATE -xzf $BACKUP/hierad.tgz");
    commit(&service, 11..13);
    let daemon = start(&service);
    service.settle(12);
    service.end(daemon);
    let after = [service.files(), service.told(), service.receiver.got()];
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(after.len(), 12, "each commit has one id, however often it is told");
        assert!(before.iter().all(|(id, arrivals)| after.get(id) == Some(arrivals)));
    }
    let lines = fs::read_to_string(service.site.beside("told")).unwrap().lines().count();
    assert_eq!(lines, 10 + 5 + 2, "commits since the backup are told again");
}

/// The same with a copy that was made of a moment of a daemon at work, as a snapshot of a file system is.
#[test]
fn a_snapshot_of_a_working_daemon_is_restored() {
    let service = Service::new();
    let mut daemon = start(&service);
    commit(&service, 1..6);
    service.settle(5);
    assert!(Command::new("kill").args(["-STOP", &daemon.id().to_string()]).status().unwrap().success());
    sh(&service, "cp -a $STATE $BACKUP");
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    sh(&service, "rm -r $STATE; cp -a $BACKUP $STATE");
    commit(&service, 6..8);
    let daemon = start(&service);
    service.settle(7);
    service.end(daemon);
    assert_eq!(service.told().len(), 7);
    assert_eq!(service.site.hierad("queue check").ok(), "the queue in $BASE/state is intact\n");
}

#[test]
fn a_state_has_one_daemon() {
    let service = Service::new();
    let daemon = start(&service);
    service.site.hierad("watch").fails(&["another daemon keeps its state in $BASE/state"]);
    service.end(daemon);
}

/// All families of metrics that a daemon has; some appear only with mirrors, sources or schedules.
fn metrics() -> BTreeSet<String> {
    let source = text("src/daemon/metrics.rs");
    let name = Regex::new(r#"add(_time|_seconds)?\(\s*"([a-z_]+)""#).unwrap();
    let families = name.captures_iter(&source).flat_map(|found| {
        let (unit, name) = (if found.get(1).is_some() { "_seconds" } else { "" }, &found[2]);
        ["", "_total", "_bucket", "_count", "_sum"].map(|end| format!("hierad_{name}{unit}{end}"))
    });
    families.chain(["hierad_resolve_duration_seconds_bucket".to_owned()]).collect()
}

#[test]
fn alerts_and_dashboard_ask_for_metrics_that_there_are() {
    let known = metrics();
    let name = Regex::new(r"hierad_[a-z_]+").unwrap();
    for path in [ALERTS, DASHBOARD, "docs/http.md"] {
        let asked = text(path);
        let asked: BTreeSet<&str> = name.find_iter(&asked).map(|found| found.as_str()).collect();
        let unknown: Vec<_> = asked.iter().filter(|name| !known.contains(**name)).collect();
        assert!(asked.len() > 3 && unknown.is_empty(), "{path}: {unknown:?}");
    }
    let page = text(PAGE);
    let alerts = text(ALERTS);
    for alert in alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        assert!(page.contains(&format!("`{alert}`")), "{PAGE} does not say what to do about {alert}");
    }
}

#[test]
#[ignore = "needs promtool"]
fn promtool_accepts_metrics_and_alerts() {
    let found = run(Command::new(project().join("tests/managers/promtool")).current_dir(project()));
    let promtool = PathBuf::from(found.ok().trim());
    let checked = run(Command::new(&promtool).args(["check", "rules"]).arg(project().join(ALERTS)));
    assert_eq!(checked.status, 0, "{checked:?}");
    let service = Service::new();
    let daemon = start(&service);
    commit(&service, 1..3);
    service.settle(2);
    let answer = service.site.beside("metrics");
    fs::write(&answer, service.get("/metrics").ok()).unwrap();
    let mut check = Command::new("sh");
    check.args(["-c", "\"$PROMTOOL\" check metrics < \"$ANSWER\""]);
    let checked = run(check.env("PROMTOOL", &promtool).env("ANSWER", &answer));
    assert_eq!((checked.status, checked.out.as_str(), checked.err.as_str()), (0, "", ""));
    service.end(daemon);
}

/// Whoever meets a line of the log finds it in the page.
#[test]
fn each_warning_is_explained() {
    let page = text(PAGE);
    let call = Regex::new(r"(?s)tracing::(?:warn|error)!\((.*?)\);").unwrap();
    let literal = Regex::new(r#""((?:[^"\\]|\\.)*)""#).unwrap();
    let mut files = vec![project().join("src/app/pipelines.rs")];
    for folder in ["src/daemon", "src/app/daemon"] {
        files.extend(walk(&project().join(folder)));
    }
    let (mut missing, mut explained) = (Vec::new(), 0);
    for file in files {
        let source = fs::read_to_string(&file).unwrap();
        let source = source.split("#[cfg(test)]").next().unwrap().replace("\\\n", " ");
        for call in call.captures_iter(&source) {
            let Some(message) = literal.captures_iter(&call[1]).last() else { continue };
            let words: Vec<&str> = message[1].split_whitespace().collect();
            let words = words.join(" ");
            let fixed = words.split('{').next().unwrap().trim_end_matches([':', ' ']);
            if page.contains(fixed) { explained += 1 } else { missing.push(format!("{}: {fixed}", file.display())) }
        }
    }
    assert!(explained > 40 && missing.is_empty(), "{PAGE} does not explain: {missing:#?}");
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
