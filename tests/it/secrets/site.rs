//! One repository with secrets, through the binary: what a reader sees in their place.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value as Json;

use super::repository::{SETTINGS, block, hiera_yaml};
use super::search::found;
use crate::support::Sandbox;
use crate::support::terminal::{Printed, changes, hierad, nodes_of, run};

/// A site with the secrets `hush01` and `hush19`; `variant` tells which of two blocks of each is there.
fn write(site: &Sandbox, variant: usize, second: &str) {
    let (first, second) = (block("hush01", variant), block(second, variant));
    site.write("data/common.eyaml", format!("db::password: {first}\nweb::key: {second}\n"));
}

fn site() -> Sandbox {
    let site = Sandbox::new();
    site.write("hiera.yaml", hiera_yaml());
    site.write(".git/hierad.yaml", SETTINGS);
    for node in ["db01", "web01"] {
        site.write(&format!("profiles/{node}.yaml"), format!("{{name: {node}, facts: {{}}}}\n"));
    }
    site.write("data/common.yaml", "url: \"db://app:%{lookup('db::password')}@db01\"\nmotd: hello\n");
    write(&site, 0, "hush19");
    site.commit("first");
    site
}

/// The binary on the site, with a home of its own.
fn hierad_on(site: &Sandbox, arguments: &str) -> Printed {
    run(command(site, arguments).env("XDG_DATA_HOME", site.beside("data")))
}

fn command(site: &Sandbox, arguments: &str) -> Command {
    let mut command = hierad(site.root());
    command.args(arguments.split_whitespace());
    command
}

fn fingerprint(value: &Json) -> &str {
    assert_eq!(value["__ptype"], "Secret", "{value}");
    value["__fingerprint"].as_str().unwrap()
}

#[test]
fn reencryption_is_no_change() {
    let site = site();
    write(&site, 1, "hush19");
    site.commit("encrypted anew");
    let report = hierad_on(&site, "diff --exit-code");
    let expected = "3 secrets re-encrypted, same plaintext\n  db::password on both nodes  data/common.eyaml:1\n  \
                    url on both nodes           data/common.yaml:1\n  web::key on both nodes      data/common.eyaml:2\n";
    assert!(report.ok().ends_with(expected), "{}", report.out);
    assert!(report.out.starts_with("no effective change"), "{}", report.out);
    let json = hierad_on(&site, "diff --format json").json();
    assert_eq!(json["nodes"]["changed"], 0);
    assert_eq!(changes(&json), Vec::<String>::new());
    assert_eq!(json["reencrypted"][0]["key"], "db::password");
    assert_eq!(nodes_of(&json, &json["reencrypted"][0]["nodes"]), ["db01", "web01"]);
}

#[test]
fn changed_secrets_are_fingerprints() {
    let site = site();
    write(&site, 1, "hush01");
    site.commit("the same password twice");
    hierad_on(&site, "diff --exit-code").is(2);
    let report = hierad_on(&site, "diff --format json").json();
    assert_eq!(changes(&report), ["web::key changed db01,web01"]);
    let change = &report["changes"][0];
    assert_ne!(fingerprint(&change["before"]["value"]), fingerprint(&change["after"]["value"]));
    // Nothing tells that two keys have the same secret.
    let values = hierad_on(&site, "render --format ndjson --node db01").json();
    assert_ne!(fingerprint(&values["values"]["web::key"]), fingerprint(&values["values"]["db::password"]));
    assert_ne!(fingerprint(&values["values"]["url"]), fingerprint(&values["values"]["db::password"]));
}

#[test]
fn snapshots_are_stable_with_the_key() {
    let site = site();
    let render = |home: &str| run(command(&site, "render").env("XDG_DATA_HOME", site.beside(home)));
    let first = render("data");
    assert_eq!(first.out, render("data").out);
    assert_ne!(first.ok(), render("other").ok());
    let key = std::fs::read_to_string(site.beside("data/hierad/fingerprint.key")).unwrap();
    let named = |name: &str| run(command(&site, "render").env("HIERAD_FINGERPRINT_KEY", name));
    assert_eq!(first.out, named(key.trim()).out);
    assert_eq!(first.out, named(site.beside("data/hierad/fingerprint.key").to_str().unwrap()).out);
    let shared = format!("{SETTINGS}fingerprint_key: ../../data/hierad/fingerprint.key\n");
    site.write(".git/hierad.yaml", shared);
    assert_eq!(first.out, render("other").out);
    assert_eq!(first.err + &render("other").err, "");
}

#[test]
fn unusable_keys_are_reported() {
    let site = site();
    let named = |arguments: &str| hierad_on(&site, arguments);
    named("render --fingerprint-key nowhere").fails(&["neither 64 hexadecimal digits", "nor the path of a file"]);
    named("render --fingerprint-key hiera.yaml").fails(&["would be hiera.yaml in the work tree"]);
    named("render --fingerprint-key .git/HEAD").fails(&[".git/HEAD does not hold a key"]);
    // Without a home the fingerprints are those of one run; without a secret nobody needs one.
    let homeless = |arguments: &str| run(command(&site, arguments).env("XDG_DATA_HOME", "/dev/null"));
    homeless("render").is(0).says(&["WARN", "/dev/null/hierad/fingerprint.key", "differ from run to run"]);
    assert_ne!(homeless("render").out, homeless("render").out);
    assert_eq!(homeless("lookup motd --node db01").err, "");
}

#[test]
fn secrets_are_shown_on_request() {
    let site = site();
    let show = |arguments: &str| hierad_on(&site, &format!("{arguments} --show-secrets")).ok().to_owned();
    assert_eq!(show("lookup db::password --node db01"), "--- hush01\n");
    assert!(show("lookup url --node db01 --explain").contains("db://app:hush01@db01"));
    assert!(show("render --format ndjson").contains(r#""db::password":"hush01""#));
    let masked = hierad_on(&site, "lookup db::password --node db01 --render-as s");
    assert!(masked.ok().starts_with("<secret "), "{masked:?}");
    let explained = hierad_on(&site, "lookup url --node db01 --explain");
    assert!(explained.ok().contains("<secret "), "{explained:?}");
}

#[test]
fn secrets_without_key_are_opaque() {
    let site = site();
    site.write("hiera.yaml", hiera_yaml().replace("default.key.pem", "no.key.pem"));
    site.commit("no key");
    let values = hierad_on(&site, "render --format ndjson --node db01").json();
    for key in ["db::password", "web::key", "url"] {
        assert_eq!(values["values"][key]["__ptype"], "Encrypted", "{values}");
    }
    assert_eq!(values["values"]["motd"], "hello");
    write(&site, 1, "hush19");
    site.commit("encrypted anew");
    let report = hierad_on(&site, "diff --exit-code");
    assert!(report.is(2).out.contains("ciphertext changed, value unknown"), "{}", report.out);
}

#[test]
fn a_watch_shows_no_secret() {
    let site = site();
    let mut child = command(&site, "watch -vv --poll 0.05")
        .env("XDG_DATA_HOME", site.beside("data"))
        .env("HIERAD_LOG", "trace")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("hierad: watching") {
        assert!(errors.read_line(&mut said).unwrap() > 0, "{said}");
    }
    write(&site, 0, "hush23/path?to=hush&x=%41");
    site.commit("another key");
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut report = String::new();
    while !report.contains("web::key: ") {
        assert!(out.read_line(&mut report).unwrap() > 0, "{report}");
    }
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    out.read_to_string(&mut report).unwrap();
    errors.read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    assert!(report.contains("<secret ") && said.lines().count() > 1, "{report}\n{said}");
    assert_eq!(found((report + &said).as_bytes()), None);
    assert!(Path::new(&site.beside("data/hierad/fingerprint.key")).is_file());
}

/// Ends when this does.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[test]
fn a_watch_uses_new_keys() {
    let site = site();
    let keys = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/eyaml/keys");
    let (there, later) = (keys.join("default.key.pem"), site.beside("late.key.pem"));
    let (from, to) = (there.display().to_string(), later.display().to_string());
    site.write("hiera.yaml", hiera_yaml().replace(&from, &to));
    site.commit("the key comes later");
    let mut child = command(&site, "watch --format json --poll 0.05")
        .env("XDG_DATA_HOME", site.beside("data"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("watching"), "{said}");
    let mut reports = BufReader::new(child.stdout.take().unwrap()).lines();
    let _running = Running(child);
    let mut report = |text: &str, variant: usize| {
        write(&site, variant, text);
        site.commit(text);
        let report: Json = serde_json::from_str(&reports.next().unwrap().unwrap()).unwrap();
        let changes = report["changes"].as_array().unwrap();
        let change = changes.iter().find(|change| change["key"] == "web::key").unwrap();
        ["before", "after"].map(|side| change[side]["value"]["__ptype"].as_str().unwrap().to_owned())
    };
    assert_eq!(report("hush23/path?to=hush&x=%41", 0), ["Encrypted", "Encrypted"]);
    std::fs::copy(there, later).unwrap();
    assert_eq!(report("hush19", 0), ["Secret", "Secret"]);
}

#[test]
fn snapshots_on_a_reference_have_fingerprints() {
    let site = site();
    hierad_on(&site, "export").ok();
    write(&site, 1, "hush19");
    site.commit("encrypted anew");
    write(&site, 1, "hush01");
    site.commit("another key");
    hierad_on(&site, "export").ok();
    let log = site.git(["log", "-p", "--format=%s", "refs/hierad/snapshots/main", "--", "web01.json"]);
    let secret = |line: &&str| line.starts_with(['+', '-']) && line.contains("__fingerprint");
    assert_eq!(found(log.as_bytes()), None, "{log}");
    // The first commit has three, and the last one changes one of them.
    assert_eq!(log.lines().filter(secret).count(), 3 + 2, "{log}");
    assert!(log.contains("another key") && log.contains("first") && !log.contains("encrypted anew"), "{log}");
    site.commit("for all to see");
    hierad_on(&site, "export --show-secrets").fails(&["git keeps what was committed"]);
    assert!(found(hierad_on(&site, "render --show-secrets").out.as_bytes()).is_some());
}
