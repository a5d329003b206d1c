//! Answers that differ from node to node only by what is put into their texts: on each node they are as those of a
//! fleet of that node alone, which has no templates.

use std::fmt::Write;
use std::sync::Arc;

use fastrand::Rng;

use hierad::diff::{Change, Changes, Diff, changes};
use hierad::fleet::{self, Effective, Fleet, Revision};
use hierad::hiera::Outcome;
use hierad::hiera::layer::{Environment, EnvironmentOptions};
use hierad::node::{NodeId, NodeProfile, NodeSet, read_profiles};
use hierad::tree::MemoryTree;
use hierad::workers::Workers;

use super::support::extent::full_or;

const NODES: usize = 150;

const KEYS: usize = 14;

/// Profiles whose facts are texts on most nodes, and something else, or the same, on some.
fn profiles(dice: &mut Rng) -> Vec<NodeProfile> {
    let odd = ["\"odd\": \"%{facts.site}\"", "\"odd\": 7", "\"other\": 1", "\"odd\": \"a\"", "\"odd\": \"100%\""];
    let mut text = String::new();
    for node in 0..NODES {
        let odd =
            if dice.u8(0..4) == 0 { (*dice.choice(&odd).unwrap()).to_owned() } else { format!("\"odd\": \"o{node}\"") };
        let site = dice.u8(0..3);
        let ip = if dice.u8(0..9) == 0 { format!("n{node}") } else { format!("10.0.0.{node}") };
        writeln!(
            text,
            "{{\"name\": \"n{node}\", \"facts\": {{\"name\": \"n{node}\", \"site\": \"s{site}\", \"net\": {{\"ip\": \"{ip}\"}}, {odd}}}}}"
        )
        .unwrap();
    }
    let (profiles, errors) = read_profiles(text.as_bytes(), "p.ndjson", "production");
    assert_eq!(errors, []);
    profiles
}

/// A text in which variables and other keys are put.
fn text(dice: &mut Rng) -> String {
    let key = dice.usize(0..KEYS);
    let pieces =
        ["a", "-", "x%", "{", "%{literal('%')}{", "n1", "%{facts.name}", "%{trusted.certname}", "%{facts.site}"];
    let more = ["%{facts.odd}", "%{facts.net.ip}", "%{scope('facts.name')}", "%{facts.missing}", "%{facts.net}"];
    if dice.u8(0..8) == 0 {
        return format!("%{{alias('k{key}')}}");
    }
    let piece = |dice: &mut Rng| match dice.u8(0..12) {
        0 => format!("%{{lookup('k{key}')}}"),
        1 | 2 => (*dice.choice(&more).unwrap()).to_owned(),
        _ => (*dice.choice(&pieces).unwrap()).to_owned(),
    };
    (0..dice.usize(1..4)).map(|_| piece(dice)).collect()
}

fn value(dice: &mut Rng, depth: usize) -> String {
    match dice.u8(0..if depth < 2 { 8 } else { 5 }) {
        0 => dice.u8(..).to_string(),
        1..5 => format!("\"{}\"", text(dice)),
        5 | 6 => format!("[{}]", (0..dice.usize(0..4)).map(|_| value(dice, depth + 1)).collect::<Vec<_>>().join(", ")),
        _ => {
            let key = |dice: &mut Rng| {
                if dice.u8(0..6) == 0 {
                    format!("\"{}\"", text(dice))
                } else {
                    dice.choice(["x", "y", "name"]).unwrap().to_owned()
                }
            };
            format!(
                "{{{}}}",
                (0..dice.usize(0..4))
                    .map(|at| format!("{}{at}: {}", key(dice).replace('"', ""), value(dice, depth + 1)))
                    .map(|e| quoted(&e))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
    }
}

/// Puts the key of an entry into quotes.
fn quoted(entry: &str) -> String {
    let (key, value) = entry.split_once(": ").unwrap();
    format!("\"{key}\": {value}")
}

fn fixture(dice: &mut Rng) -> String {
    let own = "{name: own, path: 'nodes/%{facts.name}.yaml'}";
    let hierarchy =
        format!("[{own}, {{name: site, path: '%{{facts.site}}.yaml'}}, {{name: common, path: common.yaml}}]");
    let mut text = format!("-- hiera.yaml\nversion: 5\nhierarchy: {hierarchy}\n");
    for (file, keys) in [("s0", 4), ("s1", 3), ("common", KEYS)] {
        writeln!(text, "-- data/{file}.yaml").unwrap();
        if file == "common" {
            writeln!(text, "lookup_options:").unwrap();
            for _ in 0..5 {
                let options = [
                    "{merge: deep}",
                    "{merge: unique}",
                    "{merge: hash}",
                    "{convert_to: Array}",
                    "{convert_to: String}",
                    "{convert_to: Sensitive}",
                    "{merge: {strategy: deep, knockout_prefix: a}}",
                ];
                writeln!(text, "  k{}: {}", dice.usize(0..KEYS), dice.choice(&options).unwrap()).unwrap();
            }
        }
        let first = if file == "common" { 0 } else { dice.usize(0..KEYS - keys) };
        for key in first..first + keys {
            writeln!(text, "k{key}: {}", value(dice, 0)).unwrap();
        }
    }
    // Some nodes have a file of their own, with an entry for a hash of the others.
    for node in (0..NODES).filter(|_| dice.u8(0..5) == 0).collect::<Vec<_>>() {
        let entry = format!("{{\"x0\": \"{}\", \"own\": {}}}", self::text(dice), value(dice, 1));
        writeln!(text, "-- data/nodes/n{node}.yaml\nk{}: {entry}", dice.usize(0..KEYS)).unwrap();
    }
    text
}

fn revision(fixture: &str, fleet: &Arc<Fleet>) -> Revision {
    let tree = Arc::new(MemoryTree::from_fixture(fixture));
    let environment = Environment::load(tree, EnvironmentOptions::default(), Arc::default()).unwrap();
    Revision::new(environment, fleet.clone(), &Workers::of(1)).unwrap()
}

/// The answer for a key on a node, and the change of it.
fn on_node(effective: &Effective, changes: &Changes, key: &str, node: NodeId) -> (Outcome, Option<Change>) {
    let answers = effective.keys.get(key).map_or(&[][..], Vec::as_slice);
    let answer = answers.iter().find(|answer| answer.nodes.contains(node));
    let outcome = answer.map_or(Outcome::NotFound, |answer| (*answer.on(node)).clone());
    let change = changes.changes.iter().find(|change| &*change.key == key && change.nodes.contains(node));
    let on =
        |change: &Change| Change { nodes: NodeSet::new(), variants: None, ..change.on(NodeSet::from_iter([node])) };
    (outcome, change.map(on))
}

/// The keys of both revisions with their values, and the changes.
fn compare(fixtures: &[String; 2], fleet: &Arc<Fleet>) -> ([Effective; 2], Changes) {
    let [before, after] = fixtures.each_ref().map(|fixture| revision(fixture, fleet));
    let keys = fleet.everywhere(before.keys.union(&after.keys));
    let [was, is] = fleet::resolve_all([&before, &after], &keys, &Workers::of(1));
    let changes = changes(Diff::new(&was, &is), &Workers::of(1));
    let filled = [&before, &after].map(|revision| fleet::resolve(revision, &keys, &Workers::of(1)));
    for (open, filled) in [&was, &is].into_iter().zip(&filled) {
        for (key, answers) in &filled.keys {
            assert!(answers.iter().all(|answer| answer.template.is_none()), "{key}");
            for answer in answers {
                let first = answer.nodes.first().unwrap();
                assert_eq!(on_node(open, &Changes::default(), key, first).0, *answer.outcome, "{key}");
            }
        }
    }
    ([was, is], changes)
}

/// The nodes of a change by their outcomes, in the order of their first nodes.
fn by_outcomes(change: &Change) -> Vec<NodeSet> {
    let mut classes: Vec<(Diff<Option<Arc<Outcome>>>, NodeSet)> = Vec::new();
    for node in change.nodes.iter() {
        let Change { outcome, .. } = change.on(NodeSet::from_iter([node]));
        match classes.iter_mut().find(|(other, _)| *other == outcome) {
            Some((_, nodes)) => nodes.insert(node),
            None => classes.push((outcome, NodeSet::from_iter([node]))),
        }
    }
    classes.into_iter().map(|(_, nodes)| nodes).collect()
}

#[test]
fn templates_give_each_node_its_own_values() {
    let (mut templates, mut variants) = (0, 0);
    for seed in 0..full_or(40, 6) {
        let dice = &mut Rng::with_seed(seed);
        let profiles = profiles(dice);
        let fixtures = [fixture(dice), String::new()];
        let edited = fixtures[0].lines().map(|line| match line.split_once(": ") {
            Some((key, _)) if key.starts_with('k') && dice.u8(0..3) == 0 => format!("{key}: {}", value(dice, 0)),
            Some((key, value)) if key.starts_with('k') && dice.u8(0..2) == 0 => {
                format!("{key}: {}", value.replace("n1", "n2").replace('-', "+"))
            }
            _ => line.to_owned(),
        });
        let edited = edited.collect::<Vec<_>>().join("\n") + "\n";
        let fixtures = [fixtures[0].clone(), edited];
        let fleet = Arc::new(Fleet::new(profiles.clone()));
        let ([was, is], changes) = compare(&fixtures, &fleet);
        templates += was.keys.values().flatten().filter(|answer| answer.template.is_some()).count();
        for change in &changes.changes {
            if let Some(of_change) = &change.variants {
                assert_eq!(
                    of_change.classes(&change.nodes, usize::MAX),
                    by_outcomes(change),
                    "seed {seed}, {}",
                    change.key
                );
                assert_eq!(of_change.count(&change.nodes), by_outcomes(change).len(), "seed {seed}, {}", change.key);
                variants += 1;
            }
        }
        for profile in profiles.iter().step_by(7) {
            let alone = Arc::new(Fleet::new([profile.clone()]));
            let ([was_alone, is_alone], changes_alone) = compare(&fixtures, &alone);
            let node = fleet.find(&profile.name).unwrap();
            for key in (0..KEYS).map(|key| format!("k{key}")) {
                for (one, other) in [(&was, &was_alone), (&is, &is_alone)] {
                    let (found, expected) =
                        (on_node(one, &changes, &key, node), on_node(other, &changes_alone, &key, NodeId(0)));
                    assert_eq!(found, expected, "seed {seed}, {key} on {}: {}", profile.name, fixtures[1]);
                }
            }
        }
    }
    assert!(
        templates > full_or(200, 30) && variants > full_or(50, 0),
        "{templates} templates, {variants} changes with variants"
    );
}

/// Variables are put unread into the texts of nodes that have them, whatever other nodes have.
#[test]
fn nodes_without_a_variable_do_not_divide_the_others() {
    let profile = |node: usize| {
        let fact = if node.is_multiple_of(50) { "other" } else { "odd" };
        format!("{{\"name\": \"n{node:03}\", \"facts\": {{\"{fact}\": \"o{node}\"}}}}\n")
    };
    let (profiles, _) = read_profiles((0..NODES).map(profile).collect::<String>().as_bytes(), "p.ndjson", "production");
    let fleet = Arc::new(Fleet::new(profiles));
    let fixture = "-- hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: c.yaml}]\n-- data/c.yaml\nk0: \"%{facts.odd}, %{scope('trusted.certname')}\"\n";
    let ([effective, _], _) = compare(&[fixture.to_owned(), fixture.to_owned()], &fleet);
    let nodes: Vec<usize> = effective.keys["k0"].iter().map(|answer| answer.nodes.len()).collect();
    assert_eq!(nodes, [3, NODES - 3]);
}
