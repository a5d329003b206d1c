//! Reports of small changes, as every writer gives them out: `tests/golden/report/CASE/`.
//!
//! A case's `case.yaml` has `nodes`, what they get `before` and `after`, and optionally their `variables`, of which
//! those that hiera.yaml `reads` describe them, the `classes` of keys, `commits`, `branch`, `keys`, `origins`,
//! `findings`, `forms` (the files to write; by default text, JSON and Markdown), `budget`, and `never`, a word that no
//! file may show.

mod alike;
mod by_node;
mod comments;
mod descriptions;
pub(crate) mod forms;
mod marks;
mod properties;
mod variants;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use hierad::diagnostic::{Diagnostic, Place, Severity};
use hierad::diff::{Diff, changes};
use hierad::fleet::{Distinction, Effective, Finding, Fleet, KeyUse};
use hierad::node::NodeSet;
use hierad::report::writers::{github, json, markdown, text};
use hierad::report::{Commit, How, Input, LeafOrigins, NodeNames, Origin, Origins, Report};
use hierad::workers::Workers;
use serde_yaml::Value as Yaml;

use crate::support::golden::{Golden, cases, folder};
use crate::support::values;

/// The files that a case does not have by default.
const OTHERS: [&str; 4] = ["report.html", "report.sarif", "report.junit.xml", "report.commands"];

#[test]
fn golden_cases() {
    let mut golden = Golden::default();
    for case in cases(&folder("report")) {
        let source = std::fs::read_to_string(case.join("case.yaml")).unwrap();
        let yaml: Yaml = serde_yaml::from_str(&source).unwrap_or_else(|e| panic!("{}: {e}", case.display()));
        check(&case, &yaml, &mut golden);
    }
    golden.finish();
}

fn check(case: &Path, yaml: &Yaml, golden: &mut Golden) {
    let report = report(yaml);
    if !yaml["classes"].is_null() {
        check_classes(&report, yaml);
    }
    let forms = yaml["forms"].as_sequence();
    forms::check_schema(&json(&report, false));
    for (file, actual) in [
        ("text-80.txt", text(&report, text::Options { width: 80, ..text::Options::default() })),
        ("text-120.txt", text(&report, text::Options { width: 120, ..text::Options::default() })),
        ("text-full.txt", text(&report, text::Options { width: 80, full: true, ..text::Options::default() })),
        ("text-color.txt", text(&report, text::Options { width: 100, color: true, ..text::Options::default() })),
        ("report.json", json(&report, true)),
        ("report.html", forms::page(&report, usize::MAX)),
        ("report.sarif", marks::checked_sarif(&report)),
        ("report.junit.xml", marks::checked_junit(&report)),
        ("report.commands", marks::written(&report, github::write)),
        ("report.md", markdown(&report, usize::try_from(yaml["budget"].as_u64().unwrap_or(60_000)).unwrap())),
    ] {
        if let Some(word) = yaml["never"].as_str() {
            assert!(!actual.contains(word), "{}: {file} shows {word}", case.display());
        }
        let is_kept = forms.map_or(!OTHERS.contains(&file), |forms| forms.iter().any(|form| form == file));
        if is_kept {
            golden.check(&case.join(file), &actual);
        }
    }
}

/// Classes change neither the verdict nor any number.
fn check_classes(report: &Report, yaml: &Yaml) {
    let mut plain = yaml.clone();
    plain.as_mapping_mut().unwrap().remove("classes");
    let plain = self::report(&plain);
    assert_eq!(report.verdict(), plain.verdict());
    assert_eq!((report.nodes, report.keys, report.change_count()), (plain.nodes, plain.keys, plain.change_count()));
    assert!(report.changes.len() > plain.changes.len() && report.headline().starts_with(&plain.headline()));
}

fn text(report: &Report, options: text::Options) -> String {
    let mut out = Vec::new();
    text::write(report, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn json(report: &Report, pretty: bool) -> String {
    let mut out = Vec::new();
    json::write(report, json::Options { pretty, full: false }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn markdown(report: &Report, budget: usize) -> String {
    let mut out = Vec::new();
    markdown::write(report, &markdown::Options { budget, ..markdown::Options::default() }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The report of a case.
pub(crate) fn report(yaml: &Yaml) -> Report {
    let names: Vec<String> = serde_yaml::from_value(yaml["nodes"].clone()).unwrap();
    let fleet = values::fleet_with(&names, &yaml["variables"]);
    let reads: Vec<String> = serde_yaml::from_value(yaml["reads"].clone()).unwrap_or_default();
    let before = values::effective(&yaml["before"], &fleet);
    let after = values::effective(&yaml["after"], &fleet);
    let uses = uses(&yaml["classes"], &fleet);
    let findings = Diff::new("before", "after").map(|side| findings(&yaml["findings"][side], &fleet));
    let mut report = Report::new(Input {
        distinctions: Distinction::of(&fleet, reads.iter().map(String::as_str)),
        commit: Diff::new("before", "after").map(|side| commit(&yaml["commits"][side])),
        nodes: fleet.all(),
        names: NodeNames::new(Arc::new(fleet)),
        keys: yaml["keys"].as_u64().map_or_else(|| keys(&before, &after), |n| usize::try_from(n).unwrap()),
        former_keys: yaml["keys"].as_u64().map_or_else(|| keys(&before, &after), |n| usize::try_from(n).unwrap()),
        changes: changes(Diff::new(&before, &after), &Workers::of(1)),
        uses,
        origins: Origins::default(),
        disclosure: &values::disclosure(),
        findings: findings.as_ref().map(Vec::as_slice),
        blind_spots: Vec::new(),
        is_unreadable: Diff::default(),
    });
    report.event = yaml["branch"].as_str().map(values::event);
    for change in &mut report.changes {
        for leaf in &mut change.leaves {
            let path = leaf.change.path().unwrap().below(&change.key);
            let origin = Diff::new("before", "after").map(|side| origin(&yaml["origins"][path.as_str()][side]));
            leaf.traced = Some(Box::new(LeafOrigins { origin, ..LeafOrigins::default() }));
        }
    }
    report
}

/// The classes of keys: `key: {class: NAME, with: [NODE], known: [NODE]}`.
fn uses(yaml: &Yaml, fleet: &Fleet) -> BTreeMap<Arc<str>, KeyUse> {
    let nodes = |yaml: &Yaml| -> NodeSet {
        yaml.as_sequence().unwrap().iter().map(|name| fleet.find(name.as_str().unwrap()).unwrap()).collect()
    };
    let class = |(key, of): (&Yaml, &Yaml)| {
        let class = Some(of["class"].as_str().unwrap().into());
        let (with, known, recorded) = (nodes(&of["with"]), nodes(&of["known"]), NodeSet::new());
        (key.as_str().unwrap().into(), KeyUse { class, with, known, recorded })
    };
    yaml.as_mapping().into_iter().flatten().map(class).collect()
}

fn keys(before: &Effective, after: &Effective) -> usize {
    before.keys.keys().chain(after.keys.keys()).collect::<BTreeSet<_>>().len()
}

fn commit(yaml: &Yaml) -> Option<Commit> {
    let text = |name: &str| yaml[name].as_str().unwrap_or_default().to_owned();
    let time = yaml["time"].as_str().map(Into::into);
    Some(Commit { id: yaml["id"].as_str()?.to_owned(), summary: text("summary"), author: text("author"), time })
}

/// `data/common.yaml:12 Common data`
fn origin(yaml: &Yaml) -> Option<Origin> {
    let (place, level) = yaml.as_str()?.split_once(' ').unwrap();
    Some(Origin { place: self::place(place), level: level.into(), how: How::Value })
}

fn place(text: &str) -> Place {
    match text.split_once(':') {
        Some((path, line)) => Place::line(path, line.parse().unwrap()),
        None => Place::file(text),
    }
}

fn findings(yaml: &Yaml, fleet: &Fleet) -> Vec<Finding> {
    let finding = |yaml: &Yaml| {
        let severity = match yaml["severity"].as_str() {
            Some("error") => Severity::Error,
            Some("warning") => Severity::Warning,
            _ => Severity::Note,
        };
        let code = String::from(yaml["code"].as_str().unwrap()).leak();
        let place = yaml["place"].as_str().map(place);
        let nodes = usize::try_from(yaml["nodes"].as_u64().unwrap_or(0)).unwrap();
        Finding {
            diagnostic: Diagnostic::new(severity, code, place, yaml["text"].as_str().unwrap()),
            nodes: fleet.all().iter().take(nodes).collect(),
        }
    };
    yaml.as_sequence().into_iter().flatten().map(finding).collect()
}
