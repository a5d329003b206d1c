//! Sources of nodes in the daemon: they are asked again beside all other work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::puppetdb::site;
use super::server::{PuppetDb, State, node};
use crate::delivery::servers::Answer;
use crate::http::client::Daemon;
use crate::support::Sandbox;

fn nodes(family: &str) -> Vec<Json> {
    vec![node("web01", "production", json!({"os": {"family": family}, "role": "web"}), &json!({}))]
}

/// The daemon's answer for the node.
fn who(daemon: &Daemon) -> String {
    let answer = daemon.get("/v1/nodes/web01").body;
    let values: Json = serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"));
    values["values"]["who"].as_str().unwrap().to_owned()
}

fn commit(site: &Sandbox, number: usize) {
    site.files(&format!("-- data/common.yaml\nwho: '%{{facts.os.family}} {number}'\n"));
    site.commit("another number");
}

fn wait_until(is_true: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !is_true() {
        assert!(Instant::now() < end, "it takes too long");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_daemon_asks_again_without_holding_up_commits() {
    let (site, server) = (site(), PuppetDb::with(nodes("Debian")));
    server.settle(&site, ", refresh: 0.0003, timeout: 60");
    commit(&site, 1);
    let daemon = Daemon::start_in(site.root(), &site.beside("state"), "");
    assert_eq!(who(&daemon), "Debian 1");
    // Another answer counts from when it is there.
    server.change(|state| state.nodes = nodes("RedHat"));
    wait_until(|| who(&daemon) == "RedHat 1");
    wait_until(|| daemon.get("/v1/reports").body.contains("\"facts\""));
    // A server that hangs holds nothing up, and the last answer stays in use.
    let is_asked = Arc::new(AtomicBool::new(false));
    let asked = is_asked.clone();
    let hang = move |_: &mut State| {
        asked.store(true, Ordering::Relaxed);
        Some(Answer::Hang(""))
    };
    server.change(|state| state.trouble = Some(Box::new(hang)));
    wait_until(|| is_asked.load(Ordering::Relaxed));
    let start = Instant::now();
    commit(&site, 2);
    wait_until(|| daemon.get("/v1/reports").body.contains("\"new\""));
    assert_eq!(who(&daemon), "RedHat 2");
    assert!(start.elapsed() < Duration::from_secs(30));
    let report = daemon.get(&format!("/v1/reports/{}", site.id("HEAD"))).json();
    assert!(report["nodes_fetched"].as_str().unwrap().ends_with('Z'), "{report}");
    assert_eq!(report["changes"][0]["after"]["value"], "RedHat 2");
}

#[test]
fn a_source_that_is_away_is_told() {
    let (site, server) = (site(), PuppetDb::with(nodes("Debian")));
    server.settle(&site, ", refresh: 0.0003");
    let daemon = Daemon::start_in(site.root(), &site.beside("state"), "");
    let fetched = "hierad_nodes_fetched_timestamp_seconds{repository=\"repository\"}";
    wait_until(|| daemon.metric(fetched).is_some_and(|time| time.parse::<f64>().unwrap() > 1.0e9));
    assert_eq!(daemon.get("/health/ready").json()["status"], "ready");
    server.change(|state| {
        state.trouble = Some(Box::new(|_| Some(Answer::Say("500 Internal Server Error", "no disk".to_owned()))));
    });
    let health = || daemon.get("/health/ready").json();
    wait_until(|| health()["status"] == "degraded");
    let reason = health()["reasons"][0].as_str().unwrap().to_owned();
    assert!(reason.starts_with("the nodes of repository are old: ") && reason.contains("500"), "{reason}");
}
