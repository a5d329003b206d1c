//! Changes whose values differ from node to node, in JSON: each is as in a report of its node alone.

use std::fmt::Write;
use std::process::Command;

use serde_json::{Value as Json, json};

use crate::support::Sandbox;
use crate::support::terminal::{SITE, nodes_of};

/// Texts that JSON escapes, and such as might be taken for a mark in a text that is filled.
const ODD: [&str; 6] = ["\\\" \\\\", "@0:1;", "\\u202e", "@1:", "\\t;", "caf\\u00e9"];

/// A site with two commits: texts that differ from node to node change in the second.
fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    let profile = |node: usize| {
        let odd = ODD[node % ODD.len()];
        format!("{{\"name\": \"n{node}\", \"facts\": {{\"odd\": \"{odd}{node}\", \"rack\": \"r{}\"}}}}\n", node % 80)
    };
    site.write("profiles/all.ndjson", (0..300).map(profile).collect::<String>());
    let data = |version: usize| {
        let mut data = format!("text: '@0:2; {version} %{{facts.odd}}@%{{trusted.certname}}'\n");
        _ = writeln!(data, "rack: '%{{facts.rack}}-{version}'\nlist: [a, '%{{facts.odd}}', {version}]");
        _ = writeln!(
            data,
            "hash: {{'@{version}:': {{b: '\"%{{facts.odd}}\"', c: same}}, {version}: 'x%{{facts.rack}}'}}"
        );
        data + if version == 1 { "gone: '%{facts.odd}'\n" } else { "new: ['%{facts.odd}%{facts.odd}']\n" }
    };
    site.write("data/common.yaml", data(1));
    site.commit("before");
    site.write("data/common.yaml", data(2));
    site.commit("after");
    site
}

#[test]
fn variants_in_json_are_those_of_their_nodes() {
    let site = site();
    let printed = site.hierad("diff HEAD~1 HEAD --format json");
    let (all, written) = (printed.json(), serde_json::from_str::<Json>(&printed.out).unwrap());
    let templates = written["changes"].as_array().unwrap().iter().filter(|change| change.get("template").is_some());
    assert_eq!((templates.count(), written["variables"].as_array().unwrap().len()), (6, 3), "{written:#}");
    for node in [0, 1, 2, 3, 4, 5, 81, 89].map(|node| format!("n{node}")) {
        let alone = site.hierad(&format!("diff HEAD~1 HEAD --format json --node {node}")).json();
        assert_eq!(changes_on(&all, &node), changes_on(&alone, &node), "{node}");
    }
    // `--full` writes what templates stand for.
    let full = site.hierad("diff HEAD~1 HEAD --format json --full").json();
    assert!(printed.out.len() * 10 < full.to_string().len());
    assert_eq!(named(all), named(full));
}

/// Returns a report with names in place of the numbers of sets.
fn named(mut report: Json) -> Json {
    let sets = report["node_sets"].take();
    for part in ["changes", "groups", "lines", "blind_spots"] {
        for entry in report[part].as_array_mut().unwrap() {
            if let Some(nodes) = entry.get_mut("nodes") {
                *nodes = sets[usize::try_from(nodes.as_u64().unwrap()).unwrap()].clone();
            }
        }
    }
    report
}

/// The recipes of `docs/reports.md`.
#[test]
#[ignore = "needs jq"]
fn recipes_for_jq_give_what_they_say() {
    let site = site();
    let page = include_str!("../../../docs/reports.md");
    let recipes: Vec<&str> = page.split("```jq\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect();
    let printed = site.hierad("diff HEAD~1 HEAD --format json");
    site.write(".git/report.json", &printed.out);
    let [places, texts] = recipes[..] else { panic!("{recipes:?}") };
    let report = printed.json();
    let written: Json = serde_json::from_str(&printed.out).unwrap();
    let from = |leaf: &Json| {
        let place = &written["places"][usize::try_from(leaf["after"]["origin"]["place"].as_u64()?).unwrap()];
        Some(format!("{}:{}", place[0].as_str().unwrap(), place[1]))
    };
    let told = |change: &Json| {
        let from: Vec<String> = change["leaves"].as_array().unwrap().iter().filter_map(from).collect();
        json!({"key": change["key"], "kind": change["kind"], "nodes": nodes_of(&report, &change["nodes"]), "from": from})
    };
    let all: Vec<Json> = written["changes"].as_array().unwrap().iter().map(told).collect();
    assert!(all.iter().any(|told| told["from"] != json!([])), "{all:?}");
    assert_eq!(jq(&site, places), all);
    let mut found = jq(&site, texts);
    let mut expected: Vec<Json> = Vec::new();
    for change in report["changes"].as_array().unwrap() {
        expected.extend(
            nodes_of(&report, &change["nodes"]).iter().map(|node| json!([node, change["key"], change["after"]])),
        );
    }
    found.sort_by_key(Json::to_string);
    expected.sort_by_key(Json::to_string);
    assert_eq!(found, expected);
}

/// Runs a program of jq on the report.
fn jq(site: &Sandbox, program: &str) -> Vec<Json> {
    let output = Command::new("jq").args(["-c", program]).arg(site.root().join(".git/report.json")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The changes on a node, without the numbers of their sets of nodes and of lines, and without origins.
fn changes_on(report: &Json, node: &str) -> Vec<Json> {
    let mut changes: Vec<Json> = report["changes"].as_array().unwrap().clone();
    changes.retain(|change| nodes_of(report, &change["nodes"]).contains(&node));
    for change in &mut changes {
        change["nodes"] = Json::Null;
        change.as_object_mut().unwrap().remove("lines");
        // Nobody is told the origins in more than some hundred changes.
        let leaves = change["leaves"].as_array_mut().unwrap().iter_mut().filter_map(Json::as_object_mut);
        leaves
            .flat_map(|leaf| {
                leaf.remove("lines");
                leaf.remove("sources");
                leaf.values_mut()
            })
            .filter_map(Json::as_object_mut)
            .for_each(|side| _ = side.remove("origin"));
    }
    assert_eq!(changes.len(), 6, "{changes:?}");
    changes
}
