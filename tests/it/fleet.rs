//! Random histories of random repositories: a fleet's answers are those of each node by itself, whatever the number of threads, and
//! a change shows the same whether only what it can reach is resolved, or every key.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use hierad::diff::{self, Diff};
use hierad::fleet::{self, Effective, Fleet, Revision};
use hierad::hiera::layer::{Environment, EnvironmentOptions, GlobalConfig, Store};
use hierad::hiera::lookup::{Lookup, NodeSources};
use hierad::hiera::scope::NodeScope;
use hierad::hiera::{Outcome, Puppet, Reader};
use hierad::node::{NodeId, NodeProfile, read_profiles};
use hierad::tree::{Entry, FileTree, MemoryTree};

use super::generator::{self, Content, Repository};

/// How many random histories; `HIERAD_HISTORIES` asks for more, `HIERAD_SEED` for those from another seed on.
const HISTORIES: u64 = 60;

/// How many commits one has.
const COMMITS: u64 = 3;

/// The nodes of how many random repositories make up a fleet.
const REPOSITORIES: u64 = 5;

fn seeds() -> std::ops::Range<u64> {
    let number = |name, default| std::env::var(name).map_or(default, |number| number.parse().unwrap());
    let first = number("HIERAD_SEED", 0);
    first..first + number("HIERAD_HISTORIES", HISTORIES)
}

fn history(seed: u64) -> Vec<Repository> {
    let generate = if seed.is_multiple_of(7) { generator::generate_hiera3 } else { generator::generate };
    let mut history = vec![generate(seed)];
    for number in 1..COMMITS {
        history.push(generator::edited(history.last().unwrap(), number));
    }
    history
}

fn profiles(seed: u64) -> Vec<NodeProfile> {
    let mut profiles = Vec::new();
    for number in 0..REPOSITORIES {
        let (read, errors) =
            read_profiles(generator::generate(seed + number).ndjson().as_bytes(), "p.ndjson", "production");
        assert_eq!(errors, []);
        profiles.extend(
            read.into_iter()
                .map(|profile| NodeProfile { name: format!("{number}-{}", profile.name).into(), ..profile }),
        );
    }
    profiles
}

fn tree<'c>(mut tree: MemoryTree, files: impl Iterator<Item = (&'c String, &'c Content)>) -> Arc<dyn FileTree> {
    for (path, content) in files {
        match content {
            Content::File(text) => tree.add(path, text.as_bytes()),
            Content::Link(target) => tree.insert(path, Entry::Link(target.clone())),
            Content::Nothing => {}
        }
    }
    Arc::new(tree)
}

fn revision(repository: &Repository, fleet: &Fleet, store: &Arc<Store>) -> Revision {
    let is_hiera3 = repository.seed.is_multiple_of(7);
    let disk = tree(MemoryTree::at("/"), repository.files.iter().filter(|(path, _)| path.starts_with('/')));
    let global = repository
        .global("/".as_ref())
        .map(|path| GlobalConfig { tree: Some(disk.clone()), path: path.to_str().unwrap().to_owned() });
    let options = EnvironmentOptions {
        puppet: if repository.seed.is_multiple_of(2) { Puppet::V7 } else { Puppet::V8 },
        reader: if is_hiera3 { Reader::Hiera3 } else { Reader::Puppet },
        basemodulepath: repository
            .basemodulepath("/".as_ref())
            .iter()
            .map(|path| path.to_str().unwrap().to_owned())
            .collect(),
        global,
        disk,
        ..EnvironmentOptions::default()
    };
    let environment = Environment::load(tree(MemoryTree::new(), repository.inside()), options, store.clone()).unwrap();
    Revision::new(environment, fleet).unwrap()
}

fn resolve(revision: &Revision, fleet: &Fleet, keys: &BTreeSet<Arc<str>>, threads: usize) -> Effective {
    fleet::resolve(revision, fleet, keys, NonZeroUsize::new(threads).unwrap())
}

/// The answers of a node by itself, each key looked up with nothing known.
fn alone(revision: &Revision, profile: &NodeProfile) -> Vec<(Arc<str>, String)> {
    let scope = NodeScope::new(profile);
    let answer = |key: &Arc<str>| {
        let sources = NodeSources::new(&revision.environment, &scope);
        let outcome = Lookup::new(&revision.environment, &sources, &scope).get(key, None);
        (outcome != Outcome::NotFound).then(|| (key.clone(), format!("{outcome:?}")))
    };
    revision.keys.iter().filter_map(answer).collect()
}

/// The answers of one node of a fleet.
fn of_node(effective: &Effective, node: NodeId) -> Vec<(Arc<str>, String)> {
    let answer = |(key, answers): (&Arc<str>, &Vec<fleet::Answer>)| {
        let answer = answers.iter().find(|answer| answer.nodes.contains(node))?;
        Some((key.clone(), format!("{:?}", answer.outcome)))
    };
    effective.keys.iter().filter_map(answer).collect()
}

#[test]
fn the_answers_of_a_fleet_are_those_of_its_nodes() {
    for seed in seeds() {
        let repository = &history(seed)[0];
        let fleet = Fleet::new(profiles(seed));
        let store = Arc::default();
        let together = revision(repository, &fleet, &store);
        let effective = resolve(&together, &fleet, &together.keys, 1);
        assert_eq!(resolve(&revision(repository, &fleet, &store), &fleet, &together.keys, 4), effective, "seed {seed}");
        for (node, profile) in fleet.iter() {
            let own = alone(&together, profile);
            assert_eq!(of_node(&effective, node), own, "seed {seed}, {}", profile.name);
        }
    }
}

#[test]
fn a_change_is_the_same_if_only_what_it_reaches_is_resolved() {
    let (mut reached_keys, mut all_keys) = (0, 0);
    for seed in seeds() {
        let fleet = Fleet::new(profiles(seed));
        let store = Arc::default();
        let revisions: Vec<Revision> = history(seed).iter().map(|one| revision(one, &fleet, &store)).collect();
        for pair in revisions.windows(2) {
            let revisions = Diff { before: &pair[0], after: &pair[1] };
            let keys: BTreeSet<Arc<str>> = revisions.before.keys.union(&revisions.after.keys).cloned().collect();
            let reached = fleet::reach(revisions.before, revisions.after, &fleet, &keys);
            let changes = |keys| {
                let effective = revisions.map(|revision| resolve(revision, &fleet, keys, 1));
                format!("{:#?}", diff::changes(effective.as_ref()))
            };
            assert_eq!(changes(&reached), changes(&keys), "seed {seed}");
            let some: BTreeSet<Arc<str>> = keys.iter().step_by(3).cloned().collect();
            let of_some = fleet::reach(revisions.before, revisions.after, &fleet, &some);
            assert_eq!(
                of_some,
                &reached & &some,
                "seed {seed}: a key is reached or not, whichever others are asked for"
            );
            reached_keys += reached.len();
            all_keys += keys.len();
        }
    }
    assert!(reached_keys < all_keys, "{reached_keys} of {all_keys} keys are resolved");
}

/// Repositories on which nodes are alike only at first sight, each with its nodes.
const TRAPS: [(&str, &str); 3] = [
    // What reads a file first decides what it is for all that come after.
    (
        "-- hiera.yaml\nversion: 5\nhierarchy:\n- {name: one, path: '%{facts.x}.conf'}\n- {name: two, path: shared.conf, data_hash: hocon_data}\n-- data/shared.conf\nc.x : 1\n",
        "{\"name\": \"n1\", \"facts\": {\"x\": \"none\"}}\n{\"name\": \"n2\", \"facts\": {\"x\": \"shared\"}}\n",
    ),
    // The options of one module refer to a key of another, whose options are known by then, or are not.
    (
        "-- hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: common.yaml}]\n-- modules/a/hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: common.yaml}]\n-- modules/b/hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: common.yaml}]\n-- modules/a/data/common.yaml\na::k: \"%{lookup('b::x')}\"\na::y: first\n-- modules/b/data/common.yaml\nlookup_options: {b::x: {merge: \"%{lookup('a::y')}\"}}\nb::x: bval\n",
        "{\"name\": \"n\"}\n",
    ),
    // The same for the options of a default hierarchy.
    (
        "-- hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: common.yaml}]\n-- data/common.yaml\nk: \"%{lookup('b::y')} %{lookup('a::k')}\"\n-- modules/a/hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: none.yaml}]\ndefault_hierarchy: [{name: d, path: default.yaml}]\n-- modules/a/data/default.yaml\nlookup_options: {a::k: {merge: \"%{lookup('b::y')}\"}}\na::k: aval\n-- modules/b/hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: common.yaml}]\n-- modules/b/data/common.yaml\nlookup_options: {b::z: {merge: \"%{lookup('a::k')}\"}}\nb::y: first\n",
        "{\"name\": \"n\"}\n",
    ),
];

#[test]
fn nodes_that_are_alike_at_first_sight_are_told_apart() {
    for (fixture, nodes) in TRAPS {
        let (profiles, errors) = read_profiles(nodes.as_bytes(), "p.ndjson", "production");
        assert_eq!(errors, []);
        let fleet = Fleet::new(profiles);
        let tree = Arc::new(MemoryTree::from_fixture(fixture));
        let environment = Environment::load(tree, EnvironmentOptions::default(), Arc::default()).unwrap();
        let revision = Revision::new(environment, &fleet).unwrap();
        let effective = resolve(&revision, &fleet, &revision.keys, 1);
        for (node, profile) in fleet.iter() {
            assert_eq!(of_node(&effective, node), alone(&revision, profile), "{fixture}");
        }
    }
}

/// What the options of keys change that others refer to, in quotes or not, by the name of the referring key alone.
#[test]
fn options_reach_those_that_refer_to_their_keys() {
    let before = "-- hiera.yaml\nversion: 5\nhierarchy: [{name: h, path: h.yaml}, {name: l, path: l.yaml}]\n-- data/h.yaml\nplain: \"%{lookup('b')}\"\nquoted: \"%{lookup(\\\"'x.y'\\\")}\"\nb: [1]\nx.y: [1]\n-- data/l.yaml\nb: [2]\nx.y: [2]\n";
    let after = format!("{before}lookup_options: {{b: {{merge: unique}}, x.y: {{merge: unique}}}}\n");
    let (profiles, _) = read_profiles(b"{\"name\": \"n\"}", "p.ndjson", "production");
    let fleet = Fleet::new(profiles);
    let store: Arc<Store> = Arc::default();
    let [before, after] = [before, &after].map(|fixture| {
        let tree = Arc::new(MemoryTree::from_fixture(fixture));
        Revision::new(Environment::load(tree, EnvironmentOptions::default(), store.clone()).unwrap(), &fleet).unwrap()
    });
    for key in ["plain", "quoted"] {
        let key = BTreeSet::from([Arc::from(key)]);
        assert_ne!(resolve(&before, &fleet, &key, 1), resolve(&after, &fleet, &key, 1));
        assert_eq!(fleet::reach(&before, &after, &fleet, &key), key);
    }
}
