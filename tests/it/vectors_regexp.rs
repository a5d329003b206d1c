//! Regular expressions match and are written as the real Ruby did when `tests/puppet/record_regexp.rb` ran.

use hierad::puppet::ErrorKind;
use hierad::puppet::json;
use hierad::puppet::regex::RubyRegex;
use hierad::value::Value;
use hierad::value::rich::{Rich, regexp};

use crate::support::rich::decode;

/// Returns if it matches; where hierad does not know, Ruby's answer.
fn matches(regex: &RubyRegex, text: &Value, ruby: bool, unknown: &mut usize) -> bool {
    let found = match text {
        Value::Bytes(bytes) => regex.is_match_bytes(bytes),
        text => regex.is_match(text.as_str().expect("a text")),
    };
    found.unwrap_or_else(|error| {
        let is_unknown = error.kind == ErrorKind::Unknown;
        *unknown += usize::from(is_unknown);
        is_unknown && ruby
    })
}

/// Ruby's error for an expression, or its matches.
fn answer(source: &str, texts: &[Value], ruby: &[Value], unknown: &mut usize) -> Result<Vec<i64>, Value> {
    let regex = RubyRegex::compile(source).map_err(|error| Value::from(error.text))?;
    let matching = (0_i64..)
        .zip(texts)
        .filter(|(index, text)| matches(&regex, text, ruby.contains(&Value::from(*index)), unknown));
    Ok(matching.map(|(index, _)| index).collect())
}

#[test]
fn expressions_are_those_of_ruby() {
    let recorded = json::parse(include_bytes!("../vectors/regexp.json")).value;
    let list = |value: &Value, name: &str| value.get(name).and_then(Value::as_array).expect("a list").to_vec();
    let texts: Vec<Value> = list(&recorded, "texts").iter().map(decode).collect();
    let (mut unknown, mut open, mut wrong) = (0, 0, Vec::new());
    for expression in list(&recorded, "expressions") {
        let source = expression.get("source").and_then(Value::as_str).expect("a source");
        let rich = Rich::Regexp(source.into());
        let matching = expression.get("matches").and_then(Value::as_array).unwrap_or_default();
        let ours = match answer(source, &texts, matching, &mut open) {
            Err(text) if text.as_str().is_some_and(|text| text.starts_with("unknown to hierad")) => {
                unknown += 1;
                continue;
            }
            Err(text) => [("source", Value::from(source)), ("error", text)].into_iter().collect(),
            Ok(matching) => [
                ("source", Value::from(source)),
                ("to_s", rich.to_text().into()),
                ("inspect", rich.inspect().into()),
                ("puppet", [regexp::text(source), regexp::slashed(source)].map(Value::from).into_iter().collect()),
                ("matches", matching.into_iter().map(Value::from).collect()),
            ]
            .into_iter()
            .collect(),
        };
        let ours = Value::hash(ours);
        if ours != expression {
            wrong.push(format!("Ruby:   {}\nhierad: {}", json::compact(&expression), json::compact(&ours)));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(unknown < 100, "{unknown} expressions unknown");
    assert!(open < 15_000, "{open} matches unknown");
    println!("{unknown} expressions and {open} matches unknown");
}

#[test]
fn properties_are_those_of_ruby() {
    let recorded = json::parse(include_bytes!("../vectors/regexp.json")).value;
    let properties = recorded.get("properties").and_then(Value::as_hash).expect("properties");
    assert!(properties.len() == 18);
    let mut wrong = Vec::new();
    for (name, runs) in properties.iter() {
        let regex = RubyRegex::compile(&format!("\\p{{{}}}", name.as_str().expect("a name"))).unwrap();
        let has = |c: &char| regex.is_match(&c.to_string()).unwrap();
        let ours: Vec<i64> = ('\0'..'\u{530}').filter(has).map(|c| i64::from(u32::from(c))).collect();
        let code = |run: &Value, at: usize| match run.as_array().and_then(|run| run.get(at)) {
            Some(Value::Integer(code)) => *code,
            _ => panic!("a run of characters: {run:?}"),
        };
        let runs = runs.as_array().expect("runs");
        let theirs: Vec<i64> = runs.iter().flat_map(|run| code(run, 0)..=code(run, 1)).collect();
        if ours != theirs {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
