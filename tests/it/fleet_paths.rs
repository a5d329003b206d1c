//! Files that come and go at paths of one variable, of which nodes have plain values and odd ones: a fleet's answers
//! are those of each node by itself, whether a revision is made of nothing or of the one before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fastrand::Rng;
use hierad::fleet::{self, Fleet, Revision};
use hierad::hiera::layer::{Environment, EnvironmentOptions, LayerId, Store};
use hierad::hiera::lookup::NodeSources;
use hierad::hiera::scope::NodeScope;
use hierad::hiera::sources::Sources;
use hierad::node::{NodeProfile, read_profiles};
use hierad::tree::{Entry, MemoryTree};
use hierad::workers::Workers;
use serde_json::{Value, json};

use super::fleet::{alone, of_node};
use super::support::extent::full_or;

use crate::support::values::next;

/// The number of commits of each.
const COMMITS: usize = 5;

/// Levels.
const LEVELS: [&str; 16] = [
    "path: 'nodes/%{own}.yaml'",
    "path: '%{own}.yaml'",
    "path: 'nodes/%{::own}'",
    "path: 'nodes/a%{own}z.yaml'",
    "path: './nodes/%{own}.yaml'",
    "path: '../data/nodes/%{own}.yaml'",
    "path: 'link/%{own}.yaml'",
    "path: '%{own}/%{role}.yaml'",
    "path: 'nodes/%{facts.own}.yaml'",
    "paths: ['nodes/%{own}.yaml', 'nodes/n3.yaml']",
    "paths: ['nodes/%{role}.yaml', 'nodes/%{own}.yaml', 'link/%{own}.yaml']",
    "paths: ['nodes/%{own}.yaml', '%{own}/%{role}.yaml', '%{own}%{role}.yaml']",
    "paths: ['nodes/%{own}.yaml', 'nodes/%{scope(\"own\")}z.yaml']",
    "path: 'nodes/%{own}.yaml', datadir: 'data/%{own}'",
    "path: 'nodes/%{own}.yaml', datadir: './data/../data'",
    "path: 'nodes/%{own}.yaml', data_hash: hocon_data",
];

/// The values of the variable on nodes.
fn values() -> Vec<Value> {
    let plain = (1..8).map(|number| json!(format!("n{number}")));
    let odd =
        json!(["", "..", "nodes", "N3", "link/n3", "./n3", "n3.yaml", "n%{role}", "n3 ", 3, true, null, ["n3"], "é"]);
    plain.chain(odd.as_array().cloned().unwrap_or_default()).collect()
}

fn profiles() -> BTreeMap<Arc<str>, NodeProfile> {
    let mut text = String::new();
    for (number, value) in values().iter().cycle().take(3 * values().len()).enumerate() {
        let role = ["n1", "n4", "z"][number % 3];
        let facts = json!({"own": value});
        text += &json!({"name": format!("{number:02}"), "facts": facts, "variables": {"role": role}}).to_string();
        text.push('\n');
    }
    let (profiles, errors) = read_profiles(text.as_bytes(), "p.ndjson", "production");
    assert_eq!(errors, []);
    profiles.into_iter().map(|profile| (profile.name.clone(), profile)).collect()
}

/// The content of the repository by path: an entry, or the text of a file.
type Files = BTreeMap<String, Result<Entry, String>>;

/// Puts something at a path that some node may look at, or takes it away.
fn edit(random: &mut Rng, files: &mut Files) {
    let folder = random.choice(["data/", "data/nodes/", "data/nodes/", "data/nodes/", "data/link/", "data/n2/"]);
    let name = random.choice([
        "n1.yaml",
        "n2.yaml",
        "n3.yaml",
        "n4.yaml",
        "n5",
        "an3z.yaml",
        ".yaml",
        "3.yaml",
        "n3z.yaml",
        "n4n1.yaml",
    ]);
    let path = format!("{}{}", folder.unwrap_or_default(), name.unwrap_or_default());
    match random.u8(0..10) {
        0 => {
            let target = random.choice(["nodes", "nodes", "/outside", "../..", "link"]).unwrap_or_default();
            files.insert("data/link".into(), Ok(Entry::Link(target.into())));
        }
        1 => _ = files.remove("data/link"),
        2 => files.retain(|path, _| !path.starts_with("data/nodes/")),
        3 => _ = files.insert(path, Ok(Entry::Link("n4.yaml".into()))),
        4 | 5 => _ = files.remove(&path),
        _ => {
            let text = format!("x: {}\n", json!(path));
            files.insert(path, Err(text));
        }
    }
}

fn tree(files: &Files) -> MemoryTree {
    let mut tree = MemoryTree::new();
    for (path, what) in files {
        // Nothing lies below a link.
        if path.starts_with("data/link/") && files.contains_key("data/link") {
            continue;
        }
        match what {
            Ok(entry) => tree.insert(path, entry.clone()),
            Err(text) => tree.add(path, text.as_bytes()),
        }
    }
    tree
}

fn environment(files: &Files, store: &Arc<Store>) -> Environment {
    Environment::load(Arc::new(tree(files)), EnvironmentOptions::default(), store.clone()).unwrap()
}

/// An oddity of the hierarchy for one node by itself.
fn odd_alone(revision: &Revision, profile: &NodeProfile) -> BTreeSet<String> {
    let scope = NodeScope::new(profile);
    let hierarchy = NodeSources::new(&revision.environment, &scope).hierarchy(&LayerId::Environment(None));
    let hierarchy = hierarchy.and_then(Result::ok).unwrap_or_default();
    hierarchy.diagnostics.iter().map(|diagnostic| format!("{diagnostic:?}")).collect()
}

/// The answers of all nodes, and what is odd for them, are those of each by itself.
fn check(revision: &Revision, profiles: &BTreeMap<Arc<str>, NodeProfile>, about: &str) {
    let keys = revision.fleet.everywhere(revision.keys.iter());
    let effective = fleet::resolve(revision, &keys, &Workers::of(2));
    for (node, name) in revision.fleet.iter() {
        assert_eq!(of_node(&effective, node), alone(revision, &profiles[name]), "node {name}, {about}");
        let findings = revision.findings.iter().filter(|finding| finding.nodes.contains(node));
        let odd: BTreeSet<String> = findings.map(|finding| format!("{:?}", finding.diagnostic)).collect();
        assert_eq!(odd, odd_alone(revision, &profiles[name]), "node {name}, {about}");
    }
}

#[test]
fn files_come_and_go_at_variable_paths() {
    let profiles = profiles();
    for seed in 0..full_or(200, 25) {
        let mut random = Rng::with_seed(seed);
        let levels: Vec<String> = (0..random.usize(1..4))
            .map(|number| format!("{{name: l{number}, {}}}", LEVELS[random.usize(0..LEVELS.len())]))
            .collect();
        let config = format!("version: 5\nhierarchy: [{}]\n", levels.join(", "));
        let mut files = Files::from([("hiera.yaml".to_owned(), Err(config.clone()))]);
        (0..6).for_each(|_| edit(&mut random, &mut files));
        let fleet = Arc::new(Fleet::new(profiles.values().cloned()));
        let store = Arc::default();
        let mut revision = Revision::new(environment(&files, &store), fleet.clone(), &Workers::of(1)).unwrap();
        for commit in 0..COMMITS {
            let about = format!("seed {seed}, commit {commit}, {config}{files:#?}");
            check(&revision, &profiles, &about);
            check(
                &Revision::new(environment(&files, &Arc::default()), fleet.clone(), &Workers::of(2)).unwrap(),
                &profiles,
                &about,
            );
            edit(&mut random, &mut files);
            revision = next(&revision, environment(&files, &store), &Workers::of(1)).unwrap();
        }
    }
}
