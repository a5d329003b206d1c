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
fn each_fault_is_one_finding_with_a_place() {
    let site = Sandbox::of(SITE);
    site.files(FAULTY);
    site.commit("faults");
    let printed = site.hierad("check");
    let expected = [
        // Errors first.
        "data/list.json:1: error: the file contains no hash of keys and values [data-no-hash]",
        "data/nodes/web01.yaml:2: error: the file cannot be read: ",
        "hiera.yaml:9: error: ",
        "data/list.json:1: warning: no known node's hierarchy leads to data/list.json [unreached-file]",
        "data/roles/db.yaml:1: warning: no known node's hierarchy leads to any of the 2 files in data/roles/ [unreached-file] and at 1 more place",
        "data/sites/oslo.yaml:1: warning: no known node's hierarchy leads to data/sites/oslo.yaml [unreached-file]",
        "hiera.yaml:6: warning: the variable 'site' is undefined: ",
    ];
    printed.is(2);
    let (lines, fixes): (Vec<&str>, Vec<&str>) = printed.out.lines().partition(|line| !line.starts_with("    -> "));
    for (line, words) in lines.iter().zip(expected) {
        assert!(line.starts_with(words), "{line}: no {words:?} in {printed:#?}");
    }
    assert_eq!((lines.len(), fixes.len()), (expected.len() + 1, expected.len()), "{printed:#?}");
    let line = |words: &str| *lines.iter().find(|line| line.starts_with(words)).unwrap_or(&"");
    assert!(
        line("data/nodes/web01").ends_with("[data-syntax] (2 keys fail, such as 'motd', on web01)"),
        "{printed:#?}"
    );
    assert!(line("hiera.yaml:6").ends_with("[undefined-variable] (on all 2 nodes)"), "{printed:#?}");
    assert!(line("hiera.yaml:9").contains("'hiera_vault'"), "{printed:#?}");
    assert!(
        line("hiera.yaml:9").ends_with("[unknown-function] (2 keys fail, such as 'motd', on db01)"),
        "{printed:#?}"
    );
    assert_eq!(lines.last(), Some(&"3 errors, 4 warnings on 2 nodes"));
    let fixes = fixes.concat();
    for fix in [r#"backends: {"hiera_vault": {not_found: true}}"#, r#"{unreached-file: ["data/roles/*"]}"#] {
        assert!(fixes.contains(fix), "no {fix} in {printed:#?}");
    }
}

#[test]
fn json_has_the_same_findings() {
    let site = Sandbox::of(SITE);
    site.files(FAULTY);
    site.commit("faults");
    let printed = site.hierad("check --format json");
    let json = printed.is(2).json();
    assert_eq!(json["schema"], "hierad.check/2");
    assert_eq!((&json["errors"], &json["warnings"], &json["notes"]), (&3.into(), &4.into(), &0.into()));
    let findings = json["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 7);
    let function = findings.iter().find(|finding| finding["code"] == "unknown-function").unwrap();
    assert_eq!(function["path"], "hiera.yaml");
    assert_eq!(function["line"], 9);
    assert_eq!(function["severity"], "error");
    assert_eq!(function["nodes"], serde_json::json!(["db01"]));
    assert_eq!(function["keys"], serde_json::json!(["motd", "port"]));
    let files = findings.iter().find(|finding| finding["path"] == "data/roles/db.yaml").unwrap();
    assert_eq!(files["places"][1], serde_json::json!({"path": "data/roles/web.yaml", "line": 1}));
}

#[test]
fn sound_data_exits_with_0() {
    let site = Sandbox::of(SITE);
    let printed = site.hierad("check");
    assert_eq!(printed.ok(), "0 errors, 0 warnings on 2 nodes\n");
    assert_eq!(site.hierad("check --format json").json()["findings"], serde_json::json!([]));
    // What is broken and not committed is found where it is asked for.
    site.files("-- data/common.yaml\nmotd: [\n");
    site.hierad("check").is(0);
    let printed = site.hierad("check .");
    assert!(printed.is(2).out.starts_with("data/common.yaml:2: error: the file cannot be read: "), "{printed:#?}");
    assert!(printed.out.contains("[data-syntax] ('port' fails on all 2 nodes)"), "{printed:#?}");
}

#[test]
fn a_broken_hiera_yaml_is_one_finding() {
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
        assert!(lines[0].contains("keys fail") && lines[0].ends_with("on all 2 nodes)"), "{printed:#?}");
    }
    std::fs::remove_file(site.root().join("hiera.yaml")).unwrap();
    let printed = site.hierad("check .");
    assert!(printed.is(2).out.contains("hiera.yaml: warning: there is no hiera.yaml here"), "{printed:#?}");
    assert!(printed.out.contains("--hiera-config"), "{printed:#?}");
}

#[test]
fn encrypted_data_without_key_is_a_note() {
    let site = Sandbox::of(SITE);
    site.settings("profiles: [profiles]\neyaml: {allowed_keys: ['/nowhere/*']}\n");
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
    let note = "hiera.yaml:3: note: there is no key for this level, 'Secrets': ";
    // The other note is about the order of the glob's files.
    let is_told = |line: &&str| line.contains(": note: ") && !line.contains("[read-otherwise]");
    let told: Vec<&str> = printed.ok().lines().filter(is_told).collect();
    assert!(matches!(told.as_slice(), [line] if line.starts_with(note)), "{printed:#?}");
    assert!(printed.out.contains("-> name the private key in .git/hierad.yaml: eyaml: "), "{printed:#?}");
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
    assert_eq!(lines.len(), 5, "{printed:#?}");
    assert!(lines[0].ends_with("('motd' fails on all 145 nodes)"), "{printed:#?}");
    assert!(lines[2].ends_with("[undefined-variable] (on 143 of 145 nodes, such as n000)"), "{printed:#?}");
}

#[test]
fn profiles_and_settings_are_not_data() {
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
    assert!(site.hierad("check .").is(2).out.starts_with("stray.yaml:1: warning: no known node's hierarchy"));
}

#[test]
fn faulty_profiles_are_findings() {
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
fn failures_of_one_cause_are_one_finding() {
    let site = Sandbox::of(SITE);
    site.files(
        "-- data/common.yaml\nmotd: hello\nundefined: 'x %{nope}'\nagain: \"%{lookup('undefined')}\"\nother: '%{nope}'\n",
    );
    site.commit("faults");
    let printed = site.hierad("check");
    let lines: Vec<&str> = printed.is(2).out.lines().collect();
    // The same variable, at two places.
    assert_eq!(lines.len(), 3, "{printed:#?}");
    assert!(lines[0].starts_with("data/common.yaml:2: error: "), "{printed:#?}");
    assert!(lines[0].contains("'nope'"), "{printed:#?}");
    assert!(lines[0].ends_with("(3 keys fail, such as 'again', on all 2 nodes) and at 1 more place"), "{printed:#?}");
}

#[test]
fn findings_are_selected_by_severity_and_code() {
    let site = Sandbox::of(SITE);
    site.files(FAULTY);
    site.commit("faults");
    let last = |arguments: &str, status: i32| {
        site.hierad(&format!("check {arguments}")).is(status).out.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(last("--severity error", 2), "3 errors, 0 warnings on 2 nodes; 4 hidden");
    let allowed = "--allow data-syntax --allow data-no-hash --allow unknown-function";
    assert_eq!(last(allowed, 2), "0 errors, 4 warnings on 2 nodes; 3 hidden");
    assert_eq!(last(&format!("--severity error {allowed}"), 0), "0 errors, 0 warnings on 2 nodes; 7 hidden");
    site.hierad("check --allow unreached").fails(&["there is no such kind of fault; did you mean unreached-file?"]);
    let accept = "accept: {data-syntax: ['data/*'], data-no-hash: '*'}";
    site.settings(format!("profiles: [profiles]\ncheck: {{severity: error}}\n{accept}\n"));
    assert_eq!(last("", 2), "1 error, 0 warnings on 2 nodes; 4 hidden");
    assert_eq!(last("--allow unknown-function", 0), "0 errors, 0 warnings on 2 nodes; 5 hidden");
    assert_eq!(last("--severity warning", 2), "1 error, 4 warnings on 2 nodes");
    // A pattern of other files accepts nothing.
    site.settings("profiles: [profiles]\naccept: {data-syntax: other.yaml, data-no-hash: data/nowhere.yaml}\n");
    assert_eq!(last("", 2), "3 errors, 4 warnings on 2 nodes");
    site.write("hierad.yaml", "accept: {nothing: '*'}\n");
    site.hierad("check").fails(&[
        "hierad.yaml:1: 'accept' has an unknown code 'nothing'; use one of absent-module (modules), ",
        "data-syntax (files)",
    ]);
    site.write("hierad.yaml", "check: {allow: [data-syntax]}\n");
    site.hierad("check").fails(&["hierad.yaml:1: ", "unknown field `allow`"]);
}

#[test]
fn changes_can_be_checked_alone() {
    let site = Sandbox::of(SITE);
    site.files("-- data/common.yaml\nmotd: '%{nope}'\nntp: [a, b]\n");
    site.commit("a fault");
    let new = |since: &str| site.hierad(&format!("check . --new-since {since}"));
    assert_eq!(new("HEAD").ok(), "0 errors, 0 warnings on 2 nodes\n");
    // The old fault is on another line.
    site.files("-- data/common.yaml\nntp: [a, b]\n# words\nmotd: '%{nope}'\n-- data/roles/none.yaml\na: 1\n");
    let printed = new("HEAD");
    assert_eq!(printed.is(2).out.lines().count(), 3, "{printed:#?}");
    assert!(printed.out.starts_with("data/roles/none.yaml:1: warning: "), "{printed:#?}");
    // It is at one more key, and in a file that had none.
    site.files("-- data/roles/web.yaml\nport: '%{nope}'\n");
    let printed = new("HEAD");
    assert!(printed.is(2).out.starts_with("data/roles/web.yaml:1: error: "), "{printed:#?}");
    assert_eq!(printed.out.lines().last(), Some("1 error, 1 warning on 2 nodes"));
    new("nowhere").fails(&["nowhere"]);
}

#[test]
fn output_fits_a_screen() {
    let site = Sandbox::of(SITE);
    for n in 0..50 {
        site.write(&format!("data/group{n}/file.yaml"), "a: [\n");
    }
    let printed = site.hierad("check .");
    assert!(printed.is(2).out.lines().count() <= 40, "{printed:#?}");
    assert!(printed.out.contains("and 83 more; --full shows all: 50 unreached-file, 33 data-syntax"), "{printed:#?}");
    assert_eq!(site.hierad("check . --full").is(2).out.lines().count(), 201);
}

#[test]
fn unreadable_revisions_are_errors() {
    let site = Sandbox::of(SITE);
    let hiera = "-- hiera.yaml\nversion: 5\ndefaults: {datadir: /srv/data, data_hash: yaml_data}\nhierarchy: [{name: All, path: common.yaml}]\n";
    site.files(hiera);
    let printed = site.hierad("check . --severity error");
    let expected = "error: no level of the hierarchy could be read [no-level-read] (on all 2 nodes)\n    -> add to hierad.yaml: datadirs: {\"/srv/data\": \"data\"}\n";
    assert!(printed.is(2).out.starts_with(expected), "{printed:#?}");
}

#[test]
fn manifests_that_merge_differently_are_findings() {
    let site = Sandbox::of(SITE);
    site.files(
        "
-- manifests/site.pp
node default {
  $ntp = lookup('ntp', {merge => unique}) + lookup('ntp')
  $port = lookup('port', Integer, 'first', 1)
  create_resources('user', hiera_hash('users') + hiera('users'))
  create_resources('file', lookup('absent', {merge => deep}))
}
-- data/common.yaml
motd: hello
ntp: [a, b]
port: 1
users: {root: {uid: 0}}
-- data/nodes/web01.yaml
ntp: [c]
users: {ada: {uid: 1}}
",
    );
    let printed = site.hierad("check .");
    let faults: Vec<&str> = printed.is(2).out.lines().collect();
    let expected = [
        "manifests/site.pp:2: warning: manifests look up 'ntp' with the merge strategy 'unique'",
        r#"    -> add to hierad.yaml: lookup_options: {"ntp":{"merge":"unique"}}"#,
        "manifests/site.pp:4: warning: manifests look up 'users' with the merge strategy 'hash'",
        r#"    -> add to hierad.yaml: lookup_options: {"users":{"merge":"hash"}}"#,
        "0 errors, 2 warnings on 2 nodes",
    ];
    assert_eq!(faults.len(), expected.len(), "{printed:#?}");
    for (fault, words) in faults.iter().zip(expected) {
        assert!(fault.starts_with(words), "no {words} in {printed:#?}");
    }
    assert!(faults[0].ends_with("[merge-in-manifest] (on web01)"), "{printed:#?}");
    // What is pasted counts, and is what the node gets.
    site.write(
        "hierad.yaml",
        "profiles: [profiles]\nlookup_options: {\"ntp\":{\"merge\":\"unique\"},\"users\":{\"merge\":\"hash\"}}\n",
    );
    assert_eq!(site.hierad("check .").ok(), "0 errors, 0 warnings on 2 nodes\n");
    assert_eq!(site.hierad("lookup ntp --node web01 --rev .").ok(), "---\n- c\n- a\n- b\n");
}

#[test]
fn variables_are_accepted_by_plain_name() {
    let site = Sandbox::of(SITE);
    site.files(
        "
-- hiera.yaml
version: 5
hierarchy:
  - {name: Site, path: 'sites/%{::site}.yaml'}
  - {name: Common, path: common.yaml}
-- data/roles/db.yaml
-- data/roles/web.yaml
",
    );
    let fix = r#"accept: {undefined-variable: ["site"]}"#;
    let printed = site.hierad("check .");
    assert!(printed.is(2).out.contains(fix), "{printed:#?}");
    site.settings(format!("profiles: [profiles]\n{fix}\n"));
    assert_eq!(site.hierad("check .").ok(), "0 errors, 0 warnings on 2 nodes\n");
}

#[test]
fn references_to_absent_keys_are_notes() {
    let site = Sandbox::of(SITE);
    site.files(
        "-- data/common.yaml\nmotd: hello\nntp: [a, b]\nnames:\n  - \"%{lookup('motd')}\"\n  - \"%{alias('mtod')}\"\nmail: \"to %{hiera('mtod')}\"\n",
    );
    site.commit("a wrong name");
    let printed = site.hierad("check --severity note");
    let expected = "data/common.yaml:5: note: no data file here has the key 'mtod': an interpolation that looks it up is \
                    empty [absent-key] and at 1 more place\n";
    assert!(printed.is(2).out.contains(expected), "{}", printed.out);
    assert!(!printed.out.contains("'motd'"), "{}", printed.out);
    site.hierad("check").is(0);
    site.hierad("check --severity note --allow absent-key --allow outside-repository").is(0);
}

#[test]
fn references_to_absent_keys_are_named_where_they_stand() {
    for (data, line) in [
        ("a: \"%{lookup('gone')}\"\n", 1),
        ("a:\n  b: \"%{lookup('gone')}\"\n", 2),
        ("a:\n  b: 1\n  c:\n    - x\n    - [y, \"%{alias('gone')}\"]\n", 5),
        ("a:\n  x: 1\n  \"%{hiera('gone')}\": 2\n", 3),
        ("a: [1,\n  2,\n  \"x%{lookup('gone.b.c')}\"]\n", 3),
        ("a:\n  b: \"%{lookup('motd')}\"\n  c: &x \"%{lookup('gone')}\"\n", 3),
    ] {
        let site = Sandbox::of(SITE);
        site.files(&format!("-- data/roles/db.yaml\n{data}"));
        let printed = site.hierad("check . --severity note");
        let expected = format!("data/roles/db.yaml:{line}: note: no data file here has the key 'gone'");
        assert!(printed.out.contains(&expected), "{data}: {}", printed.out);
    }
}

#[test]
fn a_known_finding_on_one_node_more_is_not_new_unless_keys_fail() {
    let site = Sandbox::of(SITE);
    let level = "  - {name: Secret, lookup_key: eyaml_lookup_key, path: 'secret/%{role}.eyaml', options: {pkcs7_private_key: /no/key, pkcs7_public_key: /no/key}}\n";
    site.write("hiera.yaml", format!("version: 5\nhierarchy:\n{level}  - {{name: Common, path: common.yaml}}\n"));
    site.files("-- data/secret/web.eyaml\ntoken: ENC[PKCS7,abc]\n");
    site.commit("a secret");
    let new = || site.hierad("check . --severity note --new-since HEAD --allow unreached-file");
    let first = site.hierad("check --severity note");
    assert!(first.out.contains("(on web01)"), "{}", first.out);
    assert_eq!(new().ok(), "0 errors, 0 warnings on 2 nodes\n");
    site.files("-- data/secret/db.eyaml\ntoken: ENC[PKCS7,abc]\n");
    assert!(site.hierad("check . --severity note").out.contains("(on all 2 nodes)"));
    assert_eq!(new().ok(), "0 errors, 0 warnings on 2 nodes\n");
    // A value that begins to fail on a node is new, whatever failed before elsewhere.
    site.files("-- data/secret/web.eyaml\ntoken: ENC[PKCS7,abc]\nport: '%{nope}'\n");
    site.commit("a fault");
    assert_eq!(new().ok(), "0 errors, 0 warnings on 2 nodes\n");
    site.files("-- data/secret/db.eyaml\ntoken: ENC[PKCS7,abc]\nport: '%{nope}'\n");
    assert!(new().is(2).out.contains("nope"));
}
