//! The daemon's index and its answers about the history.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::commands;
use super::site::Site;
use crate::http::client::Daemon;
use crate::support::Sandbox;
use crate::support::extent::full_or;
use crate::support::random::Random;
use crate::support::report::read;

/// The nodes of random sites.
const NODES: [(&str, &str, &str); 4] = [("n1", "web", "x"), ("n2", "web", "y"), ("n3", "db", "x"), ("n4", "db", "y")];

fn with_nodes(site: &Sandbox) {
    std::fs::create_dir_all(site.beside("nodes")).unwrap();
    for (name, role, place) in NODES {
        let profile = format!("name: {name}\nvariables: {{role: {role}, site: {place}}}\n");
        std::fs::write(site.beside("nodes").join(format!("{name}.yaml")), profile).unwrap();
    }
    site.settings("profiles: ../nodes\n");
}

/// The files of the index, with their content.
fn index(site: &Sandbox) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(site.root().join(".git/hierad/history")).unwrap().map(Result::unwrap);
    files.map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())).collect()
}

/// Whoever kills the daemon, and whenever: in the end its index has all commits, so that a command adds none.
#[test]
fn a_killed_daemon_keeps_the_same_index() {
    let mut site = Site::new(7, 5);
    with_nodes(&site.sandbox);
    let start = |site: &Site| Daemon::start_in(site.sandbox.root(), &site.sandbox.beside("state"), "-vv");
    let mut daemon = start(&site);
    let mut random = Random::new(7);
    let commits = full_or(500, 20);
    for number in 0..commits {
        site.step(number);
        // Some kills meet the daemon while it extends the index.
        let pause = if random.below(6) == 0 { random.below(2500) } else { random.below(30) };
        std::thread::sleep(Duration::from_millis(u64::try_from(pause).unwrap()));
        if random.below(4) == 0 {
            drop(daemon);
            daemon = start(&site);
        }
    }
    daemon.wait_long_for_log(&format!("the history is in the index branch=main tip={}", site.tip()));
    let kept = index(&site.sandbox);
    assert_eq!(kept.len(), 1);
    let log = |options: &str| site.sandbox.hierad(&format!("log --format ndjson {options}")).ok().to_owned();
    let by_index = log("");
    assert_eq!(index(&site.sandbox), kept, "a command adds nothing");
    assert_eq!(by_index, log("--no-cache"));
}

#[test]
fn histories_are_answered_as_by_the_commands() {
    let site = Site::new(8, 12);
    with_nodes(&site.sandbox);
    let daemon = Daemon::start_in(site.sandbox.root(), &site.sandbox.beside("state"), "");
    let lines = |arguments: &str| -> Vec<Json> {
        site.sandbox.hierad(&format!("{arguments} --format ndjson")).ok().lines().map(read).collect()
    };
    for (query, arguments) in
        [("", ""), ("key=a", "a"), ("key=re:^[b-d]&node=n1&node=n2", "re:^[b-d] --node n1 --node n2")]
    {
        let mut found = Vec::new();
        let mut after = String::new();
        let mut pages = 0;
        loop {
            let page = daemon.get(&format!("/v1/history?limit=2&{query}{after}")).json();
            assert_eq!(page["commit"], site.tip().to_string());
            let entries = page["entries"].as_array().unwrap();
            assert!(entries.len() <= 2);
            found.extend(entries.iter().map(|entry| read(entry.to_string())));
            pages += 1;
            let Some(next) = page["next"].as_str() else { break };
            after = format!("&after={next}");
        }
        assert!(pages > 1);
        assert_eq!(found, lines(&format!("log {arguments}")), "{query}");
    }
    let blame = daemon.get("/v1/blame?node=n3&key=a&key=b").json();
    assert_eq!(blame["parts"].as_array().unwrap(), &lines("blame --node n3 a b"));
    let searched = daemon.get("/v1/history?text=broken").json();
    assert_eq!(searched["entries"], json!([]), "it fails, and is no value");
    for (path, status, words) in [
        ("/v1/history?key=none", 404, "no data file at"),
        ("/v1/history?node=none", 404, "no node has such a name"),
        ("/v1/history?rev=none", 404, "none"),
        ("/v1/history?key=re:[", 422, "'key': 're:[' is not a valid pattern"),
        ("/v1/history?after=1", 400, "'next'"),
        (&format!("/v1/history?after={0}.{0}", "1".repeat(40)), 404, "1111"),
        ("/v1/history?limit=0", 400, "from 1 to 1000"),
        ("/v1/blame", 422, "'key' or 'node' is needed"),
        ("/v1/blame?key=none", 404, "no data file at"),
    ] {
        daemon.get(path).refuses(status, words);
    }
}

/// The subjects of the entries of a page.
fn subjects(page: &Json) -> Vec<&str> {
    page["entries"].as_array().unwrap().iter().map(|entry| entry["after"]["summary"].as_str().unwrap()).collect()
}

#[test]
fn pages_stay_in_the_history_that_they_began_with() {
    let site = commands::site();
    let daemon = Daemon::start_in(site.root(), &site.beside("state"), "");
    let first = daemon.get("/v1/history?key=port&limit=1").json();
    assert_eq!(subjects(&first), ["port 82"]);
    site.git(["reset", "--quiet", "--hard", "HEAD~4"]);
    site.write("data/common.yaml", "port: 99\n");
    site.commit("rewritten");
    let next = first["next"].as_str().unwrap();
    let rest = daemon.get(&format!("/v1/history?key=port&after={next}")).json();
    assert_eq!(subjects(&rest), ["port 80 and other", "port 81", "first"]);
    assert_eq!((&rest["commit"], &rest["next"]), (&first["commit"], &Json::Null));
    assert_eq!(subjects(&daemon.get("/v1/history?key=port&limit=1").json()), ["rewritten"]);
}

#[test]
fn what_a_history_cannot_show_is_told() {
    let site = commands::site();
    for text in ["port: [\n", "port: [\n# still\n"] {
        site.write("data/common.yaml", text);
        site.commit("broken");
    }
    let daemon = Daemon::start_in(site.root(), &site.beside("state"), "");
    for query in ["key=port", "key=port&text=nowhere"] {
        let page = daemon.get(&format!("/v1/history?{query}")).json();
        assert_eq!(page["unseen"], json!([site.id("HEAD").to_string()]), "{query}");
    }
    drop(daemon);
    let clone = site.beside("clone");
    site.sh(&format!("git clone --quiet --depth 2 file://{} {}", site.root().display(), clone.display()));
    std::fs::write(clone.join(".git/hierad.yaml"), format!("profiles: {}\n", site.beside("nodes").display())).unwrap();
    let daemon = Daemon::start_in(&clone, &site.beside("other"), "");
    for path in ["/v1/history?key=port", "/v1/blame?key=port"] {
        let spots = daemon.get(path).json()["blind_spots"].to_string();
        assert!(spots.contains("the clone is shallow"), "{path}: {spots}");
    }
}
