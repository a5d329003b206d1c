//! Changes whose values differ from node to node, in JSON: each is as in a report of its node alone.

use std::fmt::Write;

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::terminal::{SITE, nodes_of};

/// Texts that JSON escapes, and such as might be taken for a mark in a text that is filled.
const ODD: [&str; 6] = ["\\\" \\\\", "@0:1;", "\\u202e", "@1:", "\\t;", "caf\\u00e9"];

#[test]
fn variants_in_json_are_those_of_their_nodes() {
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
    let all = site.hierad("diff HEAD~1 HEAD --format json").json();
    for node in [0, 1, 2, 3, 4, 5, 81, 89].map(|node| format!("n{node}")) {
        let alone = site.hierad(&format!("diff HEAD~1 HEAD --format json --node {node}")).json();
        assert_eq!(changes_on(&all, &node), changes_on(&alone, &node), "{node}");
    }
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
