//! Files of data that no level reads for their names: people forget an extension, or write another one.

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// Commits a file, and returns the site.
fn with(site: &str, path: &str, content: &str) -> Sandbox {
    let site = Sandbox::of(site);
    site.write(path, content);
    site.commit("second");
    site
}

/// The remedies of blind spots for files that nobody reads.
fn remedies(site: &Sandbox) -> Vec<String> {
    let report = site.hierad("diff --format json").json();
    let spots = report["blind_spots"].as_array().unwrap().iter();
    let spots = spots.filter(|spot| spot["code"] == "unreached-file");
    spots.map(|spot| spot["remedy"]["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn files_that_levels_would_read_by_another_name_are_told() {
    let json = SITE
        .replace("{name: Node, path", "{name: Node, data_hash: json_data, path")
        .replace("certname}.yaml", "certname}.json");
    let root = SITE.replace("hierarchy:", "defaults: {datadir: ., data_hash: yaml_data}\nhierarchy:")
        + "-- roles/web.yaml\nport: 80\n";
    for (site, path, right) in [
        (SITE, "data/nodes/web01", "data/nodes/web01.yaml"),
        (SITE, "data/nodes/web02.example.com", "data/nodes/web02.example.com.yaml"),
        (SITE, "data/nodes/web01.yml", "data/nodes/web01.yaml"),
        (SITE, "data/nodes/web01.YAML", "data/nodes/web01.yaml"),
        (SITE, "data/nodes/web01.Yml", "data/nodes/web01.yaml"),
        (SITE, "data/nodes/web01.eyaml", "data/nodes/web01.yaml"),
        (SITE, "data/nodes/Web01.yaml", "data/nodes/web01.yaml"),
        (SITE, "data/Nodes/web01.yaml", "data/nodes/web01.yaml"),
        (SITE, "data/roles/mail", "data/roles/mail.yaml"),
        (&json, "data/nodes/web01", "data/nodes/web01.json"),
        (&json, "data/nodes/web01.JSON", "data/nodes/web01.json"),
        (&root, "nodes/web01", "nodes/web01.yaml"),
        (&root, "Common.yaml", "common.yaml"),
    ] {
        let content = if right.ends_with("json") { "{\"motd\": \"own\"}\n" } else { "motd: own\n" };
        let site = with(site, path, content);
        let remedy = format!("rename it to {right} or, to silence this, add to hierad.yaml");
        assert_eq!(remedies(&site), [remedy], "{path}");
        site.hierad("diff --exit-code").is(3);
        let warning = format!("{path}:1: warning: no level reads {path}, but one would read {right} [unreached-file]");
        let printed = site.hierad("check");
        assert!(printed.is(2).out.contains(&warning), "{printed:#?}");
        assert_eq!(printed.out.matches(&format!("{path}:1")).count(), 1, "{}", printed.out);
        site.sh(&format!(
            "mkdir -p \"$(dirname '{right}')\"; git mv '{path}' '{right}.x' && git mv '{right}.x' '{right}'"
        ));
        site.commit("renamed");
        let report = site.hierad("diff --format json").json();
        let others = report["blind_spots"].as_array().unwrap().iter();
        let others: Vec<&Json> = others.filter(|spot| spot["files"] != serde_json::json!([right])).collect();
        assert_eq!(others, [&Json::Null; 0], "{path}: a file that goes is calm");
        let settings = format!("profiles: [profiles]\naccept: {{unreached-file: ['{path}']}}\n");
        site.sh(&format!("git rm -q '{right}'"));
        site.write(path, content);
        site.settings(settings);
        site.commit("again");
        assert!(!remedies(&site).iter().any(|remedy| remedy.starts_with("rename")), "{path} is accepted");
    }
}

/// Of a file that lies beside the right one, the keys belong there; several are one blind spot.
#[test]
fn files_beside_the_right_one_are_told() {
    let site = with(SITE, "data/roles/web.yml", "port: 81\n");
    assert!(remedies(&site)[0].starts_with("move the keys to data/roles/web.yaml or"));
    for name in ["a", "b"] {
        site.write(&format!("data/nodes/{name}"), "motd: own\n");
    }
    site.commit("two");
    let remedies = remedies(&site);
    assert!(remedies[0].starts_with("rename it to data/nodes/a.yaml, and 1 more or"), "{remedies:?}");
    assert_eq!(remedies.len(), 1);
    assert!(site.hierad("check").is(2).out.contains("[unreached-file] and at 2 more places"));
}

#[test]
fn files_of_other_kinds_are_calm() {
    let root = SITE.replace("hierarchy:", "defaults: {datadir: ., data_hash: yaml_data}\nhierarchy:")
        + "-- roles/web.yaml\nport: 80\n";
    let both = SITE.replace("path: common.yaml", "paths: [common.yaml, 'nodes/%{trusted.certname}.yml']");
    for (site, path, content) in [
        (SITE, "data/nodes/web01.yaml.bak", "motd: own\n"),
        (SITE, "data/nodes/web01.yaml~", "motd: own\n"),
        (SITE, "data/nodes/web01.bak", "motd: own\n"),
        (SITE, "data/nodes/web01.yaml.disabled", "motd: own\n"),
        (SITE, "data/nodes/README.md", "motd: own\n"),
        (SITE, "data/nodes/README", "Note: nodes are here\n"),
        (SITE, "data/nodes/notes", "just a text\n"),
        (SITE, "data/nodes/empty", ""),
        (SITE, "data/nodes/.gitkeep", "motd: own\n"),
        (SITE, "data/nodes/a/b/web01", "motd: own\n"),
        (SITE, "data/other/web01", "motd: own\n"),
        (SITE, "data/script.sh", "motd: own\n"),
        (SITE, "manifests/site", "motd: own\n"),
        (&root, "appveyor.yml", "build: off\n"),
        (&root, "docs/nodes/web01", "motd: own\n"),
        (&both, "data/nodes/web01.yml", "motd: own\n"),
    ] {
        let site = with(site, path, content);
        let found = remedies(&site).into_iter().find(|remedy| remedy.contains("rename"));
        assert_eq!(found, None, "{path}");
        assert!(!site.hierad("check").out.contains("one would read"), "{path}");
    }
    // A file that nobody reads, and whose name is right, needs a profile.
    let site = with(SITE, "data/nodes/web02.yaml", "motd: own\n");
    assert!(remedies(&site)[0].starts_with("add profiles of the nodes"), "{:?}", remedies(&site));
    let report: Json = site.hierad("diff HEAD HEAD --format json").json();
    assert_eq!(report["blind_spots"].as_array().map(Vec::len), Some(0), "{report}");
}
