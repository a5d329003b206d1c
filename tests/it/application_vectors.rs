//! `hierad lookup` against the output and exit status of the real `puppet lookup` of Puppet 7 and 8:
//! `tests/vectors/application`, recorded by `tests/puppet/record_application.rb`.

use std::fs;
use std::path::Path;

use hierad::puppet::{json, yaml};
use hierad::value::Value;
use regex::Regex;

use crate::support::Sandbox;
use crate::support::terminal::{Printed, hierad};

/// Errors that hierad has its own words for, by words of Puppet's: on reading files of facts.
const OTHER_WORDS: [&str; 4] = [
    "Incorrectly formatted data in ",
    "No such file or directory @ rb_sysopen",
    "(broken.yaml): did not find expected node content",
    "No facts available for target node: nobody",
];

/// Departures, by words of Puppet's: a node may have no facts; trusted facts are `remote` here.
const DEPARTURES: [&str; 2] = ["No facts available for target node: bare", "\"authenticated\" => \"local\""];

/// The parts of hierad's explanations that Puppet's have not: the answer before them, and parts of lines.
struct Additions([Regex; 3]);

impl Additions {
    fn new() -> Additions {
        let patterns = [r"(?s)\A.*How it was found\n", r"(?m) \([^ ():]+:\d+\)$", r#"(?m)^ *:line: \d+\n|,"line":\d+"#];
        Additions(patterns.map(|pattern| Regex::new(pattern).unwrap()))
    }

    fn taken_from(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, addition| addition.replace_all(&text, "").into_owned())
    }
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).unwrap_or_else(|| panic!("no {field}"))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_else(|| panic!("no {field}"))
}

/// Returns Puppet's output.
fn recorded(run: &Value, version: &str) -> Printed {
    let other = run.get("puppet8").filter(|_| version == "8");
    let field = |name: &str| other.and_then(|other| other.get(name)).or_else(|| run.get(name)).unwrap();
    let text = |name: &str| field(name).as_str().unwrap().to_owned();
    Printed { status: i32::from(field("status") != &Value::from(0)), out: text("out"), err: text("err") }
}

/// The case's files and profiles, with nothing else.
fn site(case: &Value) -> Sandbox {
    let site = Sandbox::new();
    let mut files: Vec<(&str, String)> = Vec::new();
    for line in text(case, "fixture").split_inclusive('\n') {
        match (line.strip_prefix("-- "), files.last_mut()) {
            (Some(path), _) => files.push((path.trim_end(), String::new())),
            (None, Some((_, content))) => content.push_str(line),
            (None, None) => panic!("no file for {line:?}"),
        }
    }
    for (path, content) in files {
        site.write(path, content);
    }
    site.commit("first");
    let profiles: Vec<String> = list(case, "profiles").iter().map(json::compact).collect();
    fs::write(site.beside("profiles.ndjson"), profiles.join("\n")).unwrap();
    site
}

/// Returns the first line of the error that ends `puppet lookup`, or `None` if it ends without one.
fn complaint(err: &str) -> Option<String> {
    let text = err.strip_prefix("Error: Could not run: ")?.lines().next().unwrap_or_default();
    Some(text.trim_end().to_owned())
}

/// Returns true if two explanations in YAML are the same data: Ruby writes a value that it meets twice as an alias.
fn is_same_data(puppet: &str, ours: &str) -> bool {
    let data = |text: &str| yaml::parse(text.as_bytes()).value;
    puppet.starts_with("---\n:") && data(puppet) == data(ours)
}

fn differences(puppet: &Printed, ours: &Printed, additions: &Additions) -> Vec<String> {
    if DEPARTURES.iter().any(|words| puppet.out.contains(words) || puppet.err.contains(words)) {
        return Vec::new();
    }
    let complaint = complaint(&puppet.err);
    let told_at_the_end =
        |words: &String| ours.status == 0 && [&ours.out, &ours.err].iter().any(|text| text.contains(&**words));
    if complaint.as_ref().is_some_and(told_at_the_end) {
        // An error that ends Puppet without a story is told at the end of one, or beside its data.
        return Vec::new();
    }
    let mut found = Vec::new();
    if puppet.status != ours.status {
        found.push(format!("status {} in Puppet, {} here", puppet.status, ours.status));
    }
    let out = additions.taken_from(&ours.out);
    if puppet.out != out && !is_same_data(&puppet.out, &out) {
        found.push(format!("Puppet prints\n{}\nhierad prints\n{out}", puppet.out));
    }
    match complaint {
        Some(words) if !ours.err.contains(&words) && !OTHER_WORDS.iter().any(|other| words.contains(other)) => {
            found.push(format!("Puppet says {words:?}, hierad {:?}", ours.err));
        }
        None if puppet.status != 0 && ours.err.is_empty() => found.push("no word of what is wrong".to_owned()),
        _ => {}
    }
    found
}

fn check_all(version: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/application");
    let additions = Additions::new();
    let mut count = 0;
    let mut failures = Vec::new();
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
        for case in json::parse(&fs::read(&path).unwrap()).value.as_array().unwrap() {
            let site = site(case);
            for run in list(case, "runs") {
                let arguments: Vec<&str> = list(run, "arguments").iter().map(|text| text.as_str().unwrap()).collect();
                let mut command = hierad(site.root());
                command.args(["lookup", "--puppet", version, "--profiles", "../profiles.ndjson"]).args(&arguments);
                let ours = site.masked(&mut command);
                let found = differences(&recorded(run, version), &ours, &additions);
                failures.extend(found.iter().map(|text| format!("{} {arguments:?}: {text}", self::text(case, "name"))));
                count += 1;
            }
        }
    }
    assert!(failures.is_empty(), "{} differences in {count} runs:\n{}", failures.len(), failures.join("\n"));
    assert!(count > 150, "only {count} runs");
}

#[test]
fn output_is_that_of_puppet_7() {
    check_all("7");
}

#[test]
fn output_is_that_of_puppet_8() {
    check_all("8");
}
