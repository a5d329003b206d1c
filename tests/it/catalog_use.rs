//! The use of changed keys: which nodes use them by their catalogs, and that nothing else is said by that.

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::terminal::Printed;

const SITE: &str = r#"
-- hiera.yaml
version: 5
hierarchy:
- {name: node, path: 'nodes/%{trusted.certname}.yaml'}
- {name: all, path: all.yaml}
-- data/all.yaml
apache::port: 80
apache::vhost: "%{trusted.certname}-1"
ntp::servers: [a]
nosuch::key: 1
plain: 1
"#;

/// Each node with its classes; of the last one no catalog is known.
const NODES: &str = r#"{"name": "a", "catalog_classes": ["apache", "ntp"]}
{"name": "b", "catalog_classes": ["ntp", "Other"]}
{"name": "c", "catalog_classes": ["ntp", "main"]}
{"name": "d"}
"#;

fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.write(".git/nodes.ndjson", NODES);
    site.write(".git/hierad.yaml", "profiles: [nodes.ndjson]\n");
    site
}

/// Commits a line of data in place of another, and returns what is reported.
fn changed(site: &Sandbox, [line, by]: [&str; 2], more: &str) -> Printed {
    let path = site.root().join("data/all.yaml");
    let data = std::fs::read_to_string(&path).unwrap();
    assert!(data.contains(line), "{data}");
    std::fs::write(path, data.replace(line, by)).unwrap();
    site.commit("next");
    site.hierad(&format!("diff HEAD~1 HEAD {more}"))
}

/// The use of each change: its key, its nodes, and what is said of it.
fn uses(report: &Json) -> Vec<(String, String, Json, bool)> {
    let nodes = |change: &Json| {
        let set = &report["node_sets"][usize::try_from(change["nodes"].as_u64().unwrap()).unwrap()];
        let mut names = Vec::new();
        names_of(report, set, &mut names);
        names.sort();
        names.join(" ")
    };
    let of = |change: &Json| {
        let key = change["key"].as_str().unwrap().to_owned();
        (key, nodes(change), change["catalog_use"].clone(), change["apart"] == true)
    };
    report["changes"].as_array().unwrap().iter().map(of).collect()
}

/// Adds the names of a set, which refers to others by their numbers.
fn names_of(report: &Json, set: &Json, names: &mut Vec<String>) {
    for item in set.as_array().unwrap() {
        match item.as_u64() {
            Some(number) => names_of(report, &report["node_sets"][usize::try_from(number).unwrap()], names),
            None => names.push(item.as_str().unwrap().to_owned()),
        }
    }
}

fn class(name: &str, [with, without, unknown]: [usize; 3]) -> Json {
    serde_json::json!({"class": name, "with": with, "without": without, "unknown": unknown})
}

#[test]
fn nodes_without_the_class_are_apart() {
    let site = site();
    let text = changed(&site, ["port: 80", "port: 81"], "");
    let expected = "1 key changes on all 4 nodes; by their catalogs, 2 of these nodes do not use it\n";
    assert!(text.ok().starts_with(expected), "{text:#?}");
    let [used, apart] =
        text.out.split("\n\n1 key on 2 nodes whose catalogs do not have its class\n").collect::<Vec<_>>()[..]
    else {
        panic!("{text:#?}")
    };
    assert!(used.contains("2 of 4 nodes: a, d\n") && apart.contains("2 of 4 nodes: b, c\n"), "{text:#?}");
    let note =
        "  class apache is in the catalogs of 1 of the 4 nodes where its keys change; the catalog of 1 is not\n  known";
    assert!(used.contains(note) && !apart.contains("class"), "{text:#?}");
    let report = site.hierad("diff HEAD~1 HEAD --format json").json();
    let of = class("apache", [1, 2, 1]);
    let key = "apache::port".to_owned();
    assert_eq!(uses(&report), [(key.clone(), "a d".to_owned(), of.clone(), false), (key, "b c".to_owned(), of, true)]);
    let groups: Vec<bool> = report["groups"].as_array().unwrap().iter().map(|group| group["apart"] == true).collect();
    assert_eq!(groups, [false, true]);
    assert_eq!(
        (&report["verdict"], &report["nodes"]["changed"], &report["keys"]["changed"]),
        (&"changes".into(), &4.into(), &1.into())
    );
}

#[test]
fn values_that_differ_from_node_to_node_stay_with_their_nodes() {
    let site = site();
    let text = changed(&site, ["certname}-1", "certname}-2"], "").out;
    let (_, apart) = text.split_once("whose catalogs do not have its class").unwrap();
    assert!(apart.contains("apache::vhost: \"b-1\" -> \"b-2\""), "{text}");
    let report = site.hierad("diff HEAD~1 HEAD --format json").json();
    let found = uses(&report);
    assert_eq!(
        found.iter().map(|(_, nodes, _, apart)| (&**nodes, *apart)).collect::<Vec<_>>(),
        [("a", false), ("b", true), ("c", true), ("d", false)]
    );
    for (change, (_, node, ..)) in report["changes"].as_array().unwrap().iter().zip(&found) {
        assert_eq!(change["after"]["value"], format!("{node}-2"));
    }
}

/// The nodes of the site, some with a record of what was looked up for their catalogs.
const RECORDED: &str = r#"{"name": "a", "catalog_classes": ["apache"], "catalog_keys": ["plain.part", "nosuch::key"]}
{"name": "b", "catalog_classes": ["ntp"], "catalog_keys": ["apache::port"]}
{"name": "c", "catalog_classes": ["ntp", "main"], "catalog_keys": []}
{"name": "d", "catalog_classes": ["ntp", "main"]}
"#;

#[test]
fn records_of_lookups_tell_of_keys_of_no_class() {
    let site = site();
    site.write(".git/nodes.ndjson", RECORDED);
    // Of the last node nobody knows whether code looks the key up.
    let text = changed(&site, ["plain: 1", "plain: 2"], "");
    let expected = "1 key changes on all 4 nodes; by their catalogs, 2 of these nodes do not use it\n";
    assert!(text.ok().starts_with(expected), "{text:#?}");
    let [used, apart] = text.out.split("\n\n1 key on 2 nodes whose catalogs do not use it\n").collect::<Vec<_>>()[..]
    else {
        panic!("{text:#?}")
    };
    assert!(used.contains("2 of 4 nodes: a, d\n") && apart.contains("2 of 4 nodes: b, c\n"), "{text:#?}");
    let note = "plain is used by 1 of the 4 nodes where it changes, by their catalogs; of 1 it is not known";
    assert!(used.contains(note), "{text:#?}");
    let of = serde_json::json!({"with": 1, "without": 2, "unknown": 1});
    let key = "plain".to_owned();
    let report = site.hierad("diff HEAD~1 HEAD --format json").json();
    assert_eq!(uses(&report), [(key.clone(), "a d".to_owned(), of.clone(), false), (key, "b c".to_owned(), of, true)]);
    // No catalog has the class of this one.
    let report = changed(&site, ["key: 1", "key: 2"], "--format json").json();
    assert_eq!(uses(&report)[0].2, serde_json::json!({"with": 1, "without": 2, "unknown": 1}));
}

#[test]
fn a_key_of_a_class_may_be_looked_up_without_it() {
    let site = site();
    site.write(".git/nodes.ndjson", RECORDED);
    let report = changed(&site, ["port: 80", "port: 81"], "--format json").json();
    let of = class("apache", [2, 2, 0]);
    let key = "apache::port".to_owned();
    assert_eq!(uses(&report), [(key.clone(), "a b".to_owned(), of.clone(), false), (key, "c d".to_owned(), of, true)]);
    let text = site.hierad("diff HEAD~1 HEAD").out;
    let note = "class apache, or a lookup of apache::port, is in the catalogs of 2 of the 4 nodes where it changes\n";
    assert!(text.contains(note) && text.contains("1 key on 2 nodes whose catalogs do not have its class\n"), "{text}");
    for (format, words) in [
        ("sarif", "on 2 of 4 nodes, whose catalogs do not have the class"),
        ("junit", "c, d, whose catalogs do not have the class"),
    ] {
        let told = site.hierad(&format!("diff HEAD~1 HEAD --format {format}")).out;
        assert!(told.contains(words), "{told}");
    }
    // Where all lookups are known of all of these nodes, none of them uses the key.
    site.write(".git/nodes.ndjson", RECORDED.replace("\"name\": \"d\",", "\"name\": \"d\", \"catalog_keys\": [],"));
    let text = site.hierad("diff HEAD~1 HEAD").out;
    assert!(text.contains("1 key on 2 nodes whose catalogs do not use it\n"), "{text}");
    // One of those of which only lookups are known may still have the class.
    site.write(
        ".git/nodes.ndjson",
        "{\"name\": \"a\", \"catalog_classes\": [\"apache\"]}\n{\"name\": \"b\", \"catalog_keys\": []}\n",
    );
    let report = site.hierad("diff HEAD~1 HEAD --format json").json();
    assert_eq!(uses(&report), [("apache::port".to_owned(), "a b".to_owned(), class("apache", [1, 0, 1]), false)]);
    // A single node.
    site.write(".git/nodes.ndjson", "{\"name\": \"b\", \"catalog_keys\": []}\n");
    site.sh("sed -i 's/^plain: 1/plain: 2/' data/all.yaml");
    site.commit("plain");
    let text = site.hierad("diff HEAD~1 HEAD").out;
    assert!(text.starts_with("1 key changes on the only node; by its catalog, the node does not use it\n"), "{text}");
    let told = site.hierad("diff HEAD~1 HEAD --format sarif").out;
    assert!(told.contains("changed on the only node, whose catalog does not use the key"), "{told}");
}

#[test]
fn classes_that_all_have_leave_reports_as_they_are() {
    let site = site();
    let text = changed(&site, ["[a]", "[b]"], "").out;
    assert!(!text.contains("catalog"), "{text}");
    let report = site.hierad("diff HEAD~1 HEAD --format json").json();
    assert_eq!(uses(&report), [("ntp::servers".to_owned(), "a b c d".to_owned(), class("ntp", [3, 0, 1]), false)]);
}

#[test]
fn changes_are_divided_by_few_sets_of_nodes() {
    for (classes, is_divided) in [(32, true), (33, false)] {
        let keys =
            |value: usize| (0..classes).fold(String::new(), |text, class| format!("{text}c{class}::x: {value}\n"));
        let node = |class: usize| format!("{{\"name\": \"n{class}\", \"catalog_classes\": [\"c{class}\"]}}\n");
        let site = Sandbox::of(&SITE.replace("plain: 1\n", &keys(1)));
        site.write(".git/nodes.ndjson", (0..classes).map(node).collect::<String>());
        site.write(".git/hierad.yaml", "profiles: [nodes.ndjson]\n");
        site.write("data/all.yaml", keys(2));
        site.commit("next");
        let report = site.hierad("diff HEAD~1 HEAD --key c* --format json").json();
        let found = uses(&report);
        assert_eq!(found.iter().any(|(.., apart)| *apart), is_divided);
        let expected = class("c1", [1, classes - 1, 0]);
        assert!(found.iter().filter(|(key, ..)| key == "c1::x").all(|(_, _, of, _)| *of == expected), "{found:?}");
        let text = site.hierad("diff HEAD~1 HEAD --key c*").out;
        assert_eq!(text.contains("30 more classes are not in all of the catalogs"), !is_divided, "{text}");
    }
}

/// Fails unless a change is reported as if nothing were known of classes.
#[track_caller]
fn is_silent(site: &Sandbox) {
    for format in ["text", "markdown", "html", "json", "sarif", "junit", "github"] {
        let report = || site.hierad(&format!("diff HEAD~1 HEAD --format {format}")).out;
        let known = report();
        site.write(".git/nodes.ndjson", "{\"name\": \"a\"}\n{\"name\": \"b\"}\n{\"name\": \"c\"}\n{\"name\": \"d\"}\n");
        assert_eq!(known, report(), "{format}");
        site.write(".git/nodes.ndjson", NODES);
    }
}

#[test]
fn nothing_is_said_of_keys_of_no_class() {
    let site = site();
    // No catalog has the class, so the key may be looked up explicitly.
    assert!(uses(&changed(&site, ["key: 1", "key: 2"], "--format json").json())[0].2.is_null());
    is_silent(&site);
    changed(&site, ["plain: 1", "plain: 2"], "");
    is_silent(&site);
}

#[test]
fn nothing_is_said_of_keys_that_data_refers_to() {
    let site = site();
    changed(&site, ["plain: 1", "plain: \"%{lookup('apache::port')}\""], "");
    assert!(uses(&changed(&site, ["port: 80", "port: 81"], "--format json").json())[0].2.is_null());
    is_silent(&site);
    // Not even where lookups are recorded: it may be used on all nodes.
    site.write(".git/nodes.ndjson", RECORDED);
    assert!(uses(&site.hierad("diff HEAD~1 HEAD --format json").json())[0].2.is_null());
    site.write(".git/nodes.ndjson", NODES);
    // The reference goes with the change: before it was there.
    changed(&site, ["port: 81\n", "port: 82\nagain: 1\n"], "");
    changed(&site, ["again: 1", "again: \"%{alias('ntp::servers')}\""], "");
    let both = changed(&site, ["plain: \"%{lookup('apache::port')}\"\n", ""], "");
    assert_eq!(both.status, 0);
    let path = site.root().join("data/all.yaml");
    let data = std::fs::read_to_string(&path).unwrap();
    let next = data.replace("\"%{alias('ntp::servers')}\"", "2").replace("[a]", "[c]");
    std::fs::write(path, next).unwrap();
    site.commit("both");
    is_silent(&site);
}

#[test]
fn nothing_is_said_where_data_may_refer_to_any_key() {
    let site = site();
    changed(&site, ["plain: 1", "plain: \"%{lookup('%{nosuch}')}\""], "");
    changed(&site, ["port: 80", "port: 81"], "");
    is_silent(&site);
}

#[test]
fn keys_that_fail_are_never_apart() {
    let site = site();
    let report = changed(&site, ["port: 80", "port: \"%{nonsense('x')}\""], "--format json").json();
    let found = uses(&report);
    assert!(found.len() == 1 && !found[0].3 && report["changes"][0]["kind"] == "failed", "{found:?}");
    assert_eq!(report["headline"], "1 key fails on all 4 nodes");
    // Nor are those that recover.
    let report = changed(&site, ["port: \"%{nonsense('x')}\"", "port: 80"], "--format json").json();
    assert!(uses(&report).iter().all(|(.., apart)| !apart), "{report}");
}

#[test]
fn classes_decide_on_nothing() {
    let site = site();
    site.settings("policies: [{name: spread, level: failure, message: look, more_than: {groups: 1}}]\n");
    site.commit("settings");
    for (line, by) in [("port: 80", "port: 81"), ("certname}-1", "certname}-2")] {
        let known = changed(&site, [line, by], "--exit-code --format json");
        assert!(uses(&known.json()).iter().any(|(.., apart)| *apart), "{known:#?}");
        site.write(".git/nodes.ndjson", "{\"name\": \"a\"}\n{\"name\": \"b\"}\n{\"name\": \"c\"}\n{\"name\": \"d\"}\n");
        let unknown = site.hierad("diff HEAD~1 HEAD --exit-code --format json");
        assert_eq!(known.status, unknown.status);
        let (known, unknown) = (known.json(), unknown.json());
        for field in ["verdict", "nodes", "keys", "policies", "blind_spots", "causes"] {
            assert_eq!(known[field], unknown[field], "{field}");
        }
        site.write(".git/nodes.ndjson", NODES);
    }
}

#[test]
fn catalogs_take_no_part_in_lookups() {
    let site = site();
    site.files("-- data/nodes/a.yaml\nseen: \"%{facts.catalog_classes}\"\nbare: \"%{catalog_classes}\"\n");
    site.commit("next");
    let rendered = site.hierad("render --format ndjson --allow-blind --output -").out;
    assert!(
        rendered.contains("\"seen\":\"\"") && rendered.contains("Undefined variable 'catalog_classes'"),
        "{rendered}"
    );
    site.write(
        "other.ndjson",
        NODES.replace("ntp", "chrony").replace("{\"name\": \"d\"", "{\"name\": \"d\", \"catalog_classes\": [\"x\"]"),
    );
    let same = site.hierad("diff --nodes-before .git/nodes.ndjson --nodes-after other.ndjson");
    let headline = "by other facts of nodes: no change seen, but: 1 key fails on 1 of 4 nodes\n";
    assert!(same.ok().starts_with(headline), "{same:#?}");
    assert!(!same.out.contains("the variable"), "{same:#?}");
}

#[test]
fn faults_are_told_of() {
    let site = site();
    site.write(".git/nodes.ndjson", "{\"name\": \"a\", \"catalog_classes\": {\"apache\": {}}}\n{\"name\": \"b\"}\n");
    let rendered = site.hierad("render --output -");
    let words = ["nodes.ndjson:1: 'catalog_classes' of a node profile must be a list of names of classes"];
    assert!(words.iter().all(|words| rendered.err.contains(words)), "{rendered:#?}");
    site.write(".git/nodes.ndjson", "{\"name\": \"a\", \"catalog_keys\": \"all\"}\n{\"name\": \"b\"}\n");
    let rendered = site.hierad("render --output -");
    assert!(
        rendered.err.contains("nodes.ndjson:1: 'catalog_keys' of a node profile must be a list of names of keys"),
        "{rendered:#?}"
    );
}

/// Nodes of a classifier: of parameters with values, without one, and of classes alone. For `e` nothing is known.
const CLASSIFIED: &str = r#"{"name": "a", "classes": {"ntp": {"servers": ["x"]}, "plain": null}}
{"name": "b", "classes": {"ntp": {"servers": null, "other": 1}, "apache": {"port": false}}}
{"name": "c", "classes": ["ntp", "apache"]}
{"name": "d", "classes": {"ntp": {}, "Apache": {"port": 1}, "apache::vhost": {"port": 1}}}
{"name": "e"}
"#;

fn classified(report: &Json) -> Vec<String> {
    let spots = report["blind_spots"].as_array().unwrap().iter();
    spots.filter(|spot| spot["code"] == "classified-parameter").map(|spot| spot["headline"].to_string()).collect()
}

#[test]
fn a_report_tells_of_parameters_that_a_classifier_gives() {
    let site = site();
    site.write(".git/nodes.ndjson", CLASSIFIED);
    let cases = [
        (["servers: [a]", "servers: [b]"], Some("a classifier gives 'ntp::servers' on 1 of 5 nodes: a")),
        (["port: 80", "port: {x: 1}"], Some("a classifier gives 'apache::port' on 1 of 5 nodes: b")),
        (["apache::vhost", "ntp::other"], Some("a classifier gives 'ntp::other' on 1 of 5 nodes: b")),
        (["ntp::servers: [b]", "other: 1"], Some("a classifier gives 'ntp::servers' on 1 of 5 nodes: a")),
        (["plain: 1", "plain: 2"], None),
        (["key: 1", "key: 2"], None),
    ];
    for (lines, told) in cases {
        let printed = changed(&site, lines, "--format json");
        let headline = told.map(|told| format!("{:?}", told.split(" nodes").next().unwrap().to_owned() + " nodes"));
        assert_eq!(classified(&printed.json()), headline.into_iter().collect::<Vec<_>>(), "{lines:?}");
        assert_eq!(printed.json()["verdict"], "changes", "{lines:?}");
    }
    // A commit that changes no value of it.
    site.write("README", "x");
    site.commit("readme");
    assert_eq!(site.hierad("diff HEAD~1 HEAD").status, 0);
}

#[test]
fn lookup_tells_of_parameters_that_a_classifier_gives() {
    let site = site();
    site.write(".git/nodes.ndjson", CLASSIFIED);
    for (key, node, is_told) in [
        ("ntp::servers", "a", true),
        ("ntp::servers.0", "a", true),
        ("apache::port", "b", true),
        ("ntp::servers", "b", false),
        ("ntp::servers", "c", false),
        ("apache::port", "d", false),
        ("ntp::servers", "e", false),
    ] {
        let printed = site.hierad(&format!("lookup {key} --node {node}"));
        assert_eq!(printed.status, 0);
        let words = format!("a classifier gives '{key}' on {node}: its class gets that, and not the data");
        assert_eq!(printed.err.contains(&words), is_told, "{key} {node}: {}", printed.err);
    }
}

#[test]
fn what_a_classifier_gives_is_known_without_its_values() {
    let site = site();
    site.write(".git/nodes.ndjson", "{\"name\": \"a\"}\n{\"name\": \"b\"}\n");
    site.write(
        ".git/enc",
        "#!/bin/sh\n[ $1 = a ] && echo 'classes: {ntp: {servers: [hush], keys: }}' || echo 'classes: [ntp]'\n",
    );
    site.sh("chmod +x .git/enc");
    site.write(".git/hierad.yaml", "profiles: [nodes.ndjson, {enc: ./enc}]\n");
    let report = changed(&site, ["servers: [a]", "servers: [b]"], "--format json").json();
    assert_eq!(classified(&report), ["\"a classifier gives 'ntp::servers' on 1 of 2 nodes\""]);
    let kept = site.sh("grep -r hush .git/hierad | wc -l; grep -rh servers .git/hierad/nodes");
    assert!(kept.starts_with("0\n") && kept.contains("\"ntp\":{\"servers\":true}"), "{kept}");
}
