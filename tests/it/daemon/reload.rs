//! Settings that are read again while the daemon works.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};

use super::service::Service;

/// Has the daemon read its settings again.
fn reload(daemon: &Child) {
    assert!(Command::new("kill").args(["-HUP", &daemon.id().to_string()]).status().unwrap().success());
}

/// A daemon that watches.
fn start(service: &Service) -> Child {
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    daemon
}

fn reloaded(service: &Service, times: usize) {
    service.wait("a reload", || {
        service.get("/health/live").ok();
        service.log().matches("INFO reloaded").count() == times
    });
}

fn reports(entries: fs::ReadDir) -> usize {
    let is_report = |path: PathBuf| path.extension().is_some_and(|extension| extension == "json");
    entries.filter(|entry| is_report(entry.as_ref().unwrap().path())).count()
}

#[test]
fn busy_sinks_do_not_delay_a_reload() {
    let service = Service::new();
    let settings = service.site.root().join(".git/hierad.yaml");
    let path = |name: &str| service.site.beside(name).display().to_string();
    let lines = || fs::read_to_string(path("slow")).unwrap_or_default();
    // It is at work until the gate opens.
    let command =
        "echo begun $HIERAD_ID >> $SLOW; while ! test -e $GATE; do sleep 0.05; done; echo ended $HIERAD_ID >> $SLOW"
            .replace("$SLOW", &path("slow"))
            .replace("$GATE", &path("gate"));
    let text = fs::read_to_string(&settings).unwrap();
    let text = format!("{text}  slow: {{command: [sh, -c, '{command}'], timeout: 120}}\n");
    fs::write(&settings, &text).unwrap();
    let daemon = start(&service);
    service.site.commit("one");
    service.wait("the slow sink", || lines().starts_with("begun"));
    fs::write(&settings, format!("{text}  more: {{folder: {}}}\n", path("more"))).unwrap();
    for (times, commit) in [(1, "two"), (2, "three")] {
        reload(&daemon);
        reloaded(&service, times);
        service.site.commit(commit);
        service.wait("reports", || service.files().len() == times + 1 && service.told().len() == times + 1);
        // Each sink has its own pace.
        service.wait("the new sink", || fs::read_dir(path("more")).is_ok_and(|entries| reports(entries) >= times));
        assert_eq!(reports(fs::read_dir(path("more")).unwrap()), times, "the new settings count");
    }
    assert_eq!(lines().lines().count(), 1, "{}", lines());
    fs::write(path("gate"), "").unwrap();
    service.wait("all reports", || service.is_idle());
    service.end(daemon);
    let lines = lines();
    let lines: Vec<(&str, &str)> = lines.lines().map(|line| line.split_once(' ').unwrap()).collect();
    assert_eq!(lines.len(), 6, "each is given once: {lines:?}");
    for pair in lines.chunks(2) {
        assert_eq!((pair[0].0, pair[1].0, pair[0].1), ("begun", "ended", pair[1].1), "{lines:?}");
    }
}

#[test]
fn metrics_live_through_reloads() {
    let service = Service::new();
    let settings = service.site.root().join(".git/hierad.yaml");
    let text = fs::read_to_string(&settings).unwrap();
    let more = format!("{text}  more: {{folder: {}}}\n", service.site.beside("more").display());
    fs::write(&settings, &more).unwrap();
    let daemon = start(&service);
    service.site.commit("one");
    service.wait("the report", || service.is_idle() && service.files().len() == 1);
    let metric = |name: &str| service.metric(name);
    let resolved = "hierad_jobs_resolved_total{repository=\"repository\"}";
    let taken = |sink: &str| metric(&format!("hierad_deliveries_total{{sink=\"{sink}\",result=\"taken\"}}"));
    assert_eq!((metric(resolved), taken("files"), taken("more")), (Some(1), Some(1), Some(1)));
    fs::write(&settings, &text).unwrap();
    reload(&daemon);
    reloaded(&service, 1);
    assert_eq!((metric(resolved), taken("files")), (Some(1), Some(1)));
    assert_eq!(taken("more"), None, "the settings have no such sink any more");
    service.site.commit("two");
    service.wait("the report", || service.is_idle() && service.files().len() == 2);
    assert_eq!((metric(resolved), taken("files")), (Some(2), Some(2)));
    service.end(daemon);
}

#[test]
fn gauges_start_from_the_database() {
    let service = Service::new();
    let daemon = start(&service);
    service.site.git(["checkout", "--quiet", "-b", "short"]);
    service
        .site
        .files("-- hiera.yaml\nversion: 5\ndefaults: {datadir: /nowhere}\nhierarchy: [{name: a, path: a.yaml}]\n");
    service.site.commit("all data is elsewhere");
    service.settle(1);
    service.site.git(["checkout", "--quiet", "main"]);
    let names = [
        "hierad_jobs_last_success_timestamp_seconds{repository=\"repository\"}",
        "hierad_delivery_last_success_timestamp_seconds{sink=\"files\"}",
        "hierad_blind_branches{repository=\"repository\"}",
    ];
    let read = || {
        let metrics = service.get("/metrics");
        names.map(|name| metrics.metric(name).and_then(|text| text.parse::<f64>().ok()))
    };
    let [resolved, delivered, blind] = read();
    assert_eq!(blind, Some(1.0));
    service.end(daemon);
    let starts = || service.log().matches("hierad: answering at").count();
    let former = starts();
    let daemon = service.start();
    service.wait("the next daemon", || starts() > former);
    let again = read();
    assert_eq!(again[2], blind);
    let is_near = |at: usize, before: Option<f64>| (again[at].unwrap() - before.unwrap()).abs() < 5.0;
    assert!(is_near(0, resolved) && is_near(1, delivered), "{again:?}, {resolved:?}, {delivered:?}");
    service.end(daemon);
}

#[test]
fn late_deliveries_stay_in_the_queue() {
    let service = Service::new();
    let settings = service.site.root().join(".git/hierad.yaml");
    let slow = service.site.beside("slow");
    let text = fs::read_to_string(&settings).unwrap();
    let command = format!("echo begun >> {}; sleep 60", slow.display());
    fs::write(&settings, format!("{text}  slow: {{command: [sh, -c, '{command}'], timeout: 120}}\n")).unwrap();
    let daemon = start(&service);
    service.site.commit("one");
    service.wait("the slow sink", || slow.exists());
    reload(&daemon);
    reloaded(&service, 1);
    service.end(daemon);
    assert!(service.log().contains("cancelled, and stays in the queue"), "{}", service.log());
    assert!(service.site.hierad("queue").ok().contains("1  undelivered  main"));
}

#[test]
fn a_failed_reload_keeps_the_settings() {
    let service = Service::new();
    let daemon = start(&service);
    let (state, away) = (service.site.beside("state"), service.site.beside("away"));
    fs::rename(&state, &away).unwrap();
    reload(&daemon);
    service.wait("an error", || {
        service.log().contains("cannot reload: the old settings stay error=no daemon keeps its state")
    });
    service.get("/health/live").ok();
    fs::rename(&away, &state).unwrap();
    reload(&daemon);
    reloaded(&service, 1);
    service.site.commit("one");
    service.wait("a report", || service.files().len() == 1);
    service.end(daemon);
}
