//! Lookups against what the real Hiera 3 answered: `tests/vectors/hiera3`, recorded by `tests/puppet/record_hiera3.rb`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::support::keys::{TestKeys, all_keys};
use crate::support::recorded;
use hierad::disclosure::Disclosure;
use hierad::hiera::layer::{Environment, EnvironmentOptions};
use hierad::hiera::lookup::{Lookup, NodeSources};
use hierad::hiera::merge::Strategy;
use hierad::hiera::scope::NodeScope;
use hierad::hiera::{Outcome, Reader};
use hierad::node::{NodeProfile, read_profiles};
use hierad::puppet::json;
use hierad::tree::MemoryTree;
use hierad::value::Value;

fn list<'a>(case: &'a Value, field: &str) -> &'a [Value] {
    case.get(field).and_then(Value::as_array).unwrap_or_else(|| panic!("a case without {field}"))
}

fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case.get(field).and_then(Value::as_str).unwrap_or_else(|| panic!("a case without {field}"))
}

fn profiles(case: &Value) -> Vec<NodeProfile> {
    let read = |profile: &Value| {
        let (profiles, errors) = read_profiles(json::compact(profile).as_bytes(), "case.json", "production");
        assert_eq!(errors, []);
        profiles
    };
    list(case, "profiles").iter().flat_map(read).collect()
}

/// Returns the answer of a recorded node for a key as text: a value or an error, or `None` if it is not found.
fn said(node: &Value, key: &str) -> Option<String> {
    let of = |field: &str| node.get(field).and_then(|answers| answers.get(key));
    of("values").map(json::compact).or_else(|| of("errors").map(|error| format!("error: {}", json::compact(error))))
}

fn answered(outcome: Outcome) -> Option<String> {
    match outcome {
        // A value that JSON cannot hold is recorded in its written form.
        Outcome::Found(value) => {
            let written = json::compact(&Disclosure::shown().value(&value));
            Some(json::compact(&json::parse(written.as_bytes()).value))
        }
        Outcome::NotFound => None,
        Outcome::Failed(error) => {
            let text = Value::from(&*Disclosure::shown().text(&error.text));
            Some(format!("error: {}", json::compact(&text)))
        }
    }
}

/// Cuts an answer to its part that does not depend on chance: Ruby names a file descriptor, or the values that its sort
/// compares first.
fn comparable(answer: Option<&String>) -> Option<&str> {
    let by_chance = ["error: \"Is a directory", "error: \"comparison of "];
    answer.map(|answer| by_chance.into_iter().find(|start| answer.starts_with(start)).unwrap_or(answer))
}

fn differences(case: &Value, resolution: &str, strategy: &Strategy) -> Vec<String> {
    let host = Arc::new(TestKeys);
    let options = EnvironmentOptions {
        reader: Reader::Hiera3,
        hiera3_yaml_aliases: case.get("yaml_aliases").is_some(),
        eyaml: all_keys(),
        host,
        ..EnvironmentOptions::default()
    };
    let tree = Arc::new(MemoryTree::from_fixture(text(case, "fixture")));
    let environment = Environment::load(tree, options, Arc::default()).unwrap();
    let mut found = Vec::new();
    for (profile, expected) in profiles(case).iter().zip(list(case, resolution)) {
        let scope = NodeScope::new(profile);
        let sources = NodeSources::new(&environment, &scope);
        let lookup = Lookup::new(&environment, &sources, &scope);
        for key in list(case, "keys").iter().filter_map(Value::as_str) {
            let (ours, theirs) = (answered(lookup.get(key, Some(strategy))), said(expected, key));
            if comparable(ours.as_ref()) != comparable(theirs.as_ref()) {
                let name = text(case, "name");
                found.push(format!("{name}, {resolution} of {key:?}:\n  Hiera:  {theirs:?}\n  hierad: {ours:?}"));
            }
        }
    }
    found
}

fn check(resolution: &str, strategy: &Strategy) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/hiera3");
    let (mut cases, mut found) = (0, Vec::new());
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let all = recorded::cases(&path);
            cases += all.len();
            found.extend(all.iter().flat_map(|case| differences(case, resolution, strategy)));
        }
    }
    assert!(cases > 130, "only {cases} cases");
    assert!(found.is_empty(), "{} answers of {cases} cases differ:\n{}", found.len(), found.join("\n"));
}

#[test]
fn priority_answers_are_those_of_hiera_3() {
    check("priority", &Strategy::Default);
}

#[test]
fn array_answers_are_those_of_hiera_3() {
    check("array", &Strategy::Unique);
}

#[test]
fn hash_answers_are_those_of_hiera_3() {
    check("hash", &Strategy::Hash);
}
