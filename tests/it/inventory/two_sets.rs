//! One revision on the same nodes with two sets of profiles.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::terminal::nodes_of;

const SITE: &str = r#"
-- hiera.yaml
version: 5
hierarchy:
- {name: node, path: 'nodes/%{trusted.certname}.yaml'}
- {name: role, path: 'roles/%{role}.yaml'}
- {name: family, path: 'os/%{facts.os.family}.yaml'}
- {name: all, path: all.yaml}
-- data/nodes/n1.yaml
own: "%{facts.os.family}"
-- data/roles/web.yaml
list: [web]
own: web
-- data/roles/db.yaml
list: ["%{facts.os.release}"]
-- data/os/Debian.yaml
package: apt
list: [debian]
-- data/all.yaml
lookup_options: {list: {merge: unique}}
package: none
address: "%{facts.ip} %{lookup('package')}"
list: [all]
"#;

/// Random profiles of the nodes with these numbers.
fn profiles(random: &mut fastrand::Rng, nodes: std::ops::Range<usize>) -> String {
    nodes.fold(String::new(), |mut text, node| {
        let mut one = |of: &[&str]| of[random.usize(..of.len())].to_owned();
        let (family, role) = (one(&["Debian", "RedHat", "Other"]), one(&["web", "db"]));
        let (release, ip) = (one(&["1", "2"]), one(&["10.0.0.1", "10.0.0.2"]));
        _ = writeln!(
            text,
            r#"{{"name": "n{node}", "facts": {{"os": {{"family": "{family}", "release": "{release}"}}, "ip": "{ip}"}}, "variables": {{"role": "{role}"}}}}"#
        );
        text
    })
}

/// The nodes and keys whose values differ between two renderings.
fn differing(site: &Sandbox) -> BTreeSet<(String, String)> {
    let [before, after] = ["before", "after"].map(|name| {
        let printed = site.hierad(&format!("render --format ndjson --profiles {name}.ndjson"));
        printed.ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Json>>()
    });
    let mut found = BTreeSet::new();
    for was in &before {
        let Some(is) = after.iter().find(|is| is["node"] == was["node"]) else { continue };
        let keys = |node: &Json| node["values"].as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        for key in keys(was).union(&keys(is)) {
            if is["values"].get(key) != was["values"].get(key) {
                found.insert((was["node"].as_str().unwrap().to_owned(), key.clone()));
            }
        }
    }
    found
}

#[test]
fn the_report_has_just_the_values_that_facts_change() {
    let site = Sandbox::of(SITE);
    for seed in 1..=15 {
        let mut random = fastrand::Rng::with_seed(seed);
        site.write("before.ndjson", profiles(&mut random, 0..6));
        site.write("after.ndjson", profiles(&mut random, 1..7));
        let printed = site.hierad("diff --nodes-before before.ndjson --nodes-after after.ndjson --format json");
        printed
            .says(&["only the first has 1 node, such as n0: not compared", "only the second has 1 node, such as n6: "]);
        let report: Json = printed.json();
        let changes = report["changes"].as_array().unwrap().iter().flat_map(|change| {
            let key = change["key"].as_str().unwrap();
            nodes_of(&report, &change["nodes"]).into_iter().map(move |node| (node.to_owned(), key.to_owned()))
        });
        assert_eq!(changes.collect::<BTreeSet<_>>(), differing(&site), "seed {seed}");
    }
}

#[test]
fn variables_that_differ_are_named() {
    let site = Sandbox::of(SITE);
    let profile = |family: &str| {
        format!("{{\"name\": \"n1\", \"facts\": {{\"os\": {{\"family\": \"{family}\"}}, \"unread\": \"{family}\"}}}}\n")
    };
    site.write("before.ndjson", profile("Debian"));
    site.write("after.ndjson", profile("RedHat"));
    let text = site.hierad("diff HEAD --nodes-before before.ndjson --nodes-after after.ndjson").ok().to_owned();
    assert!(text.contains("the variable facts.os.family changes: \"Debian\" -> \"RedHat\""), "{text}");
    assert!(text.contains("package: \"apt\" -> \"none\"") && !text.contains("unread"), "{text}");
    assert!(text.contains("data/os/Debian.yaml:1 (family) -> data/all.yaml:2 (all)"), "{text}");
    assert!(
        text.starts_with("by other facts of n1: ") && text.contains("\nat     ") && !text.contains("before"),
        "{text}"
    );
    let same = site.hierad("diff --nodes-before before.ndjson --nodes-after before.ndjson --exit-code");
    assert!(same.is(0).out.contains("no effective change"), "{}", same.out);
    site.hierad("diff --nodes-before before.ndjson").fails(&["--nodes-after"]);
    site.write("other.ndjson", "{\"name\": \"x\"}\n");
    site.hierad("diff --nodes-before before.ndjson --nodes-after other.ndjson").fails(&["no node in common"]);
}
