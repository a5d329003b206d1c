//! YAML is read as the real Puppet read it when `tests/puppet/record_yaml.rb` ran.

use std::path::PathBuf;

use hierad::puppet::document::{FaultKind, Marks};
use hierad::puppet::json;
use hierad::puppet::yaml;
use hierad::visible::visible_json;
use serde_json::Value;

/// The cases of a file of vectors, each with its input.
pub(crate) fn cases(name: &str) -> Vec<(Vec<u8>, Value)> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
    cases_of(&std::fs::read_to_string(path).expect("the vectors are there"))
}

/// The same of the text of such a file.
pub(crate) fn cases_of(text: &str) -> Vec<(Vec<u8>, Value)> {
    text.lines()
        .map(|line| {
            let case: Value = serde_json::from_str(line).expect("a vector is JSON");
            (input(&case), case)
        })
        .collect()
}

fn input(case: &Value) -> Vec<u8> {
    match (case["in"].as_str(), case["in64"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(base64)) => match yaml::parse(format!("!!binary {base64}").as_bytes()).value {
            hierad::value::Value::Bytes(bytes) => bytes.to_vec(),
            other => other.as_str().expect("base64").as_bytes().to_vec(),
        },
        _ => panic!("a case has an input: {case}"),
    }
}

/// The marks in the form of the vectors: a line and a tree for each child.
fn lines(marks: &Marks) -> Value {
    marks.children.iter().map(|child| Value::Array(vec![child.line.into(), lines(child)])).collect()
}

fn difference(input: &[u8], case: &Value) -> Option<String> {
    let parsed = yaml::parse(input);
    let recorded = |name: &str| case[name].as_str();
    if let Some(fault) = parsed.fault {
        let message = fault.message("data.yaml");
        let as_recorded = match fault.kind {
            FaultKind::Limit => case["endless"] == true,
            _ => recorded("error") == Some(&message),
        };
        return (!as_recorded).then_some(message);
    }
    let mut text = String::new();
    json::write(&parsed.value, &mut text);
    // Ruby leaves some active characters as they are; hierad writes escapes.
    let is_recorded = |name: &str, text: &str| recorded(name).is_some_and(|recorded| visible_json(recorded) == text);
    if !is_recorded("value", &text) {
        return Some(text);
    }
    let shown = parsed.value.inspect();
    if recorded("inspect").is_some_and(|inspect| inspect != shown) {
        return Some(shown);
    }
    let found = lines(&parsed.marks);
    if case.get("lines").is_some_and(|lines| *lines != found) {
        return Some(found.to_string());
    }
    let mut strings = String::new();
    json::write(&yaml::symkeys_to_string(parsed.value, parsed.marks).0, &mut strings);
    let name = if recorded("strings").is_some() { "strings" } else { "value" };
    (!is_recorded(name, &strings)).then_some(strings)
}

#[test]
fn yaml_is_read_as_by_puppet() {
    let cases = cases("yaml.ndjson");
    assert!(cases.len() > 300);
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(input, case)| Some(format!("{case}\n  here: {}", difference(input, case)?)))
        .collect();
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
