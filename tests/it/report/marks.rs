//! The forms of reports that mark lines or make cases of changes: SARIF, test results, workflow commands.

use std::sync::LazyLock;

use hierad::report::writers::{github, junit, sarif};
use hierad::report::{BlindSpot, ChangedLines, Effect, FileChange, LeafOrigins, NoEffect, Remedy, Report, Side};
use roxmltree::Document;
use serde_json::Value as Json;

use super::forms::{HOSTILE, hostile};
use crate::support::schema::Schema;
use hierad::diagnostic::Place;

static SARIF: LazyLock<Schema> = LazyLock::new(|| {
    let schema = serde_json::from_str(include_str!("../../forms/sarif.schema.json")).unwrap();
    Schema::new(schema)
});

type Write = fn(&Report, &mut dyn std::io::Write) -> std::io::Result<()>;

pub(super) fn written(report: &Report, write: Write) -> String {
    let mut out = Vec::new();
    write(report, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Returns the SARIF form, which is as SARIF's own schema says, and whose results have rules.
pub(super) fn checked_sarif(report: &Report) -> String {
    let text = written(report, sarif::write);
    let log: Json = serde_json::from_str(&text).unwrap();
    SARIF.check(&log);
    let run = &log["runs"][0];
    for result in run["results"].as_array().unwrap() {
        let rule = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][rule]["id"], result["ruleId"], "{log:#}");
    }
    text
}

/// Returns the test results, whose counts are those of its cases.
pub(super) fn checked_junit(report: &Report) -> String {
    let text = written(report, junit::write);
    let document = Document::parse(&text).unwrap_or_else(|fault| panic!("{fault} in {text}"));
    let root = document.root_element();
    let found = |name: &str, below: roxmltree::Node| below.descendants().filter(|node| node.has_tag_name(name)).count();
    for suite in [root].into_iter().chain(root.children().filter(roxmltree::Node::is_element)) {
        for (count, name) in [("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")] {
            assert_eq!(suite.attribute(count).unwrap(), found(name, suite).to_string(), "{count} in {text}");
        }
        assert!(found("testcase", suite) > 0, "{text}");
    }
    text
}

/// A report of hostile data with a blind spot and lines of each side.
fn marked() -> Report {
    let mut report = hostile();
    let spot =
        BlindSpot { code: "unmatched", headline: HOSTILE.into(), message: HOSTILE.into(), ..BlindSpot::default() };
    report.blind_spots.push(BlindSpot { fix: Some(Remedy::with_yaml("a", format!("\n::error::{HOSTILE}"))), ..spot });
    let lines = |line, last, side, effect| {
        let place = Place::line("data/a.yaml", line);
        ChangedLines {
            place,
            last,
            file: FileChange::Edited,
            side,
            effect,
            with: Vec::new(),
            keys: Vec::new(),
            text: Vec::new(),
        }
    };
    let changes = Effect::Changes { keys: [HOSTILE.into()].into(), nodes: report.changes[0].nodes.clone() };
    report.lines = vec![
        lines(2, 2, Side::Before, changes.clone()),
        lines(3, 4, Side::After, changes),
        lines(9, 9, Side::After, Effect::None(NoEffect::Shadowed(Place::line("data/[b](x).yaml", 1)).into())),
        lines(12, 12, Side::After, Effect::None(NoEffect::Equal.into())),
    ];
    let traced = LeafOrigins { lines: Some(vec![0, 1]), ..LeafOrigins::default() };
    report.changes[0].leaves[0].traced = Some(Box::new(traced));
    report
}

#[test]
fn marks_are_at_causing_lines_and_those_without_effect() {
    let found: Vec<_> = marked().annotations().into_iter().map(|mark| (mark.code, mark.lines, mark.message)).collect();
    let [change, shadowed] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((change.0, change.1), ("changed-value", Some((3, 4))));
    assert!(change.2.ends_with(".value changed on the only node"), "{}", change.2);
    let expected = ("no-effect", Some((9, 9)), "no effect: shadowed by data/[b](x).yaml:1".to_owned());
    assert_eq!(shadowed, &expected);
}

#[test]
fn data_is_no_command_of_actions() {
    let text = written(&marked(), github::write);
    let begin = ["::notice title=hierad::", "::warning title=hierad%3A blind spot::", "::notice file=data/a.yaml,"];
    assert!(text.lines().all(|line| begin.iter().any(|begin| line.starts_with(begin))), "{text}");
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.contains("%0A::error::"), "{text}");
}

#[test]
fn actions_get_ten_marks_of_a_level_and_the_number_of_others() {
    let mut report = marked();
    let lines = report.lines[2].clone();
    report.lines.extend((20..60).map(|line| ChangedLines {
        place: Place::line("b", line),
        last: line,
        ..lines.clone()
    }));
    let text = written(&report, github::write);
    assert_eq!(text.lines().filter(|line| line.starts_with("::notice ")).count(), 10, "{text}");
    assert!(text.contains("hierad: 33 more at the level notice than a step can show\n"), "{text}");
}

#[test]
fn data_is_no_link_in_sarif() {
    let log: Json = serde_json::from_str(&checked_sarif(&marked())).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let shadowed = results.iter().find(|result| result["ruleId"] == "no-effect").unwrap();
    assert_eq!(shadowed["message"]["text"], "no effect: shadowed by data/\\[b\\](x).yaml:1");
    let notifications = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(notifications[0]["descriptor"]["id"], "unmatched");
}

#[test]
fn data_is_no_markup_in_junit() {
    let text = checked_junit(&marked());
    let document = Document::parse(&text).unwrap();
    let names: std::collections::BTreeSet<&str> =
        document.descendants().filter(roxmltree::Node::is_element).map(|node| node.tag_name().name()).collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["skipped", "system-out", "testcase", "testsuite", "testsuites"]);
    let case = document.descendants().find(|node| node.attribute("name").is_some_and(|name| name.contains("<img")));
    assert!(case.is_some(), "{text}");
}
