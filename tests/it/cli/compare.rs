//! `hierad compare`: two nodes at one revision.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::support::Sandbox;
use crate::support::random::Random;
use crate::support::terminal::SITE;

const HIERARCHY: &str = r"
-- hiera.yaml
version: 5
hierarchy:
- {name: Node, path: 'nodes/%{trusted.certname}.yaml'}
- {name: Environment, path: 'environments/%{environment}.yaml'}
- {name: Role, paths: ['roles/%{role}.yaml', 'roles/%{role}-%{facts.os.family}.yaml']}
- {name: Common, path: common.yaml}
";

const FILES: [&str; 9] = [
    "nodes/n0",
    "nodes/n1",
    "environments/test",
    "environments/other",
    "roles/web",
    "roles/db",
    "roles/db-Debian",
    "roles/web-Other",
    "common",
];

/// Data with few keys, so that the same ones are in several files.
fn data(random: &mut Random) -> String {
    const VALUES: [&str; 10] = [
        "1",
        "2",
        "text",
        "'%{facts.os.family} on %{role}'",
        "\"%{lookup('k1')}\"",
        "\"%{alias('k2')}\"",
        "[a, '%{trusted.certname}']",
        "[b, a]",
        "{x: 1, y: {z: '%{environment}'}}",
        "{x: 2, w: [1]}",
    ];
    (0..8).filter(|_| random.below(2) == 0).collect::<Vec<_>>().into_iter().fold(String::new(), |mut text, key| {
        _ = writeln!(text, "k{key}: {}", random.pick(&VALUES));
        text
    })
}

/// A repository and the profiles of six nodes.
fn random_site(seed: u64) -> Sandbox {
    let random = &mut Random::new(seed);
    let site = Sandbox::new();
    site.files(HIERARCHY);
    for file in FILES {
        let mut text = data(random);
        if file == "common" {
            let merges = ["first", "unique", "hash", "deep"];
            _ = writeln!(text, "last: 1\nlookup_options: {{k3: {{merge: {}}}}}", random.pick(&merges));
        }
        site.write(&format!("data/{file}.yaml"), text + "\n");
    }
    for node in 0..6 {
        let (role, family) = (*random.pick(&["web", "db", "none"]), *random.pick(&["Debian", "Other"]));
        let environment = *random.pick(&["production", "test", "other"]);
        let profile = json!({
            "name": format!("n{node}"), "environment": environment,
            "facts": {"os": {"family": family}}, "variables": {"role": role},
        });
        site.write(&format!("profiles/n{node}.json"), profile.to_string());
    }
    site.write("hierad.yaml", "profiles: [profiles]\n");
    site.commit("random");
    site
}

/// All answers of a node when it is looked at alone, as a report writes them.
fn answers(site: &Sandbox, node: &str, more: &str) -> BTreeMap<String, Json> {
    let printed = site.hierad(&format!("render --format ndjson --node {node} {more}"));
    let line: Json = serde_json::from_str(printed.ok()).unwrap();
    let of = |field: &str| line[field].as_object().unwrap().clone().into_iter();
    let values = of("values").map(|(key, value)| (key, json!({"value": value})));
    let errors = of("errors").map(|(key, error)| (key, json!({"error": error})));
    values.chain(errors).collect()
}

/// Compares the report of a call with the answers of both sides, and returns the number of keys that differ.
fn check(site: &Sandbox, call: &str, before: &BTreeMap<String, Json>, after: &BTreeMap<String, Json>) -> usize {
    let report = site.hierad(&format!("compare {call} --full --format json")).json();
    let changes: BTreeMap<&str, &Json> =
        report["changes"].as_array().unwrap().iter().map(|change| (change["key"].as_str().unwrap(), change)).collect();
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    assert!(changes.keys().all(|key| keys.contains(&(*key).to_owned())), "{call}: {report:#}");
    for key in keys {
        let sides = [before.get(key), after.get(key)].map(|side| side.cloned().unwrap_or(Json::Null));
        match changes.get(&**key) {
            None => assert_eq!(sides[0], sides[1], "{call}: {key} is not told"),
            Some(change) => {
                assert!(is_told(&change["before"], &sides[0]), "{call}: {key}: {change:#} {sides:#?}");
                assert!(is_told(&change["after"], &sides[1]), "{call}: {key}: {change:#} {sides:#?}");
                let is_subtle = change["kind"] == "reordered" || change["kind"] == "error_changed";
                assert!(sides[0] != sides[1] || is_subtle, "{call}: {key}: {change:#}");
            }
        }
    }
    changes.len()
}

/// Returns true if a side of a change is an answer. Reports add the place to an error.
fn is_told(side: &Json, answer: &Json) -> bool {
    match (side["error"].as_str(), answer["error"].as_str()) {
        (Some(told), Some(error)) => told.starts_with(error),
        _ => side == answer,
    }
}

#[test]
fn both_sides_are_what_each_node_has_alone() {
    let mut found = 0;
    for seed in 1..=8 {
        let site = random_site(seed);
        let all: Vec<BTreeMap<String, Json>> = (0..6).map(|node| answers(&site, &format!("n{node}"), "")).collect();
        for (one, other) in [(0, 1), (1, 2), (3, 2), (5, 4)] {
            found += check(&site, &format!("--node n{one} --node n{other}"), &all[one], &all[other]);
        }
        let [test, other] = ["test", "other"].map(|name| answers(&site, "n0", &format!("--set environment={name}")));
        found += check(&site, "--node n0 --environment test --environment other", &test, &other);
    }
    assert!(found > 50, "{found}");
}

/// The places of whole values, by the explanations of lookups: `data/common.yaml:1 (Common)`.
fn explained(site: &Sandbox, node: &str, key: &str) -> Option<String> {
    let printed = site.hierad(&format!("lookup {key} --node {node} --explain"));
    let line = printed.ok().lines().find_map(|line| line.strip_prefix(&format!("  {key}  ")))?;
    Some(line.to_owned())
}

#[test]
fn places_are_those_of_each_lookup() {
    let mut compared = 0;
    for seed in 20..24 {
        let site = random_site(seed);
        let report = site.hierad("compare --node n0 --node n1 --format json --full").json();
        for change in report["changes"].as_array().unwrap() {
            let key = change["key"].as_str().unwrap();
            for leaf in change["leaves"].as_array().unwrap().iter().filter(|leaf| leaf["path"] == key) {
                for (side, node) in [("before", "n0"), ("after", "n1")] {
                    if leaf[side]["value"].is_object() || leaf[side]["value"].is_array() || leaf[side].is_null() {
                        continue;
                    }
                    let origin = &leaf[side]["origin"];
                    let text = |field: &str| origin[field].as_str().unwrap_or_default().to_owned();
                    let place = format!("{}:{} ({})", text("path"), origin["line"], text("level"));
                    assert_eq!(explained(&site, node, key), Some(place), "seed {seed}: {key} on {node}: {leaf:#}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn a_report_names_both_nodes_and_where_values_come_from() {
    let site = Sandbox::of(SITE);
    site.write("data/nodes/db01.yaml", "motd: \"%{facts.os.family}\"\nonly: 1\n");
    site.commit("motd");
    let text = site.hierad("compare --node web01 --node db01").ok().to_owned();
    let start = "web01 -> db01: 3 keys differ\nfrom   node web01\nto     node db01\nat     ";
    assert!(text.starts_with(start), "{text}");
    for words in [
        "\nweb01 -> db01\n",
        "changed  motd: \"hello\" -> \"RedHat\"",
        "data/common.yaml:1 (Common) -> data/nodes/db01.yaml:1 (Node)",
        "changed  port: 80 -> 5432",
        "data/roles/web.yaml:1 (Role) -> data/roles/db.yaml:1 (Role)",
        "added    only: 1",
        "3 variables differ\n",
        "the variable role differs: \"web\" -> \"db\" [changed-variable]\n",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    for words in ["before ", "after ", "only node", "commit"] {
        assert!(!text.contains(words), "{words:?} in {text}");
    }
    let json = site.hierad("compare --node web01 --node db01 --format json").json();
    assert_eq!(json["compared_nodes"], json!({"before": {"name": "web01"}, "after": {"name": "db01"}}));
    for format in ["markdown", "html", "junit", "sarif", "github"] {
        let printed = site.hierad(&format!("compare --node web01 --node db01 --format {format}"));
        assert!(printed.ok().contains("web01 -") && printed.out.contains("3 keys differ"), "{format}: {printed:#?}");
        assert!(!printed.out.contains("the only node"), "{format}: {printed:#?}");
    }
}

#[test]
fn filters_revisions_and_statuses_are_those_of_diff() {
    let site = Sandbox::of(SITE);
    site.write("data/roles/db.yaml", "port: 80\n");
    site.commit("the same port");
    let same = site.hierad("compare --node web01 --node db01 --exit-code");
    assert!(same.is(0).out.starts_with("web01 -> db01: no difference (3 keys compared)\n"), "{same:#?}");
    site.hierad("compare --node web01 --node db01 HEAD~1 --exit-code").is(2);
    site.hierad("compare --node web01 --node db01 HEAD~1 --exit-code=errors").is(0);
    let others = site.hierad("compare --node web01 --node db01 HEAD~1 --key motd --exit-code");
    let words = "web01 -> db01: no difference seen, but: 1 key that the filter hides changes\n";
    assert!(others.is(3).out.starts_with(words), "{others:#?}");
    site.write("data/roles/db.yaml", "port: \"%{nope.x}\"\nother: \"%{alias('x')} y\"\n");
    let fails = site.hierad("compare --node web01 --node db01 . --exit-code=errors");
    assert!(fails.is(2).out.contains("on db01"), "{fails:#?}");
    for (arguments, words) in [
        ("--node web01", "name two nodes with --node, or one node and two environments"),
        ("--node web01 --node db01 --node web01", "name two nodes with --node"),
        ("--node web01 --node db01 --environment test", "name two nodes with --node"),
        ("--node web01 --node web01", "both are web01: there is nothing to compare"),
        ("--node web01 --environment a --environment a", "both are web01 in a: there is nothing to compare"),
        ("--node web01 --node db", "there is no profile of node 'db' among the 2 there are; did you mean db01?"),
        ("--node web --node db01", "did you mean web01?"),
        ("--node web01 --node db01 --key prot", "no key matches --key 'prot'; did you mean port?"),
        ("--node web01 --node db01 nosuch", "unknown revision 'nosuch'"),
    ] {
        site.hierad(&format!("compare {arguments}")).fails(&[words]);
    }
}

#[test]
fn what_cannot_be_seen_says_on_which_node_it_is() {
    let site = Sandbox::of(SITE);
    site.write("data/common.yaml", "broken: '%{nope}'\n");
    site.write("data/roles/db.yaml", "port: '%{nope}'\n");
    site.commit("errors");
    let told = site.hierad("compare --node web01 --node db01").ok().to_owned();
    let words = "web01 -> db01: 1 key differs; 1 of them fails on db01; 1 blind spot: both: 1 key fails on the node\n";
    assert!(told.starts_with(words), "{told}");
    site.write("data/roles/web.yaml", "port: '%{other}'\n");
    let each = site.hierad("compare --node web01 --node db01 .").ok().to_owned();
    for words in ["? web01: 1 key fails on the node: Undefined variable 'other'", "? db01: 2 keys fail on the node"] {
        assert!(each.contains(words), "no {words:?} in {each}");
    }
}

#[test]
fn nothing_happens_in_time_between_two_nodes() {
    let site = Sandbox::of(SITE);
    site.write("data/common.yaml", "lookup_options: {'^[a-d]': {convert_to: Integer}}\na: 1\nb: 2\nport: 80\n");
    site.write("data/roles/db.yaml", "a: x\nb: y\nc: z\n");
    site.write("data/roles/web.yaml", "d: z\n");
    site.commit("errors");
    let told = site.hierad("compare --node db01 --node web01").ok().to_owned();
    let first = "db01 -> web01: 4 keys differ; 1 of them fails on web01; 3 of them fail on db01";
    for words in [first, "  works    a\n", "  works    b\n", "  removed  c\n", "  fails    d\n"] {
        assert!(told.contains(words), "no {words:?} in {told}");
    }
    // One error of several keys is told once.
    site.write("data/common.yaml", "a: 1\nb: 2\n");
    site.write("data/roles/db.yaml", "a: [\n");
    for (nodes, words) in
        [("--node db01 --node web01", "3 keys fail on db01\n"), ("--node web01 --node db01", "3 keys fail on db01\n")]
    {
        let told = site.hierad(&format!("compare {nodes} .")).ok().to_owned();
        assert!(told.contains(words) && !told.contains("no longer") && !told.contains("recover"), "{told}");
        assert!(!told.contains("before") && !told.contains("any more"), "{told}");
    }
}

#[test]
fn a_key_that_failed_and_goes_is_removed() {
    let site = Sandbox::of(SITE);
    site.write("data/common.yaml", "lookup_options: {gone: {convert_to: Integer}}\ngone: x\nmotd: hello\n");
    site.commit("a key that fails");
    site.write("data/common.yaml", "lookup_options: {gone: {convert_to: Integer}}\nmotd: hello\n");
    let told = site.hierad("diff .").is(0).out.clone();
    assert!(told.contains("  removed  gone\n"), "{told}");
}
