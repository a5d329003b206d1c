//! Hostile data: a lookup ends soon, with an honest error, on a stack of the usual size.

pub(crate) mod attacks;
mod commits;
mod daemon;
mod generators;
mod keys;
mod repositories;

use std::fmt::Write;
use std::sync::{Arc, mpsc};

use hierad::hiera::Outcome;
use hierad::hiera::budget::Cost;
use hierad::hiera::layer::{Environment, EnvironmentOptions};
use hierad::hiera::lookup::{Lookup, NodeSources};
use hierad::hiera::scope::NodeScope;
use hierad::node::read_profiles;
use hierad::puppet::ErrorKind;
use hierad::puppet::json;
use hierad::tree::MemoryTree;

use crate::support::extent::{ENDLESS, full_or};
use crate::support::work;

const CONFIG: &str = "version: 5\nhierarchy: [{name: c, path: common.yaml}]\n";

/// Returns a number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Answers `key` on a thread with a small stack, as text; an error must be hierad's own. Where the program is not
/// optimised, a key may cost an eighth of what hierad allows.
fn answer(config: &str, data: &str, profile: &str, key: &'static str) -> String {
    let mut tree = MemoryTree::new();
    tree.add("hiera.yaml", config.as_bytes());
    tree.add("data/common.yaml", data.as_bytes());
    let (profiles, errors) = read_profiles(profile.as_bytes(), "p.yaml", "production");
    assert_eq!(errors, []);
    let part = full_or(1, 8);
    let limit = Cost { steps: Cost::OF_KEY.steps / part, text: Cost::OF_KEY.text / part };
    let answer = move || {
        let environment = Environment::load(Arc::new(tree), EnvironmentOptions::default(), Arc::default()).unwrap();
        let scope = NodeScope::new(&profiles[0]);
        let sources = NodeSources::new(&environment, &scope);
        match Lookup::new(&environment, &sources, &scope).within(limit).get(key, None) {
            Outcome::Found(value) => json::compact(&value),
            Outcome::NotFound => "not found".to_owned(),
            Outcome::Failed(error) => {
                assert_eq!(error.kind, ErrorKind::Unknown, "{error}");
                error.to_string()
            }
        }
    };
    let (tell, answered) = mpsc::channel();
    std::thread::Builder::new().stack_size(2 << 20).spawn(move || tell.send(work::here(answer))).unwrap();
    answered.recv_timeout(ENDLESS).unwrap_or_else(|error| panic!("{key}: {error}"))
}

fn of_data(data: &str, key: &'static str) -> String {
    answer(CONFIG, data, "{name: n}", key)
}

/// Keys `a0` to `a{count}`, each made from the one before.
fn chain(first: &str, count: usize, next: impl Fn(String) -> String) -> String {
    let mut data = format!("a0: {first}\n");
    (1..=count).for_each(|i| _ = writeln!(data, "a{i}: {}", next(format!("a{}", i - 1))));
    data
}

#[test]
fn doubling_keys_are_errors() {
    let twice = |key: String| format!("\"%{{lookup('{key}')}}%{{lookup('{key}')}}\"");
    let data = chain("x", 60, twice);
    assert!(of_data(&data, "a60").contains("steps of interpolation"));
    assert_eq!(of_data(&data, "a10"), format!("\"{}\"", "x".repeat(1024)));
    let long = chain(&"x".repeat(1 << 20), 60, twice);
    assert!(of_data(&long, "a60").contains("MiB of text"));
    let both = chain("[x]", 60, |key| format!("[\"%{{alias('{key}')}}\", \"%{{alias('{key}')}}\"]"));
    assert!(of_data(&both, "a60").contains("steps of interpolation"));
    let wide = chain(&format!("[{}]", "x, ".repeat(10_000)), 60, |key| format!("\"%{{alias('{key}')}}\""));
    assert!(of_data(&wide, "a60").starts_with("[\"x\","));
    let quoted = chain("x", 60, |key| format!("[\"%{{lookup('{key}')}}\"]"));
    assert!(of_data(&quoted, "a60").contains("MiB of text"));
}

#[test]
fn doubling_variables_are_errors() {
    let mut facts = String::from("v0: x");
    (1..60).for_each(|i| _ = write!(facts, ", v{i}: '%{{v{0}}}%{{v{0}}}'", i - 1));
    let profile = format!("{{name: n, variables: {{{facts}}}}}");
    assert!(answer(CONFIG, "a: \"%{v59}\"", &profile, "a").contains("steps of interpolation"));
    let config = "version: 5\nhierarchy: [{name: c, path: \"%{v59}.yaml\"}]\n";
    assert!(answer(config, "a: 1", &profile, "a").contains("steps of interpolation"));
}

#[test]
fn deep_chains_need_little_stack() {
    let text = chain("x", 400, |key| format!("\"%{{lookup('{key}')}}\""));
    assert_eq!(of_data(&text, "a190"), "\"x\"");
    assert!(of_data(&text, "a400").contains("nest more than"));
    let nested = chain("x", 60, |key| format!("{}\"%{{alias('{key}')}}\"{}", "[".repeat(20), "]".repeat(20)));
    assert_eq!(of_data(&nested, "a20"), format!("{}\"x\"{}", "[".repeat(400), "]".repeat(400)));
    assert!(of_data(&nested, "a60").contains("nests values"));
    let (hashes, arrays) = ("{a: ".repeat(450) + "x" + &"}".repeat(450), "[".repeat(450) + "x" + &"]".repeat(450));
    let merged = format!("lookup_options: {{'^k': {{merge: deep}}}}\nkh: {hashes}\nka: {arrays}\n");
    let levels = "version: 5\nhierarchy: [{name: c, paths: [common.yaml, common.yaml, common.yaml]}]\n";
    assert_eq!(answer(levels, &merged, "{name: n}", "kh").get(..8), Some("{\"a\":{\"a"));
    assert_eq!(answer(levels, &merged, "{name: n}", "ka").get(..4), Some("[[[["));
}

#[test]
fn a_hierarchy_may_be_long() {
    let mut config = String::from("version: 5\nhierarchy:\n");
    (0..100_000).for_each(|i| _ = writeln!(config, "- {{name: l{i}, path: \"%{{name}}/{i}.yaml\"}}"));
    config.push_str("- {name: c, path: common.yaml}\n");
    assert_eq!(answer(&config, "a: 1", "{name: n}", "a"), "1");
}

#[test]
fn endless_patterns_are_errors() {
    let config = |glob: &str| format!("version: 5\nhierarchy: [{{name: c, glob: \"{glob}\"}}]\n");
    assert!(answer(&config(&"{a,b}".repeat(60)), "a: 1", "{name: n}", "a").contains("stands for more than"));
    assert_eq!(answer(&config(&"**/".repeat(60)), "a: 1", "{name: n}", "a"), "not found");
    let options = "lookup_options: {'^(a+)+$': {merge: unique}}\nk: 1";
    assert_eq!(of_data(options, "k"), "1");
    assert!(of_data(options, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab").contains("gave up"));
}

#[test]
fn unique_merges_of_hashes_are_fast() {
    let items = |from: usize| (from..from + 20_000).map(|i| format!("{{name: u{i}, id: {i}}}")).collect::<Vec<_>>();
    let data = format!("lookup_options: {{a: {{merge: unique}}}}\na: [{}]\n", items(0).join(", "));
    assert!(of_data(&data, "a").ends_with("\"id\":19999}]"));
}

#[test]
fn long_interpolations_are_parsed_once() {
    for line in ["x\\n", "x(\\n", "x('\\n"] {
        let data = format!("k: \"%{{{}literal('found')}}\"\n", line.repeat(300_000));
        assert_eq!(of_data(&data, "k"), "\"found\"", "{line}");
    }
}
