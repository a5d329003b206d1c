//! Conversions as the real Puppet made them when `tests/puppet/record_convert.rb` ran.

use std::fs;
use std::path::Path;

use hierad::hiera::LookupError;
use hierad::hiera::convert::convert;
use hierad::puppet::ErrorKind;
use hierad::puppet::Ruby;
use hierad::puppet::json;
use hierad::puppet::types::{check_type, parse};
use hierad::value::Value;

use crate::support::rich::{decode, revealed};

/// Returns hierad's answer in the form of a recorded one, or `None` if it is unknown.
fn answer(request: &Value) -> Option<Value> {
    let value = decode(request.get("value").expect("a value"));
    let made = match request.get("type") {
        Some(kind) => parse(kind.as_str().expect("a text"))
            .and_then(|kind| check_type("Found value", &value, &kind))
            .map(|()| value)
            .map_err(LookupError::from),
        None => convert(value, &decode(request.get("convert_to").expect("what to convert to")), "k", Ruby::V3_1),
    };
    match made {
        Ok(value) => Some(Value::hash([("value", value)].into_iter().collect())),
        Err(error) if error.kind == ErrorKind::Unknown => None,
        Err(error) => Some(Value::hash([("error", Value::from(error.text))].into_iter().collect())),
    }
}

/// The same value in its written form, read again.
fn written(value: &Value) -> Value {
    json::parse(json::compact(&revealed(value)).as_bytes()).value
}

/// Returns a recorded answer with the start of its error, which is the same for all.
fn whole(answer: &Value) -> Value {
    let Some(text) = answer.get("raised").and_then(Value::as_str) else { return answer.clone() };
    let text = format!("The convert_to lookup_option for key 'k' raised error: {text}");
    Value::hash([("error", Value::from(text))].into_iter().collect())
}

struct Count {
    all: usize,
    unknown: usize,
    wrong: Vec<String>,
    other_words: Vec<String>,
}

fn check(path: &Path, puppet: &str, count: &mut Count) {
    let content = fs::read_to_string(path).unwrap();
    for line in content.lines() {
        let record = json::parse(line.as_bytes()).value;
        let expected = &whole(record.get(puppet).or(record.get("puppet")).expect("an answer"));
        count.all += 1;
        let Some(ours) = answer(&record) else {
            count.unknown += 1;
            continue;
        };
        let ours = written(&ours);
        if ours == *expected {
            continue;
        }
        let both_fail = ours.get("error").is_some() && expected.get("error").is_some();
        let text = format!("{}\n  {line}\n  hierad: {}", path.display(), json::compact(&ours));
        if both_fail { count.other_words.push(text) } else { count.wrong.push(text) }
    }
}

fn check_all(puppet: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/convert");
    let mut count = Count { all: 0, unknown: 0, wrong: Vec::new(), other_words: Vec::new() };
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "ndjson") {
            check(&path, puppet, &mut count);
        }
    }
    println!("{} cases, {} unknown, {} in other words", count.all, count.unknown, count.other_words.len());
    assert!(count.wrong.is_empty(), "{} wrong:\n{}", count.wrong.len(), count.wrong.join("\n"));
    assert!(count.all > 1000, "only {} cases", count.all);
    assert!(count.unknown * 50 < count.all, "{} of {} unknown", count.unknown, count.all);
    assert!(count.other_words.is_empty(), "in other words:\n{}", count.other_words.join("\n"));
}

#[test]
fn conversions_are_those_of_puppet_7() {
    check_all("puppet7");
}

#[test]
fn conversions_are_those_of_puppet_8() {
    check_all("puppet8");
}
