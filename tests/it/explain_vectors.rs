//! Explained lookups against what the real Puppet 7 and 8 print: `tests/vectors/explain`, recorded by
//! `tests/puppet/record_explain.rb`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::lookup_vectors::Case;
use crate::support::recorded::cases;
use hierad::disclosure::Disclosure;
use hierad::hiera::Outcome;
use hierad::hiera::explain::{Places, Recorder, Step};
use hierad::hiera::layer::Environment;
use hierad::hiera::lookup::{Lookup, NodeSources};
use hierad::hiera::merge::Strategy;
use hierad::hiera::scope::NodeScope;
use hierad::node::NodeProfile;
use hierad::puppet::json;
use hierad::puppet::{ErrorKind, Puppet};
use hierad::value::Value;

/// Cases in which hierad explains otherwise: anchors and knock-outs, as in `lookup_vectors`; and an environment whose
/// version Puppet 7 refuses only once it has begun to explain it.
const DEPARTURES: [&str; 3] = [
    "a text shared by an anchor is cleared for both",
    "a key looked up before is not emptied",
    "environment.conf names hiera, hiera.yaml of version 3",
];

/// One lookup as hierad explains it.
struct Told {
    explained: Step,
    failed: bool,
    unknown: bool,
}

fn vectors(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(folder)
}

fn recorded(path: &Path) -> Vec<Value> {
    let parsed = json::parse(&fs::read(path).unwrap());
    assert_eq!(parsed.fault, None, "{}", path.display());
    parsed.value.as_array().unwrap().to_vec()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_else(|| panic!("no {field}"))
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).unwrap_or_else(|| panic!("no {field}"))
}

fn explain(case: &Case<'_>, profiles: &[NodeProfile], asked: &Value, puppet: Puppet) -> Told {
    let (tree, options) = case.repository(puppet);
    let environment = Environment::load(tree, options, Arc::default()).unwrap();
    let profile = profiles.iter().find(|profile| *profile.name == *text(asked, "node")).unwrap();
    let scope = NodeScope::new(profile);
    let sources = NodeSources::new(&environment, &scope);
    let recorder = Recorder::default();
    let mut lookup = Lookup::new(&environment, &sources, &scope).explained_by(&recorder);
    if asked.get("only_options").is_some() {
        lookup = lookup.only_options();
    }
    let keys = list(asked, "keys").iter().filter_map(Value::as_str);
    let strategy = asked.get("merge").map(|merge| Strategy::from_option(merge).unwrap());
    let (mut failed, mut unknown) = (true, false);
    for key in keys {
        match lookup.get(key, strategy.as_ref()) {
            Outcome::NotFound => continue,
            Outcome::Found(_) => failed = false,
            Outcome::Failed(error) => unknown = error.kind == ErrorKind::Unknown,
        }
        break;
    }
    drop(lookup);
    Told { explained: Disclosure::shown().step(recorder.finish()), failed, unknown }
}

/// The first line that differs, and the lines around it.
fn difference(puppet: &str, hierad: &str) -> String {
    let at = puppet.lines().zip(hierad.lines()).take_while(|(a, b)| a == b).count();
    let from = |text: &str| text.lines().skip(at.saturating_sub(3)).take(8).collect::<Vec<_>>().join("\n    ");
    format!("  line {}\n  Puppet:\n    {}\n  hierad:\n    {}", at + 1, from(puppet), from(hierad))
}

/// The text without found and merged values. Puppet's deep merge with a prefix changes the values in place, so what
/// Puppet shows as found is what is left of it; hierad shows what was found.
fn without_found(text: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut inside = None;
    let mut kept = Vec::new();
    for line in text.lines() {
        let is_part =
            |depth| indent(line) > depth || indent(line) == depth && line.trim_start().starts_with([']', '}']);
        if inside.is_some_and(is_part) {
            continue;
        }
        let found = line.trim_start().starts_with("Found key: ") || line.trim_start().starts_with("Merged result: ");
        inside = found.then(|| indent(line));
        kept.push(if found {
            &line[..line.rfind("\" value: ").or(line.find(": ")).unwrap_or(line.len())]
        } else {
            line
        });
    }
    kept.join("\n")
}

fn compare(asked: &Value, told: &Told, puppet: Puppet) -> Option<String> {
    let server_facts = text(asked, "text").contains("Found key: \"server_facts\" value: ");
    // What hierad cannot know it cannot explain to the end.
    if told.unknown || server_facts {
        return None;
    }
    let field = |name: &str| match puppet {
        Puppet::V8 | Puppet::V9 => asked.get(&format!("{name}8")).or_else(|| asked.get(name)),
        Puppet::V7 => asked.get(name),
    };
    let expected = field("text").and_then(Value::as_str).unwrap_or_default();
    let failed = field("failed").is_some_and(Value::is_truthy);
    if failed != told.failed {
        return Some(format!("  fails: {failed} in Puppet, {} here", told.failed));
    }
    let text = told.explained.text(Places::Hidden).replace("/outside/", "");
    // Puppet puts the type into the list of `convert_to`, too; and it shows addresses in memory.
    let changes = expected.contains("\"knockout_prefix\" => ") || expected.contains("#<Puppet::Pops::");
    let (expected, text) =
        if changes { (without_found(expected), without_found(&text)) } else { (expected.to_owned(), text) };
    if expected != text {
        return Some(difference(&expected, &text));
    }
    let data = asked.get("data").filter(|_| puppet == Puppet::V7 && !changes)?;
    let (expected, data) =
        (json::compact(data), json::compact(&told.explained.data(Places::Hidden)).replace("/outside/", ""));
    let at = expected.bytes().zip(data.bytes()).take_while(|(a, b)| a == b).count();
    let from = |text: &str| text.chars().skip(at.saturating_sub(60)).take(160).collect::<String>();
    (expected != data).then(|| format!("  data\n  Puppet: {}\n  hierad: {}", from(&expected), from(&data)))
}

fn check_topic(path: &Path, puppet: Puppet) -> (usize, Vec<String>) {
    let cases = cases(&vectors("lookup").join(path.file_name().unwrap()));
    let mut count = 0;
    let mut failures = Vec::new();
    for entry in recorded(path) {
        let name = text(&entry, "name");
        let case = cases.iter().find(|case| text(case, "name") == name).unwrap_or_else(|| panic!("no case {name}"));
        if DEPARTURES.contains(&name) {
            continue;
        }
        let profiles = Case(case).profiles();
        for asked in list(&entry, "explained") {
            count += 1;
            let told = explain(&Case(case), &profiles, asked, puppet);
            if let Some(difference) = compare(asked, &told, puppet) {
                let keys = json::compact(asked.get("keys").unwrap());
                failures.push(format!("{} / {name} / {puppet:?} / {keys}\n{difference}", path.display()));
            }
        }
    }
    (count, failures)
}

fn check_all(puppet: Puppet) {
    let mut count = 0;
    let mut failures = Vec::new();
    for entry in fs::read_dir(vectors("explain")).unwrap() {
        let (explained, failed) = check_topic(&entry.unwrap().path(), puppet);
        count += explained;
        failures.extend(failed);
    }
    assert!(failures.is_empty(), "{} of {count} lookups differ:\n{}", failures.len(), failures.join("\n"));
    assert!(count > 150, "only {count} lookups");
}

#[test]
fn explanations_are_those_of_puppet_7() {
    check_all(Puppet::V7);
}

#[test]
fn explanations_are_those_of_puppet_8() {
    check_all(Puppet::V8);
}
