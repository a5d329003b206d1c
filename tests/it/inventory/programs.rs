//! Programs that are asked for each node, and what several entries say of one.

use std::time::Duration;

use hierad::inventory::files::EnvironmentOfNodes;
use hierad::inventory::{FactNames, Inventory};
use hierad::settings::{ProfileEntry, ProgramSetting, SourceSetting};
use hierad::workers::Workers;
use serde_json::json;

use super::puppetdb::{nodes, site, who};
use super::server::{PuppetDb, node};
use crate::support::Sandbox;
use crate::support::terminal::{hierad, run};

/// A node classifier that writes down whom it was asked for.
const ENC: &str = r#"#!/bin/sh
echo "$1" >> ../asked
case $1 in
  web*) printf 'classes: {ntp: null}\nparameters: {role: classified, list: [1]}\nenvironment: testing\n' ;;
  db*) printf 'parameters:\n  role: "from the classifier"\n' ;;
  *) echo "who is $1?" >&2; exit 3 ;;
esac
"#;

/// Writes a program into the git directory.
fn program(site: &Sandbox, path: &str, text: &str) {
    site.write(&format!(".git/{path}"), text);
    site.sh(&format!("chmod +x .git/{path}"));
}

fn settle(site: &Sandbox, entries: &str) {
    site.write(".git/hierad.yaml", format!("profiles:\n{entries}"));
}

/// The nodes that a program was asked for since the last call.
fn asked(site: &Sandbox) -> Vec<String> {
    let path = site.root().join("asked");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    _ = std::fs::remove_file(path);
    let mut names: Vec<String> = text.lines().map(str::to_owned).collect();
    names.sort();
    names
}

const CLASSIFIED: [&str; 2] =
    ["db01.example.com RedHat from the classifier staging ", "web01.example.com Debian classified testing w"];

#[test]
fn a_classifier_sets_variables_and_environments() {
    let (site, server) = (site(), PuppetDb::with(nodes()));
    program(&site, "enc", ENC);
    settle(&site, &format!("  - puppetdb: {{url: '{}'}}\n  - enc: ./enc\n", server.url));
    assert_eq!(who(&site), CLASSIFIED);
    assert_eq!(asked(&site), ["db01.example.com", "web01.example.com"]);
    // Its answers count for an hour, too.
    assert_eq!(who(&site), CLASSIFIED);
    assert_eq!(asked(&site), [""; 0]);
    // A new node is asked for alone, and one that it does not know is left out.
    site.write("own/n.ndjson", "{\"name\": \"web02\"}\n{\"name\": \"other\"}\n");
    settle(&site, &format!("  - puppetdb: {{url: '{}'}}\n  - ../own\n  - enc: ./enc\n", server.url));
    let rendered = site.hierad("render --format ndjson --allow-blind --output -");
    rendered.is(0).says(&["node other is left out: it ends with exit status: 3: who is other?"]);
    assert_eq!(rendered.out.lines().count(), 3);
    assert_eq!(asked(&site), ["other", "web02"]);
}

#[test]
fn settings_with_a_bare_name_have_a_folder() {
    let site = site();
    let folder = site.root().join(".git");
    site.write(".git/role", "beside");
    site.write("own/n.ndjson", "{\"name\": \"web01\"}\n");
    // Each has its name, since answers are kept.
    for (name, enc) in [("one", "./one"), ("two", "{command: [./two]}"), ("three", "{command: ./three}")] {
        program(&site, name, "#!/bin/sh\nprintf 'parameters: {role: %s}\\n' \"$(cat role)\"\n");
        site.write(".git/bare.yaml", format!("profiles:\n  - ../own\n  - enc: {enc}\n"));
        let shown = run(hierad(&folder).args(["-C", "..", "--config", "bare.yaml", "nodes", "show", "web01"]));
        assert!(shown.ok().contains(" beside\n"), "{shown:#?}");
    }
}

#[test]
fn a_classifier_that_fails_leaves_the_last_answers() {
    let site = site();
    let settle = |seconds: f32| {
        settle(&site, &format!("  - ../profiles\n  - enc: {{command: [./enc], timeout: {seconds}, refresh: 0}}\n"));
    };
    settle(60.0);
    program(&site, "enc", ENC);
    let classified = ["db01 RedHat from the classifier production ", "web01 Debian classified testing "];
    assert_eq!(who(&site), classified);
    for (text, words) in [
        ("#!/bin/sh\nexit 1\n", "it ends with exit status: 1"),
        ("#!/bin/sh\nsleep 60\n", "it gives no answer within 0.5 s"),
        ("#!/bin/sh\necho '[1'\n", "it prints YAML with a fault in line"),
        ("#!/bin/sh\necho text\n", "it prints something other than a hash"),
        ("#!/bin/sh\necho 'parameters: 1'\n", "it prints 'parameters' that are not a hash"),
        ("#!/bin/sh\n", "it prints nothing, so Puppet would not find the node"),
        ("#!/bin/sh\nhead -c 20000000 /dev/zero\n", "it prints more than 16 MiB"),
        ("#!/nowhere\n", "it cannot be started"),
    ] {
        program(&site, "enc", text);
        settle(if text.contains("sleep") { 0.5 } else { 60.0 });
        assert_eq!(who(&site), classified, "{words}");
        site.hierad("render --allow-blind --output -").says(&[
            "hierad: the node classifier ",
            "asked for db01, ",
            words,
        ]);
        // Without an answer to fall back on it is an error.
        site.sh("mv .git/hierad/nodes .git/hierad/away");
        site.hierad("render --output -").fails(&["the node classifier ", ": asked for db01, ", words]);
        site.sh("mv .git/hierad/away .git/hierad/nodes");
    }
    program(&site, "enc", "#!/bin/sh\ncase $1 in web01) echo 'parameters: {role: new}' ;; *) exit 1 ;; esac\n");
    assert_eq!(who(&site), [classified[0], "web01 Debian new production "]);
}

#[test]
fn programs_that_print_without_an_end_are_stopped() {
    let (site, server) = (site(), PuppetDb::with(nodes()));
    let entries = |program: &str| format!("  - puppetdb: {{url: '{}'}}\n  - {program}\n", server.url);
    program(&site, "endless", "#!/bin/sh\nexec yes 'parameters: {role: web}'\n");
    settle(&site, &entries("enc: ./endless"));
    site.hierad("render --output -").fails(&["the node classifier ", "prints more than 16 MiB"]);
    settle(&site, &entries("trusted_external: ./endless"));
    site.hierad("render --output -").fails(&["prints more than 16 MiB"]);
}

#[test]
fn external_trusted_data_comes_from_programs() {
    let site = site();
    site.files("-- data/common.yaml\nwho: '%{trusted.external.a.x} %{trusted.external.b.name} %{trusted.external.x} %{trusted.extensions.pp_role}'\n");
    site.commit("external");
    site.write("own/n.yaml", "name: n\ntrusted: {extensions: {pp_role: p}}\n");
    let one = "#!/bin/sh\necho '{\"x\": 1}'\n";
    program(&site, "all/a.sh", one);
    program(&site, "all/b", "#!/bin/sh\nprintf '{\"name\": \"%s\"}' \"$1\"\n");
    site.write(".git/all/README", "no program\n");
    settle(&site, "  - ../own\n  - trusted_external: all/\n");
    assert_eq!(who(&site), ["1 n  p"]);
    settle(&site, "  - ../own\n  - trusted_external: all/a.sh\n");
    assert_eq!(who(&site), ["  1 p"]);
    program(&site, "all/a.rb", one);
    settle(&site, "  - ../own\n  - trusted_external: {command: [all/], refresh: 0}\n");
    site.hierad("render --allow-blind --output -").says(&["it has more than one 'a'"]);
    program(&site, "all/a.sh", "#!/bin/sh\necho '{'\n");
    settle(&site, "  - ../own\n  - trusted_external: {command: [all/a.sh], refresh: 0}\n");
    site.hierad("render --allow-blind --output -").says(&["it prints JSON with a fault in line"]);
}

#[test]
fn no_name_is_an_option_and_no_program_has_a_token() {
    let site = site();
    let said = "#!/bin/sh\necho \"asked $1 $GITHUB_TOKEN $GITLAB_TOKEN $CI_JOB_TOKEN $VAULT_TOKEN\" >> ../asked\n\
                echo 'parameters: {role: web}'\n";
    program(&site, "enc", said);
    for name in ["-rf", "--config=/etc/passwd"] {
        site.write("own/n.yaml", format!("name: {name}\n"));
        settle(&site, "  - ../own\n  - enc: {command: [./enc], refresh: 0}\n");
        let words = format!("is not asked for '{name}': a name that begins with a dash is an option to it");
        site.hierad("render --allow-blind --output -").says(&[&words]);
        assert_eq!(asked(&site), [""; 0], "{name}");
    }
    site.write("own/n.yaml", "name: a-b\n");
    let mut command = hierad(site.root());
    for name in ["GITHUB_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN", "VAULT_TOKEN"] {
        command.env(name, format!("of-{name}"));
    }
    run(command.args(["render", "--output", "-"])).ok();
    assert_eq!(asked(&site), ["asked a-b    of-VAULT_TOKEN"]);
}

#[test]
fn the_cache_of_a_server_is_read() {
    let site = site();
    // As Puppet 7 writes them.
    let facts = "--- !ruby/object:Puppet::Node::Facts\nname: n.example.com\nvalues:\n  os:\n    family: F\n  role: cached\ntimestamp: '2026-11-25T03:31:27.787960888+00:00'\n";
    let node = "--- !ruby/object:Puppet::Node\nname: n.example.com\nenvironment: staging\nclasses:\n  ntp:\n    a: 1\nparameters:\n  role: web\n  os:\n    family: F\n  serverversion: '7.1'\n";
    let json =
        r#"{"name":"n.example.com","values":{"os":{"family":"J"}},"timestamp":"2026-11-25T03:31:27.787960888+00:00"}"#;
    site.write("var/yaml/facts/n.example.com.yaml", facts);
    settle(&site, "  - puppet_cache: ../var\n");
    assert_eq!(who(&site), ["n.example.com F cached production "]);
    site.write("var/yaml/node/n.example.com.yaml", node);
    assert_eq!(who(&site), ["n.example.com F web staging "]);
    site.write("var/server_data/facts/n.example.com.json", json);
    assert_eq!(who(&site), ["n.example.com J web staging "]);
    settle(&site, "  - puppet_cache: ../data\n");
    site.hierad("render --output -")
        .fails(&["is not the cache of a Puppet server: it contains none of yaml/facts, server_data/facts"]);
}

#[test]
fn later_sources_lie_over_earlier_ones() {
    let extensions = json!({"pp_role": "p"});
    let server = PuppetDb::with(vec![node("web01", "staging", json!({"os": {"family": "P"}}), &extensions)]);
    let site = site();
    // By the names at the top level: the file has more facts than the server.
    settle(&site, &format!("  - ../profiles\n  - puppetdb: {{url: '{}'}}\n", server.url));
    assert_eq!(who(&site), ["db01 RedHat db production ", "web01 P web staging p"]);
    // A profile in a file replaces what is there before.
    settle(&site, &format!("  - puppetdb: {{url: '{}'}}\n  - ../profiles\n", server.url));
    assert_eq!(who(&site), ["db01 RedHat db production ", "web01 Debian web production "]);
}

#[test]
fn every_source_gives_the_same_nodes() {
    let site = site();
    let facts = json!({"os": {"family": "F"}});
    let server = PuppetDb::with(vec![node("n.example.com", "e", facts, &json!({"pp_role": "p"}))]);
    let facts = r#"{"name": "n.example.com", "values": {"os": {"family": "F"}}}"#;
    site.write("var/server_data/facts/n.example.com.json", facts);
    site.write("facts/n.json", facts);
    site.write("own/n.yaml", "name: n.example.com\nenvironment: e\nfacts: {os: {family: F}}\nvariables: {role: r}\ntrusted: {extensions: {pp_role: p}}\n");
    program(&site, "enc", "#!/bin/sh\necho 'parameters: {role: r}'\necho 'environment: e'\n");
    let puppetdb = format!("  - puppetdb: {{url: '{}'}}\n", server.url);
    let enc = "  - enc: ./enc\n";
    let [all, untrusted] = ["n.example.com F r e p", "n.example.com F r e "];
    for (entries, expected) in [
        ("  - ../own\n".to_owned(), all),
        (format!("{puppetdb}{enc}"), all),
        (format!("  - ../facts\n{puppetdb}{enc}"), all),
        (format!("  - puppet_cache: ../var\n{enc}{puppetdb}"), all),
        (format!("  - ../own\n{puppetdb}{enc}"), all),
        // Neither facts nor caches have trusted extensions.
        (format!("  - puppet_cache: ../var\n{enc}"), untrusted),
        (format!("  - ../facts\n{enc}"), untrusted),
    ] {
        settle(&site, &entries);
        assert_eq!(who(&site), [expected], "{entries}");
    }
}

#[test]
fn each_entry_tells_what_it_says_of_a_node() {
    let site = site();
    program(&site, "enc", ENC);
    let git = site.root().join(".git");
    let enc = ProgramSetting {
        program: git.join("enc").display().to_string(),
        arguments: Vec::new(),
        folder: git.clone(),
        timeout: Duration::from_secs(30),
        refresh: Duration::from_hours(1),
    };
    let inventory = Inventory {
        entries: vec![ProfileEntry::files(site.root().join("profiles")), ProfileEntry::Source(SourceSetting::Enc(enc))],
        within: None,
        folder: git.join("hierad/nodes"),
        environment: EnvironmentOfNodes::Declared("production".into()),
        workers: Workers::of(1),
        takes_old_answers: false,
        answers: None,
        cache: None,
    };
    let described = inventory.describe("web01").unwrap().unwrap();
    let [file, classifier] = &described.origins[..] else { panic!("{:?}", described.origins) };
    assert_eq!(file.fetched, None);
    assert!(file.place.ends_with("profiles/web01.yaml:1") && file.entry.ends_with("/profiles"), "{file:?}");
    assert!(classifier.fetched.is_some() && classifier.entry.starts_with("the node classifier "), "{classifier:?}");
    let profile = &described.profile;
    assert_eq!(profile.facts.get("os").unwrap().get("family"), Some(&"Debian".into()));
    assert_eq!(profile.variables.get("role"), Some(&"classified".into()));
    assert_eq!(&*profile.environment, "testing");
    let sections = [
        ("facts", "os", Some(0)),
        ("variables", "role", Some(1)),
        ("environment", "", Some(1)),
        ("trusted", "certname", None),
    ];
    for (section, name, expected) in sections {
        assert_eq!(described.origin_of(section, name), expected, "{section:?} {name}");
    }
    assert!(inventory.describe("nobody").unwrap().is_none());
    let overview = inventory.overview(FactNames::default()).unwrap();
    let places: Vec<usize> = overview.nodes["web01"].places.iter().map(|(entry, _)| *entry).collect();
    assert_eq!((places, &*overview.nodes["web01"].environment), (vec![0, 1], "testing"));
    // Asking once more for the nodes there are.
    asked(&site);
    let fetched = inventory.fetch(&FactNames::default());
    assert_eq!(fetched[0].1.as_ref().unwrap().header.count, 2);
    assert_eq!(asked(&site), ["db01", "web01"]);
}
