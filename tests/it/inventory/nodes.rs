//! `hierad nodes`: what is known of the nodes, and what is missing.

use serde_json::{Value as Json, json};

use super::puppetdb::nodes;
use super::server::{PuppetDb, node};
use crate::support::Sandbox;

const SITE: &str = r#"
-- hiera.yaml
version: 5
hierarchy:
- {name: node, path: 'nodes/%{trusted.certname}.yaml'}
- {name: role, path: 'roles/%{role}.yaml'}
- {name: family, path: 'os/%{facts.os.family}.yaml'}
- {name: nobody, path: nobody.yaml}
-- data/nodes/web01.yaml
motd: "%{facts.memory}"
-- data/roles/web.yaml
vhost: "%{facts.networking.ip} %{lookup('more')}"
-- data/os/Debian.yaml
more: "%{::facts.kernel} %{db_password}"
-- profiles/web01.yaml
name: web01
timestamp: '2020-01-02 03:04:05.5 +01:00'
facts: {os: {family: Debian, name: unread}, kernel: Linux, memory: {system: {total: 1, used: 2}}, networking: {ip: 10.0.0.1}}
variables: {role: web, db_password: hunter2}
trusted: {extensions: {pp_role: web}}
-- profiles/db01.yaml
name: db01
facts: {os: {family: RedHat}}
"#;

fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.write(".git/hierad.yaml", "profiles: ../profiles\n");
    site
}

/// The rows of a table, their entries separated by one blank.
fn rows(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The output of a command that succeeds.
#[track_caller]
fn ok(site: &Sandbox, arguments: &str) -> String {
    site.hierad(arguments).ok().to_owned()
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}

#[test]
fn nodes_are_listed_with_age_and_source() {
    let (site, server) = (site(), PuppetDb::with(nodes()));
    site.write(".git/hierad.yaml", format!("profiles: [../profiles, {{puppetdb: {{url: '{}'}}}}]\n", server.url));
    let text = ok(&site, "nodes");
    let rows = rows(&text);
    assert_eq!(rows[0], "NODE ENVIRONMENT FACTS FROM");
    assert!(rows[1].starts_with("db01 production no date ") && rows[1].ends_with("profiles/db01.yaml:1"), "{text}");
    assert!(rows[2].starts_with("db01.example.com staging ") && rows[2].contains("old PuppetDB at http"), "{text}");
    assert!(rows[3].starts_with("web01 production ") && rows[3].contains(" days old "), "{text}");
    assert!(rows[5].starts_with("4 nodes; PuppetDB at http") && rows[5].ends_with(" s ago"), "{text}");
    let listed = json(&ok(&site, "nodes list --format json"));
    assert_eq!(listed["nodes"][2]["time"], "2020-01-02T02:04:05Z");
    assert_eq!(listed["nodes"][3]["from"][0]["source"], 1);
    assert_eq!(listed["sources"].as_array().unwrap().len(), 2);
}

#[test]
fn every_variable_of_a_node_has_its_origin() {
    let site = site();
    site.write("more.yaml", "name: web01\nvariables: {role: db}\n");
    site.write(".git/enc", "#!/bin/sh\necho 'parameters: {role: classified, list: [a, {b: c}]}'\n");
    site.sh("chmod +x .git/enc");
    site.write(".git/hierad.yaml", "profiles: [../profiles, {enc: ./enc}]\n");
    let shown = rows(&ok(&site, "nodes show web01"));
    assert_eq!(shown[0], "web01");
    assert!(shown[1].starts_with("1 ") && shown[1].contains("profiles/web01.yaml:1, facts "), "{shown:?}");
    assert!(shown[2].starts_with("2 the node classifier ") && shown[2].ends_with(" ago"), "{shown:?}");
    for row in [
        "environment the name production",
        "trusted.certname the name web01",
        "trusted.extensions.pp_role 1 web",
        "role 2 classified",
        "list.1.b 2 c",
        "db_password 1 hunter2",
        "facts.memory.system.total 1 1",
    ] {
        assert!(shown.contains(&row.to_owned()), "{row}: {shown:#?}");
    }
    let shown = json(&ok(&site, "nodes show web01 --format json"));
    assert_eq!(shown["variables"]["facts.os.family"], json!({"value": "Debian", "origin": 0}));
    // A profile in a file replaces what is before it.
    site.write(".git/hierad.yaml", "profiles: [../profiles, ../more.yaml]\n");
    let shown = ok(&site, "nodes show web01");
    assert!(!shown.contains("facts.os") && rows(&shown).contains(&"role 1 db".to_owned()), "{shown}");
    site.hierad("nodes show web")
        .fails(&["there is no profile of node 'web' among the 2 there are; did you mean web01?"]);
}

#[test]
fn what_is_fetched_resolves_as_the_profiles_do() {
    let site = site();
    let whole = site.hierad("render --format ndjson --key motd --key vhost --key nothing_else*").out;
    let fetched = site.hierad("nodes fetch -o kept.ndjson");
    fetched.is(0).says(&[
        "left out, as they change by themselves: memory.system.used",
        "left out, as they look like secrets, though they may be read: db_password",
        "2 nodes in kept.ndjson",
    ]);
    let kept = std::fs::read_to_string(site.root().join("kept.ndjson")).unwrap();
    assert!(!kept.contains("unread") && !kept.contains("hunter2") && !kept.contains("pp_role"), "{kept}");
    let lines: Vec<Json> = kept.lines().map(json).collect();
    assert_eq!(lines[1]["timestamp"], "2020-01-02T02:04:05Z");
    assert_eq!(lines[1]["facts"]["memory"], json!({"system": {"total": 1}}));
    site.write("data/nodes/web01.yaml", "motd: '%{facts.kernel}'\n");
    site.write("data/os/Debian.yaml", "more: '%{::facts.kernel}'\n");
    site.commit("nothing volatile or secret is read");
    site.hierad("nodes fetch --output kept.ndjson").is(0);
    let render = |profiles: &str| ok(&site, &format!("render --format ndjson {profiles}"));
    assert_eq!(render("--profiles kept.ndjson"), render(""));
    assert_ne!(render(""), whole);
    // All facts, but for secrets of this site's own.
    let all = ok(&site, "nodes fetch --all-facts --secret facts.networking.* -o -");
    assert!(all.contains("unread") && !all.contains("10.0.0.1") && !all.contains("hunter2"), "{all}");
    site.hierad("nodes fetch -o no/such/folder").fails(&["cannot write no/such/folder: "]);
}

/// Reports made with the file that is fetched say as much as those made with the profiles.
#[test]
fn what_is_fetched_tells_what_is_guessed_and_what_is_classified() {
    let site = site();
    for (profile, expected) in [
        ("{guessed: true, facts: {kernel: Linux}}", json!({"guessed": true})),
        ("{guessed: false, facts: {kernel: Linux}}", json!({})),
        (
            "{classes: {ntp: {x: 1, y: null}, 'ntp::server': {z: secret}}}",
            json!({"classes": {"ntp": {"x": true}, "ntp::server": {"z": true}}}),
        ),
        ("{classes: {}}", json!({"classes": {}})),
        ("{classes: {ntp: null}, guessed: true}", json!({"classes": {}, "guessed": true})),
        ("{catalog_classes: [Ntp], catalog_keys: []}", json!({"catalog_classes": ["ntp"], "catalog_keys": []})),
        ("{parameters: {classes: [ntp]}}", json!({})),
    ] {
        site.write("profiles/db01.yaml", profile.replacen('{', "{name: db01, ", 1));
        let first = ok(&site, "nodes fetch -o -").lines().next().map(json).unwrap();
        let told = |field: &&str| Some(((*field).to_owned(), first.get(*field)?.clone()));
        let told: serde_json::Map<_, _> =
            ["guessed", "classes", "catalog_classes", "catalog_keys"].iter().filter_map(told).collect();
        assert_eq!(Json::Object(told), expected, "{profile}: {first}");
    }
    site.write("profiles/db01.yaml", "{name: db01, guessed: true, classes: {ntp: {x: 1}}}\n");
    ok(&site, "nodes fetch -o kept.ndjson");
    site.write("data/nodes/db01.yaml", "ntp::x: 1\n");
    site.commit("a classified parameter");
    for profiles in ["", "--profiles kept.ndjson"] {
        let report = site.hierad(&format!("diff HEAD~1 HEAD {profiles}")).out;
        assert!(report.contains("guessed") && report.contains("classifier"), "{profiles}: {report}");
    }
}

#[test]
fn profiles_without_what_is_read_are_named() {
    let site = site();
    let checked = site.hierad("nodes check");
    let text = &checked.is(2).out;
    for words in [
        "hiera.yaml:4: warning: 'role' is read here, but not set on 1 of 2 nodes: db01 [missing-variable]",
        "    -> set it in the profiles of these nodes, to null where a node has none",
        "warning: the facts of 1 of 2 nodes: web01 are older than 30 days, the oldest ",
        "2 warnings: ",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // What is read only for a node that has it is no fault.
    assert!(!text.contains("facts.networking") && !text.contains("kernel"), "{text}");
    site.write(".git/hierad.yaml", "profiles: ../profiles\naccept: {undefined-variable: [role]}\n");
    let checked = site.hierad("nodes check --older-than 100000");
    assert_eq!(
        checked.is(0).out,
        "all 7 variables that are read are set or accepted on the nodes that read them (2 nodes)\n"
    );
    let checked = json(&site.hierad("nodes check --format json").is(2).out);
    assert_eq!(checked["findings"][0]["code"], "old-profile");
    assert_eq!(checked["findings"][0]["nodes"], json!(["web01"]));
}

#[test]
fn variables_that_the_data_gives_are_not_missing() {
    let site = site();
    site.write("data/os/RedHat.yaml", "role: db\n");
    site.write("data/roles/db.yaml", "size: '%{facts.kernel} %{lookup(\"%{facts.os.family}\")}'\n");
    site.commit("a role by the data");
    site.write(".git/hierad.yaml", "profiles: ../profiles\nvariables: {role: \"%{lookup('role')}\"}\n");
    let text = site.hierad("nodes check").is(2).out.clone();
    assert!(!text.contains("'role' is read") && text.contains("'facts.kernel' is read"), "{text}");
    assert!(rows(&ok(&site, "nodes facts")).iter().any(|row| row.starts_with("role hiera.yaml:4 - 2: ")));
}

#[test]
fn nodes_that_puppetdb_does_not_know_are_named() {
    let (site, server) = (site(), PuppetDb::with(vec![node("web01", "production", json!({}), &json!({}))]));
    let settle = |query: &str| {
        let url = &server.url;
        site.write(".git/hierad.yaml", format!("profiles: [../profiles, {{puppetdb: {{url: '{url}'{query}}}}}]\n"));
        site.hierad("nodes check").is(2).out.clone()
    };
    let text = settle("");
    assert!(text.contains("warning: 1 of 2 nodes: db01 have a profile, but are not in PuppetDB at "), "{text}");
    // With a filter nothing is known of the others.
    let text = settle(", query: 'environment = \"production\"'");
    assert!(!text.contains("unknown-node"), "{text}");
}

#[test]
fn variables_and_levels_that_matter_are_told() {
    let site = site();
    let told = rows(&ok(&site, "nodes facts"));
    for row in [
        "role hiera.yaml:4 1 of 2 1: web (1)",
        "trusted.certname hiera.yaml:3 - 2: a different one on each node",
        "facts.os.family hiera.yaml:5 - 2: a different one on each node",
        "facts.networking.ip data/roles/web.yaml:1 - 1: 10.0.0.1 (1)",
        "hiera.yaml:3 node 1 of 2 nodes nodes/%{trusted.certname}.yaml",
        "hiera.yaml:6 nobody no node nobody.yaml",
    ] {
        assert!(told.contains(&row.to_owned()), "{row}: {told:#?}");
    }
    let told = json(&ok(&site, "nodes facts --format json"));
    assert_eq!(told["levels"][1]["inert_for"], json!(["db01"]));
}
