//! `tests/vectors/specs.yaml`: each scenario of Puppet's own tests of lookup is a recorded case, or left out with a
//! reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hierad::puppet::{json, yaml};
use hierad::value::Value;

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// All recorded cases of a folder, as `TOPIC: NAME` behind a prefix.
fn recorded_in(folder: &str, prefix: &str) -> Vec<String> {
    let topics = fs::read_dir(tests().join("vectors").join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let cases = topics.filter(|path| path.extension().is_some_and(|extension| extension == "json")).flat_map(|path| {
        let topic = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let recorded = json::parse(&fs::read(&path).unwrap()).value;
        let cases = recorded.get("cases").unwrap_or(&recorded);
        let names = cases.as_array().unwrap().iter().map(|case| case.get("name").and_then(Value::as_str).unwrap());
        names.map(|name| format!("{prefix}{topic}: {name}")).collect::<Vec<_>>()
    });
    cases.collect()
}

/// All recorded cases, as the index names them.
fn recorded() -> BTreeSet<String> {
    [recorded_in("lookup", ""), recorded_in("application", "application/")].concat().into_iter().collect()
}

/// Returns the texts of a group of scenarios under `field`.
fn texts<'a>(group: &'a Value, field: &str) -> Vec<&'a str> {
    group.get(field).and_then(Value::as_array).unwrap_or_default().iter().map(|text| text.as_str().unwrap()).collect()
}

#[test]
fn scenarios_are_covered_or_excused() {
    let index = yaml::parse(&fs::read(tests().join("vectors/specs.yaml")).unwrap());
    assert_eq!(index.fault, None);
    let recorded = recorded();
    let mut named = BTreeSet::new();
    let mut problems = Vec::new();
    for (file, groups) in index.value.as_hash().unwrap().iter() {
        for (name, group) in groups.as_hash().unwrap().iter() {
            let place = format!("{}: {}", file.as_str().unwrap(), name.as_str().unwrap());
            let (cases, elsewhere) = (texts(group, "cases"), texts(group, "elsewhere"));
            let reason = group.get("left out").and_then(Value::as_str);
            if cases.is_empty() && elsewhere.is_empty() && reason.is_none() {
                problems.push(format!("{place}: neither covered nor left out"));
            }
            let is_of_puppet = place.starts_with("spec/") && !place.ends_with("(not in the spec)");
            if is_of_puppet != group.get("at").is_some() {
                problems.push(format!("{place}: where is it in the file?"));
            }
            let missing = cases.iter().filter(|case| !recorded.contains(**case));
            problems.extend(missing.map(|case| format!("{place}: no recorded case is {case:?}")));
            let absent = elsewhere.iter().filter(|path| !tests().join(path).exists());
            problems.extend(absent.map(|path| format!("{place}: {path} is not there")));
            named.extend(cases);
        }
    }
    let forgotten = recorded.iter().filter(|case| case.starts_with("spec_") || case.starts_with("application/"));
    let forgotten = forgotten.filter(|case| !named.contains(&***case));
    problems.extend(forgotten.map(|case| format!("{case}: no scenario names it")));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
