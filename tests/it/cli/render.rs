//! `hierad render`: forms, folders, and what stays untouched there.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::json;

use crate::support::Sandbox;
use crate::support::terminal::SITE;

#[test]
fn three_forms_on_standard_output() {
    let site = Sandbox::of(SITE);
    let json = site.hierad("render").json();
    let web = json!({"schema": "hierad.snapshot/1", "node": "web01",
        "values": {"motd": "hello", "ntp": ["a", "b"], "port": 80}, "errors": {}});
    assert_eq!(json[1], web);
    assert_eq!(json.as_array().unwrap().len(), 2);
    let expected = r#"{"node":"db01","values":{"motd":"hello","ntp":["a","b"],"port":5432},"errors":{}}
{"node":"web01","values":{"motd":"hello","ntp":["a","b"],"port":80},"errors":{}}
"#;
    assert_eq!(site.hierad("render --format ndjson").ok(), expected);
    let documents = site.hierad("render --format yaml");
    let documents: Vec<&str> = documents.ok().split("---\n").collect();
    assert_eq!(documents.len(), 3);
    let yaml: serde_yaml::Value = serde_yaml::from_str(documents[2]).unwrap();
    let expected = "{node: web01, values: {motd: hello, ntp: [a, b], port: 80}, errors: {}}";
    assert_eq!(yaml, serde_yaml::from_str::<serde_yaml::Value>(expected).unwrap());
    let key = r#"{"node":"web01","values":{"port":80},"errors":{}}"#.to_owned() + "\n";
    assert_eq!(site.hierad("render --format ndjson --node web01 --key p* HEAD").ok(), key);
}

#[test]
fn failing_keys_leave_the_others() {
    let site = Sandbox::of(SITE);
    site.files("-- data/nodes/web01.yaml\nbad: '%{nope}'\n");
    site.commit("bad");
    let lines = site.hierad("render --format ndjson");
    let web: serde_json::Value = serde_json::from_str(lines.ok().lines().nth(1).unwrap()).unwrap();
    assert_eq!(web["values"]["port"], 80);
    assert!(web["errors"]["bad"].as_str().unwrap().contains("'nope'"), "{web}");
    assert!(lines.out.lines().next().unwrap().ends_with(r#""errors":{}}"#), "{lines:?}");
}

/// The files of a folder, with what tells whether they were written again.
fn listing(folder: &Path) -> BTreeMap<String, (Vec<u8>, u64)> {
    let entry = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        let content = std::fs::read(entry.path()).unwrap();
        (entry.file_name().into_string().unwrap(), (content, entry.metadata().unwrap().ino()))
    };
    std::fs::read_dir(folder).unwrap().map(entry).collect()
}

#[test]
fn only_changed_files_are_written() {
    let site = Sandbox::of(SITE);
    let out = site.beside("out");
    let render = |more: &str| site.hierad(&format!("render --output {} {more}", out.display()));
    render("").is(0).says(&["2 snapshots in $BASE/out: 2 written, 0 removed"]);
    let first = listing(&out);
    assert_eq!(first.keys().collect::<Vec<_>>(), ["db01.json", "manifest.json", "web01.json"]);
    let manifest: serde_json::Value = serde_json::from_slice(&first["manifest.json"].0).unwrap();
    let files = json!({"db01": "db01.json", "web01": "web01.json"});
    assert_eq!(manifest["commit"], site.git(["rev-parse", "HEAD"]));
    assert_eq!((&manifest["nodes"], &manifest["puppet"], &manifest["files"]), (&json!(2), &json!(8), &files));

    render("").is(0).says(&["0 written, 0 removed"]);
    assert_eq!(listing(&out), first, "nothing has changed, so nothing is written");

    site.files("-- README\nwords\n");
    site.commit("no data");
    render("").is(0).says(&["0 written"]);
    let second = listing(&out);
    assert_eq!(second["web01.json"], first["web01.json"]);
    assert_ne!(second["manifest.json"].0, first["manifest.json"].0, "the commit is another");

    site.files("-- data/roles/web.yaml\nport: 81\n");
    site.commit("web only");
    render("").is(0).says(&["1 written, 0 removed"]);
    let third = listing(&out);
    assert_eq!(third["db01.json"], first["db01.json"]);
    assert_ne!(third["web01.json"], first["web01.json"]);
    let time = |name: &str| std::fs::metadata(out.join(name)).unwrap().modified().unwrap();
    assert!(time("manifest.json") >= time("web01.json"), "the manifest comes last");

    render("HEAD~1 --threads 1").is(0);
    assert_eq!(listing(&out)["web01.json"].0, first["web01.json"].0, "equal data gives equal bytes");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let site = Sandbox::of(SITE);
    for node in 0..50 {
        site.write(
            &format!("profiles/n{node}.json"),
            format!(r#"{{"name": "n{node}", "variables": {{"role": "web"}}}}"#),
        );
    }
    let folder = |threads: usize| {
        let out = site.beside(&format!("out{threads}"));
        let render = format!("render --threads {threads} --output {}", out.display());
        site.hierad(&render).is(0).says(&["52 snapshots", "52 written"]);
        let first = listing(&out);
        site.hierad(&render).is(0).says(&["0 written, 0 removed"]);
        assert!(listing(&out) == first, "{threads} threads");
        first.into_iter().map(|(name, (content, _))| (name, content)).collect::<BTreeMap<_, _>>()
    };
    let one = folder(1);
    assert!(folder(3) == one && folder(64) == one);
}

#[test]
fn files_of_former_nodes_are_removed() {
    let site = Sandbox::of(SITE);
    let out = site.beside("out");
    let render = |more: &str| site.hierad(&format!("render --output {} {more}", out.display()));
    let names = || listing(&out).into_keys().collect::<Vec<_>>();
    render("").is(0);
    std::fs::write(out.join("other.json"), "mine").unwrap();
    site.files("-- profiles/db01.yaml\n");
    render("").is(0).says(&["1 snapshot in $BASE/out: 0 written, 1 removed"]);
    assert_eq!(names(), ["manifest.json", "other.json", "web01.json"]);
    render("--format yaml").is(0);
    assert_eq!(names(), ["manifest.json", "other.json", "web01.yaml"]);
    // A manifest that someone has forged.
    std::fs::write(site.beside("precious"), "").unwrap();
    let forged = r#"{"schema": "hierad.snapshot/1", "files": {"a": "../precious", "b": "/etc/nothing", "c": "gone"}}"#;
    std::fs::write(out.join("manifest.json"), forged).unwrap();
    render("").is(0);
    assert!(site.beside("precious").exists());
}

#[test]
fn odd_node_names_become_file_names() {
    let site = Sandbox::of(SITE);
    for (at, name) in ["a/b", "..", "manifest", "a%2Fb", "sp ace", "Grüße", "nl\\nx", "-"].iter().enumerate() {
        site.write(&format!("profiles/{at}.json"), format!(r#"{{"name": "{name}", "variables": {{"role": "web"}}}}"#));
    }
    let out = site.beside("out");
    site.hierad(&format!("render --output {}", out.display())).is(0);
    let names: Vec<String> = listing(&out).into_keys().filter(|name| !name.contains("01")).collect();
    let expected =
        ["%2E..json", "%6Danifest.json", "-.json", "Grüße.json", "a%252Fb.json", "a%2Fb.json", "manifest.json"];
    assert_eq!(names, [&expected[..], &["nl%0Ax.json", "sp ace.json"][..]].concat());
    let lines = site.hierad("render --format ndjson --key port");
    assert_eq!(lines.ok().lines().count(), 10);
    for line in lines.out.lines() {
        let node: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(node["values"]["port"].is_number(), "{node}");
    }
}

#[test]
fn the_work_tree_has_no_commit() {
    let site = Sandbox::of(SITE);
    site.files("-- data/roles/web.yaml\nport: 9\n");
    let out = site.beside("out");
    site.hierad(&format!("render . --output {}", out.display())).is(0);
    let manifest: serde_json::Value = serde_json::from_slice(&listing(&out)["manifest.json"].0).unwrap();
    assert!(manifest["commit"].is_null());
    assert!(std::fs::read_to_string(out.join("web01.json")).unwrap().contains("\"port\": 9"));
}

#[test]
fn folders_that_cannot_be_written() {
    let site = Sandbox::of(SITE);
    site.hierad("render --output hiera.yaml").fails(&["cannot write snapshots to hiera.yaml: "]);
    site.hierad("render --output hiera.yaml/below").fails(&["cannot write snapshots to hiera.yaml/below: "]);
    // A folder in the place of a file: what is written before it stays whole.
    std::fs::create_dir_all(site.beside("out/web01.json/x")).unwrap();
    let out = site.beside("out").display().to_string();
    site.hierad(&format!("render --output {out}")).fails(&["cannot write snapshots to $BASE/out: web01.json: "]);
    let left = std::fs::read_dir(site.beside("out")).unwrap().map(|e| e.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(left.len(), 2, "no temporary file, no manifest: {left:?}");
}
