//! `hierad check`: each fault once, with its place, and the exit status.

use crate::support::Sandbox;
use crate::support::terminal::SITE;

const FAULTY: &str = "
-- hiera.yaml
version: 5
hierarchy:
  - name: Node
    path: 'nodes/%{trusted.certname}.yaml'
  - name: Site
    path: 'sites/%{site}.yaml'
  - name: Common
    path: common.yaml
  - name: Vault
    lookup_key: hiera_vault
    uri: https://vault.example.com
-- data/nodes/web01.yaml
port: 80
  bad: [
-- data/sites/oslo.yaml
motd: hei
-- data/list.json
[1, 2]
-- data/common.yaml
motd: hello
-- ops/unrelated.yaml
a: [
";

#[test]
fn every_fault_is_named_once_with_its_place() {
    let site = Sandbox::of(SITE);
    site.files(FAULTY);
    site.commit("faults");
    let printed = site.hierad("check");
    let expected = [
        "data/list.json:1: error: the file holds no hash of keys and values [data-no-hash]",
        "data/list.json:1: warning: no profile's hierarchy leads to this file [unreached-file]",
        "data/nodes/web01.yaml:2: error: the file cannot be read: ",
        "data/roles/db.yaml:1: warning: no profile's hierarchy leads to this file [unreached-file]",
        "data/roles/web.yaml:1: warning: no profile's hierarchy leads to this file [unreached-file]",
        "data/sites/oslo.yaml:1: warning: no profile's hierarchy leads to this file [unreached-file]",
        "hiera.yaml:6: warning: the variable 'site' is undefined: ",
        "hiera.yaml:9: error: ",
        "hint: ",
        "  backends:",
        "    hiera_vault: {not_found: true}",
    ];
    printed.is(2);
    let lines: Vec<&str> = printed.out.lines().collect();
    let line = |words: &str| *lines.iter().find(|line| line.starts_with(words)).unwrap_or(&"");
    for words in expected {
        assert!(line(words).starts_with(words), "no {words:?} in {printed:#?}");
    }
    assert_eq!(lines.len(), expected.len() + 1, "{printed:#?}");
    assert!(line("data/nodes/web01").ends_with("[data-syntax] (on web01)"), "{printed:#?}");
    assert!(line("hiera.yaml:6").ends_with("[undefined-variable] (on all 2 nodes)"), "{printed:#?}");
    assert!(line("hiera.yaml:9").contains("'hiera_vault'"), "{printed:#?}");
    assert!(line("hiera.yaml:9").ends_with("[unknown-function] (on db01)"), "{printed:#?}");
    assert_eq!(lines.last(), Some(&"3 errors, 5 warnings on 2 nodes"));
}

#[test]
fn json_says_the_same() {
    let site = Sandbox::of(SITE);
    site.files(FAULTY);
    site.commit("faults");
    let printed = site.hierad("check --format json");
    let json = printed.is(2).json();
    assert_eq!(json["schema"], "hierad.check/1");
    let findings = json["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 8);
    let function = findings.iter().find(|finding| finding["code"] == "unknown-function").unwrap();
    assert_eq!(function["path"], "hiera.yaml");
    assert_eq!(function["line"], 9);
    assert_eq!(function["severity"], "error");
    assert_eq!(function["nodes"], serde_json::json!(["db01"]));
}

#[test]
fn nothing_wrong_is_status_0() {
    let site = Sandbox::of(SITE);
    let printed = site.hierad("check");
    assert_eq!(printed.ok(), "0 errors, 0 warnings on 2 nodes\n");
    assert_eq!(site.hierad("check --format json").json()["findings"], serde_json::json!([]));
    // What is broken and not committed is found where it is asked for.
    site.files("-- data/common.yaml\nmotd: [\n");
    site.hierad("check").is(0);
    let printed = site.hierad("check .");
    assert!(printed.is(2).out.starts_with("data/common.yaml:2: error: the file cannot be read: "), "{printed:#?}");
    assert!(printed.out.contains("[data-syntax] (on all 2 nodes)"), "{printed:#?}");
}

#[test]
fn a_bad_hiera_yaml_is_one_finding() {
    let site = Sandbox::of(SITE);
    for (content, line) in [
        ("version: 5\nhierarchy:\n  - name: x\n    pth: a.yaml\n", "hiera.yaml:4: error: "),
        ("version: 5\nhierarchy: [\n", "hiera.yaml:3: error: "),
        ("version: 9\n", "hiera.yaml:1: error: "),
        ("---\n:backends: [yaml]\n", "hiera.yaml: error: "),
        ("version: 5\nextra: 1\n", "hiera.yaml:2: error: "),
        ("version: '5'\n", "hiera.yaml:1: error: "),
        ("version: 5\ndefaults:\n  datadir: 5\n", "hiera.yaml:3: error: "),
        ("version: 5\ndefaults:\n  data_hash: a\n  data_dig: b\n", "hiera.yaml:2: error: "),
        ("version: 5\nhierarchy: x\n", "hiera.yaml:2: error: "),
        ("version: 5\nhierarchy:\n  - path: a.yaml\n", "hiera.yaml:3: error: "),
        ("version: 5\nhierarchy:\n  - name: x\n    paths: a.yaml\n", "hiera.yaml:4: error: "),
        ("version: 5\nhierarchy:\n  - name: x\n    paths:\n      - 5\n    pth: a\n", "hiera.yaml:5: error: "),
        ("version: 5\nhierarchy:\n  - name: x\n    path: a\n    glob: b\n", "hiera.yaml:3: error: "),
        ("version: 5\nhierarchy:\n  - name: x\n    options:\n      path: a\n", "hiera.yaml:4: error: "),
        ("version: 5\nhierarchy:\n  - name: x\n    hiera3_backend: redis\n", "hiera.yaml:4: error: "),
        ("version: 5\nhierarchy:\n  - name: x\n  - name: x\n", "hiera.yaml:4: error: "),
        ("version: 5\ndefault_hierarchy: []\n", "hiera.yaml:2: error: "),
        ("version: 4\nhierarchy:\n  - name: x\n    backend: sql\n", "hiera.yaml:4: error: "),
        ("version: 4\nhierarchy:\n  - name: x\n", "hiera.yaml:3: error: "),
        ("version: 3\nlogger: 5\n", "hiera.yaml:2: error: "),
    ] {
        site.write("hiera.yaml", content);
        let printed = site.hierad("check --hiera 5 .");
        let lines: Vec<&str> = printed.is(2).out.lines().filter(|line| line.contains(": error: ")).collect();
        assert_eq!(lines.len(), 1, "{printed:#?}");
        assert!(lines[0].starts_with(line), "{content}: {printed:#?}");
        assert!(lines[0].contains("keys fail") && lines[0].ends_with("(on all 2 nodes)"), "{printed:#?}");
    }
    std::fs::remove_file(site.root().join("hiera.yaml")).unwrap();
    let printed = site.hierad("check .");
    assert!(printed.is(2).out.contains("hiera.yaml: warning: there is no hiera.yaml here"), "{printed:#?}");
    assert!(printed.out.contains("--hiera-config"), "{printed:#?}");
}

#[test]
fn encrypted_data_without_a_key_is_a_note() {
    let site = Sandbox::of(SITE);
    site.files(
        "
-- hiera.yaml
version: 5
hierarchy:
  - name: Secrets
    lookup_key: eyaml_lookup_key
    path: secrets.eyaml
    options: {pkcs7_private_key: /nowhere/private.pem, pkcs7_public_key: /nowhere/public.pem}
  - name: None
    lookup_key: eyaml_lookup_key
    path: none.eyaml
    options: {pkcs7_private_key: /nowhere/private.pem, pkcs7_public_key: /nowhere/public.pem}
  - {name: All, glob: '**/*.yaml'}
-- data/secrets.eyaml
password: ENC[PKCS7,MIIBeQ==]
",
    );
    let printed = site.hierad("check .");
    let note = "hiera.yaml:3: note: no key here for this level, 'Secrets': ";
    let told: Vec<&str> = printed.ok().lines().filter(|line| line.contains(": note: ")).collect();
    assert!(matches!(told.as_slice(), [line] if line.starts_with(note)), "{printed:#?}");
    assert!(told[0].ends_with("[eyaml-no-key] (on all 2 nodes)"), "{printed:#?}");
}

#[test]
fn a_fault_on_many_nodes_is_one_line() {
    let site = Sandbox::of(SITE);
    let profiles: Vec<String> = (0..143).map(|n| format!("{{\"name\": \"n{n:03}\"}}\n")).collect();
    site.write("more.ndjson", profiles.concat());
    site.files("-- data/common.yaml\nmotd: '%{nope}'\n");
    site.commit("faults");
    let printed = site.hierad("check --profiles more.ndjson --profiles profiles");
    let lines: Vec<&str> = printed.is(2).out.lines().collect();
    assert_eq!(lines.len(), 3, "{printed:#?}");
    assert!(lines[0].ends_with("(on all 145 nodes)"), "{printed:#?}");
    assert!(lines[1].ends_with("[undefined-variable] (on 143 of 145 nodes, such as n000)"), "{printed:#?}");
}

#[test]
fn files_of_profiles_and_settings_are_no_data() {
    let site = Sandbox::of(SITE);
    site.files(
        "
-- hiera.yaml
version: 5
defaults: {data_hash: yaml_data, datadir: .}
hierarchy: [{name: Common, path: data/common.yaml}]
-- data/roles/db.yaml
-- data/roles/web.yaml
",
    );
    assert_eq!(site.hierad("check .").ok(), "0 errors, 0 warnings on 2 nodes\n");
    site.write("stray.yaml", "a: 1\n");
    assert!(site.hierad("check .").is(2).out.starts_with("stray.yaml:1: warning: no profile's hierarchy"));
}

#[test]
fn profiles_that_are_wrong_or_missing_are_findings() {
    let site = Sandbox::of(SITE);
    site.files("-- profiles/bad.yaml\nname: [\n");
    let printed = site.hierad("check");
    assert!(printed.is(2).out.starts_with("$BASE/repository/profiles/bad.yaml:2: error: "), "{printed:#?}");
    assert!(printed.out.contains("[profile]"), "{printed:#?}");
    site.write("hierad.yaml", "profiles: []\n");
    let printed = site.hierad("check");
    assert!(printed.is(2).out.contains("there are no node profiles: nothing is resolved [no-profiles]"));
}

#[test]
fn keys_that_fail_for_one_cause_are_one_finding() {
    let site = Sandbox::of(SITE);
    site.files(
        "-- data/common.yaml\nmotd: hello\nundefined: 'x %{nope}'\nagain: \"%{lookup('undefined')}\"\nother: '%{nope}'\n",
    );
    site.commit("faults");
    let printed = site.hierad("check");
    let lines: Vec<&str> = printed.is(2).out.lines().collect();
    assert_eq!(lines.len(), 3, "{printed:#?}");
    assert!(lines[0].starts_with("data/common.yaml:2: error: 2 keys fail, such as 'again': "), "{printed:#?}");
    assert!(lines[1].starts_with("data/common.yaml:4: error: 'other' fails: "), "{printed:#?}");
    assert!(lines.iter().take(2).all(|line| line.contains("'nope'") && line.ends_with("(on all 2 nodes)")));
}
