//! Tells operators what has happened: headlines in the log, reloads that fail, a state that is gone.

use std::fs;
use std::process::{Child, Command};

use super::service::Service;
use crate::support::Sandbox;
use crate::support::terminal::SITE;

fn service() -> Service {
    let service = Service::of(Sandbox::of(SITE), "");
    let settings = service.site.root().join(".git/hierad.yaml");
    let text = fs::read_to_string(&settings).unwrap();
    let profiles = service.site.root().join("profiles").display().to_string();
    let lines = text
        .lines()
        .map(|line| if line.starts_with("profiles:") { format!("profiles: {profiles}") } else { line.into() });
    fs::write(&settings, lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    service
}

fn start(service: &Service) -> Child {
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    daemon
}

fn commit(service: &Service, motd: &str) {
    service.site.write("data/common.yaml", format!("motd: {motd}\nntp: [a, b]\n"));
    service.site.commit(motd);
}

#[test]
fn the_log_says_what_commits_do() {
    let service = service();
    let daemon = start(&service);
    commit(&service, "welcome");
    service.wait("the headline", || {
        let log = service.log();
        log.lines().any(|line| line.contains("resolved") && line.contains("1 key changes on both nodes"))
    });
    service.site.write("data/common.yaml", "motd: welcome\nntp: [a, b\n");
    service.site.commit("broken");
    service.wait("the headline", || service.log().contains("keys fail"));
    service.end(daemon);
}

/// A sink that takes pushes has one report of two hundred commits, the others and readers have one of each.
#[test]
fn pushes_are_told_once() {
    let service = service();
    let settings = service.site.root().join(".git/hierad.yaml");
    let text = fs::read_to_string(&settings).unwrap();
    let pushes = service.site.beside("pushes").display().to_string();
    let command = format!("[sh, -c, 'echo $HIERAD_KIND $HIERAD_BEFORE $HIERAD_AFTER >> {pushes}']");
    fs::write(&settings, format!("{text}  pushes: {{command: {command}, each: push}}\n")).unwrap();
    let daemon = start(&service);
    let site = &service.site;
    let before = site.commit("alone").to_string();
    service.wait("its report", || service.told().len() == 1);
    site.sh("git checkout -q --detach");
    let commits: Vec<String> = (0..200).map(|number| site.commit(&number.to_string()).to_string()).collect();
    let tip = commits.last().unwrap();
    site.git(["update-ref", "refs/heads/main", tip.as_str()]);
    service.settle(201);
    let told = fs::read_to_string(&pushes).unwrap();
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("new ") && told[0].ends_with(&before), "{told:?}");
    assert_eq!(told[1], format!("combined {before} {tip}"));
    assert_eq!((service.files().len(), service.told().len()), (201, 201));
    let of_tip: serde_json::Value = serde_json::from_str(service.get(&format!("/v1/reports/{tip}")).ok()).unwrap();
    assert_eq!(of_tip["event"]["kind"], "new");
    let listed: serde_json::Value = serde_json::from_str(service.get("/v1/reports?limit=1000").ok()).unwrap();
    assert_eq!(listed["reports"].as_array().unwrap().len(), 201);
    let number = 202;
    let whole = service.get(&format!("/v1/reports/{tip}?number={number}"));
    let whole: serde_json::Value = serde_json::from_str(whole.ok()).unwrap();
    assert_eq!((&whole["event"]["kind"], &whole["event"]["commits"]), (&"combined".into(), &200.into()));
    service.end(daemon);
}

#[test]
fn a_reload_that_failed_is_in_health_and_metrics() {
    let service = service();
    let settings = service.site.root().join(".git/hierad.yaml");
    let text = fs::read_to_string(&settings).unwrap();
    let daemon = start(&service);
    let reload = || assert!(Command::new("kill").args(["-HUP", &daemon.id().to_string()]).status().unwrap().success());
    let ready = || service.get("/health/ready").ok().to_owned();
    let is_good = || service.metric("hierad_last_reload_successful");
    service.wait("the start", || is_good() == Some(1) && service.get("/health/ready").status == 200);
    for (fault, reason) in [
        ("nonsense: 1\n", "unknown field `nonsense`"),
        ("branches: ['[']\n", "branches"),
        ("fingerprint_key: 1\n  - x\n", "cannot read"),
        ("limits:\n  steps: [\n", "hierad.yaml"),
    ] {
        fs::write(&settings, format!("{fault}{text}")).unwrap();
        reload();
        service.wait("a failed reload", || is_good() == Some(0));
        let told = ready();
        assert!(told.contains("degraded") && told.contains("the old settings stay") && told.contains(reason), "{told}");
        fs::write(&settings, &text).unwrap();
        reload();
        service.wait("a reload", || is_good() == Some(1));
        assert!(!ready().contains("the old settings stay"), "{}", ready());
    }
    service.end(daemon);
}

#[test]
fn a_state_that_is_gone_is_told() {
    const GONE: &str = "queue.db was removed or replaced under the daemon";
    const NEW: &str = "the state knows nothing of the repository";
    let service = service();
    let daemon = start(&service);
    commit(&service, "one");
    service.wait("the report", || service.files().len() == 1);
    assert!(!service.log().contains(GONE));
    let file = service.site.beside("state").join("queue.db");
    // It is put back.
    fs::rename(&file, service.site.beside("aside.db")).unwrap();
    commit(&service, "two");
    service.wait("the loss", || service.log().contains(GONE));
    let told = service.get("/health/ready");
    assert!(format!("{told:?}").contains("the queue cannot be used"), "{told:?}");
    fs::rename(service.site.beside("aside.db"), &file).unwrap();
    service.wait("the report", || service.files().len() == 2);
    // Another one is in its place.
    fs::copy(&file, service.site.beside("other.db")).unwrap();
    fs::rename(service.site.beside("other.db"), &file).unwrap();
    let before = service.log().matches(GONE).count();
    commit(&service, "three");
    service.wait("the loss", || service.log().matches(GONE).count() > before);
    service.end(daemon);
    // It begins without any.
    for end in ["", "-wal", "-shm"] {
        _ = fs::remove_file(service.site.beside("state").join(format!("queue.db{end}")));
    }
    let before = service.log().matches(NEW).count();
    let daemon = service.start();
    service.wait("the daemon", || service.log().matches(NEW).count() == before + 1);
    service.end(daemon);
    let daemon = service.start();
    service.wait("the daemon", || service.log().matches("hierad: watching").count() == 3);
    service.end(daemon);
    assert_eq!(service.log().matches(NEW).count(), before + 1, "the state is known again");
}
