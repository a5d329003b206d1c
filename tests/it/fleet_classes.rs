//! Checks which node sets consist of whole node classes.

use std::fmt::Write;
use std::sync::Arc;

use hierad::fleet::{self, Effective, Fleet, Revision};
use hierad::hiera::layer::{Environment, EnvironmentOptions};
use hierad::node::read_profiles;
use hierad::tree::MemoryTree;
use hierad::workers::Workers;

const NODES: usize = 400;

/// So many keys that all nodes share, and `x`, which those have of their own that have one of the first `files` values
/// of a fact, of which there are `values`.
fn effective(keys: usize, values: usize, files: usize) -> Effective {
    let mut fixture = String::from(
        "-- hiera.yaml\nversion: 5\nhierarchy: [{name: a, path: '%{facts.a}.yaml'}, {name: c, path: common.yaml}]\n",
    );
    for file in 0..files {
        writeln!(fixture, "-- data/a{file}.yaml\nx: {file}").unwrap();
    }
    writeln!(fixture, "-- data/common.yaml\nx: common").unwrap();
    for key in 0..keys {
        writeln!(fixture, "k{key}: 1").unwrap();
    }
    let line = |node: usize| format!("{{\"name\": \"n{node}\", \"facts\": {{\"a\": \"a{}\"}}}}\n", node % values);
    let profiles: String = (0..NODES).map(line).collect();
    let fleet = Arc::new(Fleet::new(read_profiles(profiles.as_bytes(), "p.ndjson", "production").0));
    let tree = Arc::new(MemoryTree::from_fixture(&fixture));
    let environment = Environment::load(tree, EnvironmentOptions::default(), Arc::default()).unwrap();
    let revision = Revision::new(environment, fleet.clone(), &Workers::of(1)).unwrap();
    fleet::resolve(&revision, &fleet.everywhere(revision.keys.iter()), &Workers::of(1))
}

fn are_by_classes(effective: &Effective, key: &str) -> bool {
    effective.keys[key].iter().all(|answer| answer.nodes.is_by_classes())
}

#[test]
fn node_sets_are_of_classes() {
    for (keys, expected) in [(200, true), (2, false)] {
        let effective = effective(keys, 3, 2);
        assert_eq!(effective.keys["x"].len(), 3);
        assert_eq!(
            (are_by_classes(&effective, "k0"), are_by_classes(&effective, "x")),
            (expected, expected),
            "{keys} keys"
        );
    }
}

#[test]
fn per_node_values_make_no_class() {
    for files in [NODES, NODES - 7, 200] {
        let effective = effective(200, NODES, files);
        assert_eq!(effective.keys["x"].len(), files + usize::from(files < NODES));
        assert_eq!((are_by_classes(&effective, "k0"), are_by_classes(&effective, "x")), (true, false), "{files} files");
    }
}
