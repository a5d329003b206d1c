//! Random histories of random repositories: a fleet's answers are those of each node by itself, whatever the number of
//! threads, and a change shows the same whether only what it can reach is resolved, or every key.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hierad::diff::{self, Diff};
use hierad::fleet::{self, Effective, Fleet, NodesByKey, ReferencedVariables, Revision};
use hierad::hiera::explain::Recorder;
use hierad::hiera::explain::provenance::{Origin, contributions};
use hierad::hiera::layer::{Environment, EnvironmentOptions, GlobalConfig, Store};
use hierad::hiera::lookup::{Lookup, NodeSources};
use hierad::hiera::scope::NodeScope;
use hierad::hiera::{Outcome, Reader};
use hierad::node::{
    Batch, NodeId, NodeProfile, NodeSet, ProfileError, ProfileReader, ProfileSource, Wanted, read_profiles,
};
use hierad::puppet::Puppet;
use hierad::tree::{Entry, FileTree, MemoryTree};
use hierad::value::ValuePath;
use hierad::workers::Workers;

use super::generator::{self, Content, Repository};
use super::support::extent::full_or;

use crate::support::values::next;

/// The number of commits of each.
const COMMITS: u64 = 3;

/// The nodes of how many random repositories make up a fleet.
const REPOSITORIES: u64 = 5;

/// The seeds of random histories: of each seven, one is of Hiera 3. `HIERAD_HISTORIES` sets another number of them,
/// `HIERAD_SEED` the first seed.
fn seeds() -> std::ops::Range<u64> {
    let number = |name, default| std::env::var(name).map_or(default, |number| number.parse().unwrap());
    let first = number("HIERAD_SEED", 0);
    first..first + number("HIERAD_HISTORIES", full_or(60, 8))
}

fn history(seed: u64) -> Vec<Repository> {
    let generate = if seed.is_multiple_of(7) { generator::generate_hiera3 } else { generator::generate };
    let mut history = vec![generate(seed)];
    for number in 1..COMMITS {
        history.push(generator::edited(history.last().unwrap(), number));
    }
    history
}

/// The number of copies of a node that make a class of nodes.
const COPIES: usize = 20;

/// With so many keys it pays to tell node classes apart.
const MANY_KEYS: usize = 400;

/// Profiles in text, as in files: of each only what is wanted is read.
struct Texts {
    texts: Vec<String>,
    /// The number of nodes of each profile; some of those have the facts of another one.
    copies: usize,
}

impl Texts {
    fn generate(seed: u64) -> Texts {
        let texts = (0..REPOSITORIES).map(|number| generator::generate(seed + number).ndjson()).collect();
        Texts { texts, copies: 1 }
    }

    fn read_each(&self, wanted: &Wanted, each: &dyn Fn(Batch)) {
        let selection = wanted.of_document();
        for (number, text) in self.texts.iter().enumerate() {
            let reader = ProfileReader::new("p.ndjson", "production", &selection);
            let (profiles, errors) = reader.lines(text.as_bytes(), 0);
            assert_eq!(errors, []);
            let copies = profiles.iter().flat_map(|(_, profile)| (0..self.copies).map(move |copy| (profile, copy)));
            let named = copies.map(|(profile, copy)| {
                let name = format!("{number}-{copy}-{}", profile.name).into();
                let facts = if copy % COPIES == COPIES - 1 { &profiles[0].1.facts } else { &profile.facts };
                NodeProfile { name, facts: facts.clone(), ..profile.clone() }
            });
            each(Batch::of_file(number, u32::try_from(number).unwrap(), named));
        }
    }

    /// The whole profiles, by name.
    fn whole(&self) -> BTreeMap<Arc<str>, NodeProfile> {
        let whole = RefCell::default();
        self.read_each(&Wanted::whole(), &|batch| {
            let named = batch.profiles.into_iter().map(|(_, profile)| (profile.name.clone(), profile));
            BTreeMap::extend(&mut whole.borrow_mut(), named);
        });
        whole.into_inner()
    }
}

impl ProfileSource for Texts {
    fn read(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        self.read_each(wanted, &|batch| each(batch));
        Vec::new()
    }
}

/// A fleet of random nodes; of its profiles nothing is read ahead.
fn fleet_of(seed: u64) -> Arc<Fleet> {
    fleet(Texts::generate(seed))
}

fn fleet(texts: Texts) -> Arc<Fleet> {
    let (fleet, errors) = Fleet::load(Arc::new(texts), &ReferencedVariables::default(), &|_| true);
    assert_eq!(errors, []);
    Arc::new(fleet)
}

fn owned((key, nodes): (&Arc<str>, &NodeSet)) -> (Arc<str>, NodeSet) {
    (key.clone(), nodes.clone())
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

fn revision(repository: &Repository, fleet: &Arc<Fleet>, store: &Arc<Store>) -> Revision {
    Revision::new(environment(repository, store), fleet.clone(), &Workers::of(1)).unwrap()
}

fn environment(repository: &Repository, store: &Arc<Store>) -> Environment {
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
    Environment::load(tree(MemoryTree::new(), repository.inside()), options, store.clone()).unwrap()
}

fn resolve(revision: &Revision, keys: &BTreeSet<Arc<str>>, threads: usize) -> Effective {
    fleet::resolve(revision, &revision.fleet.everywhere(keys), &Workers::of(threads))
}

/// The answers of a node by itself, each key looked up with nothing known.
pub(super) fn alone(revision: &Revision, profile: &NodeProfile) -> Vec<(Arc<str>, String)> {
    let scope = NodeScope::new(profile);
    let answer = |key: &Arc<str>| {
        let sources = NodeSources::new(&revision.environment, &scope);
        let outcome = Lookup::new(&revision.environment, &sources, &scope).get(key, None);
        (outcome != Outcome::NotFound).then(|| (key.clone(), format!("{outcome:?}")))
    };
    revision.keys.iter().filter_map(answer).collect()
}

/// The answers of one node of a fleet.
pub(super) fn of_node(effective: &Effective, node: NodeId) -> Vec<(Arc<str>, String)> {
    let answer = |(key, answers): (&Arc<str>, &Vec<fleet::Answer>)| {
        let answer = answers.iter().find(|answer| answer.nodes.contains(node))?;
        Some((key.clone(), format!("{:?}", answer.on(node))))
    };
    effective.keys.iter().filter_map(answer).collect()
}

#[test]
fn fleet_answers_equal_single_lookups() {
    for seed in seeds() {
        let repository = &history(seed)[0];
        let fleet = fleet_of(seed);
        let store = Arc::default();
        let together = revision(repository, &fleet, &store);
        let effective = resolve(&together, &together.keys, 1);
        assert_eq!(resolve(&revision(repository, &fleet, &store), &together.keys, 4), effective, "seed {seed}");
        let profiles = Texts::generate(seed).whole();
        for (node, name) in fleet.iter() {
            assert_eq!(of_node(&effective, node), alone(&together, &profiles[name]), "seed {seed}, {name}");
        }
    }
}

/// The place of the value of a key on one node, explained by itself.
fn place_alone(revision: &Revision, key: &str, node: NodeId) -> Option<Origin> {
    let recorder = Recorder::default();
    let outcome = revision.explain(key, node, &recorder);
    let found = contributions(&recorder.finish(), key);
    found.first().filter(|_| matches!(outcome, Outcome::Found(_)))?.origin_of(&ValuePath::default())
}

#[test]
fn places_of_values_equal_those_of_single_lookups() {
    let mut known = 0;
    for seed in seeds() {
        let fleet = fleet_of(seed);
        let revision = revision(&history(seed)[0], &fleet, &Arc::default());
        let everywhere = fleet.everywhere(revision.keys.iter());
        let origins = fleet::origins(&revision, &everywhere, &Workers::of(1));
        assert_eq!(fleet::origins(&revision, &everywhere, &Workers::of(4)), origins, "seed {seed}");
        for ((key, classes), (node, name)) in origins.iter().flat_map(|one| fleet.iter().map(move |node| (one, node))) {
            let mut of_node = classes.iter().filter(|(_, nodes)| nodes.contains(node)).map(|(origin, _)| origin);
            let place = of_node.next().cloned();
            known += usize::from(place.is_some());
            assert_eq!(place, place_alone(&revision, key, node), "seed {seed}, {key} on {name}");
            assert_eq!(of_node.next(), None, "seed {seed}, {key}: one place a node");
        }
    }
    assert!(known > 100, "{known} values with a place");
}

/// The same with sets of nodes that are known by their nodes.
fn one_by_one(effective: &Effective) -> Effective {
    let mut effective = effective.clone();
    for answer in effective.keys.values_mut().flatten() {
        answer.nodes = answer.nodes.iter().collect();
    }
    effective
}

#[test]
fn large_classes_of_nodes_are_resolved_once() {
    let (mut by_classes, mut by_nodes) = (0, 0);
    for seed in seeds().take(full_or(60, 4)) {
        let texts = || Texts { copies: COPIES, ..Texts::generate(seed) };
        let fleet = fleet(texts());
        let store = Arc::default();
        let [before, after] = [0, 1].map(|number| revision(&history(seed)[number], &fleet, &store));
        let others: Vec<Arc<str>> = (0..MANY_KEYS).map(|number| format!("other{number}").into()).collect();
        let mut work = fleet.everywhere(before.keys.union(&after.keys).chain(&others));
        let some: NodeSet = fleet.all().iter().step_by(3).collect();
        work.values_mut().step_by(5).for_each(|nodes| *nodes = some.clone());
        let effective = fleet::resolve_all([&before, &after], &work, &Workers::of(2));
        for (name, profile) in texts().whole().into_iter().step_by(7) {
            let node = fleet.find(&name).unwrap();
            for (revision, effective) in [&before, &after].into_iter().zip(&effective) {
                let is_asked = |(key, _): &(Arc<str>, String)| work[key].contains(node);
                let of_key = |(key, _): &(Arc<str>, String)| revision.keys.contains(key);
                let found: Vec<_> = of_node(effective, node).into_iter().filter(of_key).collect();
                let expected: Vec<_> = alone(revision, &profile).into_iter().filter(is_asked).collect();
                assert_eq!(found, expected, "seed {seed}, {name}");
            }
        }
        let changes = |effective: &[Effective; 2]| {
            let effective = Diff { before: &effective[0], after: &effective[1] };
            format!("{:#?}", diff::changes(effective, &Workers::of(1)))
        };
        assert_eq!(changes(&effective), changes(&effective.each_ref().map(one_by_one)), "seed {seed}");
        for answer in effective.iter().flat_map(|effective| effective.keys.values()).flatten() {
            *if answer.nodes.is_by_classes() { &mut by_classes } else { &mut by_nodes } += 1;
        }
    }
    assert!(by_classes > by_nodes && by_nodes > 0, "{by_classes} answers are by classes, {by_nodes} are not");
}

#[test]
fn affected_answers_are_all_changes() {
    let (mut reached_answers, mut all_answers) = (0, 0);
    for seed in seeds() {
        let fleet = fleet_of(seed);
        let store = Arc::default();
        let revisions: Vec<Revision> = history(seed).iter().map(|one| revision(one, &fleet, &store)).collect();
        for pair in revisions.windows(2) {
            let revisions = Diff { before: &pair[0], after: &pair[1] };
            let keys: BTreeSet<Arc<str>> = revisions.before.keys.union(&revisions.after.keys).cloned().collect();
            let reached = fleet::affected_keys(revisions.before, revisions.after, &keys, &Workers::of(2)).keys;
            let changes = |work: &NodesByKey| {
                let effective = revisions.map(|revision| fleet::resolve(revision, work, &Workers::of(1)));
                format!("{:#?}", diff::changes(effective.as_ref(), &Workers::of(2)))
            };
            assert_eq!(changes(&reached), changes(&fleet.everywhere(&keys)), "seed {seed}");
            let some: BTreeSet<Arc<str>> = keys.iter().step_by(3).cloned().collect();
            let of_some = fleet::affected_keys(revisions.before, revisions.after, &some, &Workers::of(2)).keys;
            let expected: NodesByKey = reached.iter().filter(|(key, _)| some.contains(*key)).map(owned).collect();
            assert_eq!(of_some, expected, "seed {seed}: a key is reached or not, whichever others are asked for");
            reached_answers += reached.values().map(NodeSet::len).sum::<usize>();
            all_answers += keys.len() * fleet.len();
        }
    }
    // Eight histories have reached between a third and two thirds.
    assert!(reached_answers * 5 < all_answers * 4, "{reached_answers} of {all_answers} answers are worked out");
}

/// The answers, keys and findings of each revision, and what is reached, are the same whether it is made from nothing
/// or of the revision before.
#[test]
fn derived_revisions_equal_new_ones() {
    for seed in seeds() {
        let fleet = fleet_of(seed);
        let store = Arc::default();
        let mut last: Option<Revision> = None;
        for one in history(seed).iter().chain(&history(seed)[..1]) {
            let whole = revision(one, &fleet, &Arc::default());
            let made = match &last {
                None => revision(one, &fleet, &store),
                Some(last) => next(last, environment(one, &store), &Workers::of(1)).unwrap(),
            };
            assert_eq!(made.keys, whole.keys, "seed {seed}");
            assert_eq!(made.findings, whole.findings, "seed {seed}");
            if let Some(last) = &last {
                let keys: BTreeSet<Arc<str>> = last.keys.union(&whole.keys).cloned().collect();
                // Only files of one store are known to be the same.
                let whole = revision(one, &fleet, &store);
                assert_eq!(
                    fleet::affected_keys(last, &made, &keys, &Workers::of(2)).keys,
                    fleet::affected_keys(last, &whole, &keys, &Workers::of(2)).keys,
                    "seed {seed}"
                );
            }
            assert_eq!(resolve(&made, &made.keys, 1), resolve(&whole, &whole.keys, 1), "seed {seed}");
            last = Some(made);
        }
    }
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
fn similar_nodes_are_distinguished() {
    for (fixture, nodes) in TRAPS {
        let (profiles, errors) = read_profiles(nodes.as_bytes(), "p.ndjson", "production");
        assert_eq!(errors, []);
        let fleet = Arc::new(Fleet::new(profiles.clone()));
        let tree = Arc::new(MemoryTree::from_fixture(fixture));
        let environment = Environment::load(tree, EnvironmentOptions::default(), Arc::default()).unwrap();
        let revision = Revision::new(environment, fleet.clone(), &Workers::of(1)).unwrap();
        let effective = resolve(&revision, &revision.keys, 1);
        for profile in &profiles {
            let node = fleet.find(&profile.name).unwrap();
            assert_eq!(of_node(&effective, node), alone(&revision, profile), "{fixture}");
        }
    }
}

/// The answers that options of a key change on keys that refer to it, in quotes or not, found by the name of the
/// referring key.
#[test]
fn options_affect_referring_keys() {
    let before = "-- hiera.yaml\nversion: 5\nhierarchy: [{name: h, path: h.yaml}, {name: l, path: l.yaml}]\n-- data/h.yaml\nplain: \"%{lookup('b')}\"\nquoted: \"%{lookup(\\\"'x.y'\\\")}\"\nb: [1]\nx.y: [1]\n-- data/l.yaml\nb: [2]\nx.y: [2]\n";
    let after = format!("{before}lookup_options: {{b: {{merge: unique}}, x.y: {{merge: unique}}}}\n");
    let (profiles, _) = read_profiles(b"{\"name\": \"n\"}", "p.ndjson", "production");
    let fleet = Arc::new(Fleet::new(profiles));
    let store: Arc<Store> = Arc::default();
    let [before, after] = [before, &after].map(|fixture| {
        let tree = Arc::new(MemoryTree::from_fixture(fixture));
        Revision::new(
            Environment::load(tree, EnvironmentOptions::default(), store.clone()).unwrap(),
            fleet.clone(),
            &Workers::of(1),
        )
        .unwrap()
    });
    for key in ["plain", "quoted"] {
        let key = BTreeSet::from([Arc::from(key)]);
        assert_ne!(resolve(&before, &key, 1), resolve(&after, &key, 1));
        assert_eq!(fleet::affected_keys(&before, &after, &key, &Workers::of(2)).keys, fleet.everywhere(&key));
    }
}

/// Changes whose reach is easily missed: a repository, and what of its text is replaced by what.
const FAR_CHANGES: [(&str, &str, &str); 8] = [
    // A reference that is put together of text: what a lookup gave is interpolated again.
    (
        "-- hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: common.yaml}]\n-- data/common.yaml\nk1: \"%{lookup('k2')}\"\nk2: \"%%{}{lookup('x')}\"\nx: before\n",
        "before",
        "after",
    ),
    (
        "-- hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: common.yaml}]\n-- data/common.yaml\nk0: \"%{lookup('k1')}\"\nk1: \"%{lookup('k2')}}\"\nk2: \"%{lookup('x')\"\nx: before\n",
        "before",
        "after",
    ),
    (
        "-- hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: common.yaml}]\n-- data/common.yaml\nk0: \"%{lookup('k1')}\"\nk1: \"%{facts.p}{lookup('x')}\"\nx: before\n",
        "before",
        "after",
    ),
    // Options of a module that another one comes to with options of its own.
    (
        "-- hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: common.yaml}]\n-- modules/a/hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: common.yaml}]\n-- modules/a/data/common.yaml\na::k: \"%{lookup('b::x')}\"\na::y: first\n-- modules/b/hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: common.yaml}, {name: l, path: low.yaml}]\n-- modules/b/data/common.yaml\nlookup_options: {b::x: {merge: \"%{lookup('a::y')}\"}}\nb::x: [1]\n-- modules/b/data/low.yaml\nb::x: [2]\n",
        "a::y: first",
        "a::y: unique",
    ),
    // An error that names the file of a module that moves.
    (
        "-- environment.conf\nmodulepath = modules:site\n-- hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: common.yaml}]\n-- modules/m/hiera.yaml\nversion: 5\nhierarchy: [{name: f, data_hash: nofunc}]\n-- modules/m/data/x.yaml\nm::k: 1\n",
        "modules/m",
        "site/m",
    ),
    // One file less, or one level: what is found at one place alone is not merged.
    (
        "-- hiera.yaml\nversion: 5\nhierarchy: [{name: g, glob: '*.yaml'}, {name: l, path: low/l.yaml}]\n-- data/a.yaml\nx: [1, 1]\n-- data/b.yaml\ny: 1\n-- data/low/l.yaml\nlookup_options: {x: {merge: unique}}\n",
        "data/b.yaml",
        "data/b.txt",
    ),
    (
        "-- hiera.yaml\nversion: 5\nhierarchy: [{name: h, paths: [h.yaml, none.yaml]}, {name: l, path: l.yaml}]\n-- data/h.yaml\nlookup_options: {x: {merge: unique}}\nx: [1, 1]\n-- data/l.yaml\ny: 1\n",
        ", {name: l, path: l.yaml}",
        "",
    ),
    // Two paths of one level: what one node has of its own is not what the other has in common.
    (
        "-- hiera.yaml\nversion: 5\nhierarchy: [{name: all, paths: ['%{trusted.certname}.yaml', common.yaml]}]\n-- data/n.yaml\nown: 1\n-- data/common.yaml\nx: before\n",
        "before",
        "after",
    ),
];

#[test]
fn changes_that_reach_far_are_seen() {
    let (profiles, _) =
        read_profiles(b"{\"name\": \"n\", \"facts\": {\"p\": \"%\"}}\n{\"name\": \"m\"}\n", "p.ndjson", "production");
    let fleet = Arc::new(Fleet::new(profiles));
    for (before, from, to) in FAR_CHANGES {
        let store: Arc<Store> = Arc::default();
        let [before, after] = [before, &before.replace(from, to)].map(|fixture| {
            let tree = Arc::new(MemoryTree::from_fixture(fixture));
            let environment = Environment::load(tree, EnvironmentOptions::default(), store.clone()).unwrap();
            Revision::new(environment, fleet.clone(), &Workers::of(1)).unwrap()
        });
        let keys: BTreeSet<Arc<str>> = before.keys.union(&after.keys).cloned().collect();
        let changes = |work: &NodesByKey| {
            let [before, after] = fleet::resolve_all([&before, &after], work, &Workers::of(1));
            diff::changes(Diff::new(&before, &after), &Workers::of(2))
        };
        let whole = changes(&fleet.everywhere(&keys));
        assert_ne!(whole, diff::Changes::default(), "{from}: the change is one");
        assert_eq!(changes(&fleet::affected_keys(&before, &after, &keys, &Workers::of(2)).keys), whole, "{from}");
    }
}

/// The effect of a level that goes, for two nodes of which one finds the key before it: on how many nodes the key is
/// resolved again.
const SAME_TEXTS: [(&str, &str, usize); 9] = [
    ("k: 'https://%{facts.name}/'", "k: 'https://%{facts.name}/'", 0),
    ("k: 'https://%{facts.name}/'", "k: 'http://%{facts.name}/'", 1),
    ("k: 'https://%{facts.name}/'", "other: 1", 1),
    // What may be more than what is found first.
    ("k: 'https://%{facts.name}/'", "k: 'https://%{facts.name}/'\nlookup_options: {k: {merge: unique}}", 2),
    ("k: 'https://%{facts.name}/'", "k: 'https://%{facts.name}/'\nlookup_options: {^k: {convert_to: Sensitive}}", 2),
    // What fails, for one who finds it; what refers to something else.
    ("k: '%{facts.some}'", "k: '%{facts.some}'", 1),
    ("k: '%{facts.name.x}'", "k: '%{facts.name.x}'", 1),
    ("k: '%{facts.refers}'\nx: 1", "k: '%{facts.refers}'\nx: 2", 2),
    ("k: '%{facts.name}%{lookup(\"x\")}'\nx: 1", "k: '%{facts.name}%{lookup(\"x\")}'\nx: 2", 2),
];

#[test]
fn equal_first_texts_are_not_affected() {
    let nodes = "{\"name\": \"n\", \"facts\": {\"name\": \"n\", \"some\": 1, \"refers\": \"%{lookup('x')}\"}}\n\
                 {\"name\": \"m\", \"facts\": {\"name\": \"m\", \"refers\": \"\"}}\n";
    let (profiles, errors) = read_profiles(nodes.as_bytes(), "p.ndjson", "production");
    assert_eq!(errors, []);
    let fleet = Arc::new(Fleet::new(profiles));
    for (goes, stays, count) in SAME_TEXTS {
        let before = format!(
            "-- hiera.yaml\nversion: 5\nhierarchy: [{{name: n, path: '%{{trusted.certname}}.yaml'}}, {{name: g, path: goes.yaml}}, {{name: s, path: stays.yaml}}]\n-- data/n.yaml\nk: own %{{facts.name}}\n-- data/goes.yaml\n{goes}\n-- data/stays.yaml\n{stays}\n"
        );
        let store: Arc<Store> = Arc::default();
        let [before, after] = [&before, &before.replace("{name: g, path: goes.yaml}, ", "")].map(|fixture| {
            let tree = Arc::new(MemoryTree::from_fixture(fixture));
            let environment = Environment::load(tree, EnvironmentOptions::default(), store.clone()).unwrap();
            Revision::new(environment, fleet.clone(), &Workers::of(1)).unwrap()
        });
        let keys: BTreeSet<Arc<str>> = before.keys.union(&after.keys).cloned().collect();
        let reached = fleet::affected_keys(&before, &after, &keys, &Workers::of(2)).keys;
        assert_eq!(reached.get("k").map_or(0, NodeSet::len), count, "{goes} | {stays}");
        let changes = |work: &NodesByKey| {
            let [before, after] = fleet::resolve_all([&before, &after], work, &Workers::of(1));
            diff::changes(Diff::new(&before, &after), &Workers::of(1))
        };
        assert_eq!(changes(&reached), changes(&fleet.everywhere(&keys)), "{goes} | {stays}");
    }
}
