//! A daemon on a repository of which nothing can be read for a while.

use std::fs;

use serde_json::json;

use super::service::Service;
use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// The hierarchy with all of its data elsewhere.
const UNMAPPED: &str = "
-- hiera.yaml
version: 5
defaults: {datadir: /etc/puppetlabs/code/data, data_hash: yaml_data}
hierarchy:
- {name: Common, path: common.yaml}
";

/// All files of the folder of snapshots, with what is in them.
fn snapshots(service: &Service) -> Vec<(String, String)> {
    let entries = fs::read_dir(service.site.beside("tips/main")).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

/// The commits whose snapshots are on the reference.
fn history(service: &Service) -> usize {
    let log = service.site.git(["log", "--format=%h", "refs/hierad/snapshots/main"]);
    log.lines().count()
}

#[test]
fn the_last_good_snapshots_stay() {
    let service = Service::new();
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    let blind = || service.metric("hierad_blind_branches{repository=\"repository\"}");
    let health = || -> serde_json::Value { serde_json::from_str(service.get("/health/ready").ok()).unwrap() };
    let good = service.site.git(["show", "HEAD:hiera.yaml"]);
    service.site.write("data/common.yaml", "number: 1\n");
    service.site.commit("good");
    service.settle(1);
    assert_eq!((blind(), health()), (Some(0), json!({"status": "ready"})));
    let (files, commits) = (snapshots(&service), history(&service));

    service.site.files(UNMAPPED);
    service.site.commit("all data is elsewhere");
    service.settle(2);
    service.site.write("data/common.yaml", "number: 2\n");
    service.site.commit("unseen");
    service.settle(3);
    assert_eq!(blind(), Some(1));
    let why = "main of repository: no level of the hierarchy could be read on 3 of 3 nodes";
    assert_eq!(health(), json!({"status": "degraded", "reasons": [why]}));
    assert!(service.log().contains("nothing of the branch can be read"), "{}", service.log());
    assert_eq!((snapshots(&service), history(&service)), (files, commits));

    // Another daemon knows it at once.
    service.end(daemon);
    let starts = || service.log().matches("hierad: answering at").count();
    let former = starts();
    let daemon = service.start();
    service.wait("the next daemon", || starts() > former);
    service.wait("its look at the data", || blind() == Some(1));

    service.site.write("hiera.yaml", good);
    service.site.commit("mended");
    service.settle(4);
    assert_eq!((blind(), health()), (Some(0), json!({"status": "ready"})));
    assert!(service.log().contains("the branch can be read again"), "{}", service.log());
    assert_eq!(history(&service), commits + 1);
    service.check_folder("tips/main", "main");
    service.end(daemon);
}

#[test]
fn deleted_branches_are_not_blind() {
    let service = Service::new();
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    let blind = || service.metric("hierad_blind_branches{repository=\"repository\"}");
    service.site.git(["checkout", "--quiet", "-b", "short"]);
    service.site.files(UNMAPPED);
    service.site.commit("all data is elsewhere");
    service.settle(1);
    assert_eq!(blind(), Some(1));
    service.site.git(["checkout", "--quiet", "main"]);
    service.site.git(["branch", "--quiet", "-D", "short"]);
    service.wait("the branch to be forgotten", || blind() == Some(0));
    service.end(daemon);
}

#[test]
fn render_and_export_write_nothing() {
    let site = Sandbox::of(SITE);
    site.files(UNMAPPED);
    site.commit("all data is elsewhere");
    site.write("README.md", "words");
    site.commit("still");
    let folder = site.beside("out");
    let render = |more: &str| site.hierad(&format!("render --output {} {more}", folder.display()));
    render("").fails(&["nothing could be read: no level of the hierarchy", "datadirs: {", "--allow-blind"]);
    assert!(!folder.exists());
    site.hierad("render").fails(&["nothing could be read"]);
    assert_eq!(site.hierad("render").out, "");
    render("--allow-blind").ok();
    let manifest =
        || -> serde_json::Value { serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap() };
    assert_eq!(manifest()["blind_spots"][0]["code"], "outside-repository", "{:#}", manifest());
    render("HEAD~2").ok();
    assert_eq!(manifest()["blind_spots"], json!([]));

    site.hierad("export").fails(&["commit ", " is left out", "datadirs: {", "nothing was exported"]);
    site.hierad("export HEAD~2").is(0);
    site.hierad("export").fails(&["2 commits are left out"]);
    let exported = || site.git(["log", "--format=%s", "refs/hierad/snapshots/main"]).lines().count();
    assert_eq!(exported(), 1);
    site.hierad("export --allow-blind").is(0);
    assert_eq!(exported(), 3);
}
