//! Filters: which reports a sink gets.

use hierad::delivery::{Each, Filter};
use hierad::event::{CommitEvent, PushPart};
use hierad::git::BranchPatterns;
use hierad::report::Report;
use serde_yaml::Value as Yaml;

use crate::report::report;
use crate::support::values::event;

/// `motd` changes on both nodes, `port` on web01 only.
fn change() -> Report {
    let case = "
nodes: [db01, web01]
before: {'*': {motd: 1, ntp: x}, web01: {port: 80}, db01: {port: 5432}}
after: {'*': {motd: 2, ntp: x}, web01: {port: 81}, db01: {port: 5432}}
";
    report(&serde_yaml::from_str::<Yaml>(case).unwrap())
}

fn filter(branches: &[&str], nodes: &[&str], keys: &[&str], minimum: usize) -> Filter {
    let parse = |patterns: &[&str]| patterns.iter().map(|pattern| pattern.parse().unwrap()).collect();
    let (branches, nodes, keys) = (BranchPatterns::new(branches).unwrap(), parse(nodes), parse(keys));
    Filter { branches, nodes, keys, minimum, ..Filter::default() }
}

#[test]
fn filters_select_reports() {
    let report = change();
    assert_eq!(report.changes.len(), 2);
    for (branches, nodes, keys, minimum, expected) in [
        (&[][..], &[][..], &[][..], 0, true),
        (&["main"], &[], &[], 0, true),
        (&["production", "m*"], &[], &[], 0, true),
        (&["production"], &[], &[], 0, false),
        (&[], &[], &[], 2, true),
        (&[], &[], &[], 3, false),
        (&[], &["web*"], &[], 0, true),
        (&[], &["web*"], &[], 2, true),
        (&[], &["db01"], &[], 1, true),
        (&[], &["db01"], &[], 2, false),
        (&[], &["re:^db"], &["port"], 0, false),
        (&[], &["web01"], &["port"], 0, true),
        (&[], &["mail*"], &[], 0, false),
        (&[], &[], &["motd", "port"], 2, true),
        (&[], &[], &["m*"], 2, false),
        (&[], &[], &["ntp"], 0, false),
        (&["main"], &["mail*", "db*"], &["m?td"], 1, true),
        (&["other"], &["db*"], &["motd"], 1, false),
    ] {
        let filter = filter(branches, nodes, keys, minimum);
        assert_eq!(filter.wants("control", &event("main"), &report), expected, "{filter:?}");
    }
}

#[test]
fn repositories_decide() {
    let (report, main) = (change(), event("main"));
    for (repositories, expected) in
        [(&[][..], true), (&["control"], true), (&["data", "con*"], true), (&["data"], false), (&["cont"], false)]
    {
        let repositories = repositories.iter().map(|pattern| pattern.parse().unwrap()).collect();
        let filter = Filter { repositories, ..filter(&["main"], &[], &["motd"], 1) };
        assert_eq!(filter.wants("control", &main, &report), expected, "{filter:?}");
        assert!(!filter.wants("control", &event("other"), &report));
    }
}

#[test]
fn a_report_without_changes_is_one() {
    let nothing =
        report(&serde_yaml::from_str("{nodes: [web01], before: {'*': {a: 1}}, after: {'*': {a: 1}}}").unwrap());
    let main = event("main");
    assert!(Filter::default().wants("control", &main, &nothing));
    assert!(filter(&["main"], &[], &[], 0).wants("control", &main, &nothing));
    assert!(!filter(&[], &[], &[], 1).wants("control", &main, &nothing));
    assert!(!filter(&[], &["*"], &[], 0).wants("control", &main, &nothing));
    assert!(!filter(&[], &[], &["*"], 0).wants("control", &main, &nothing));
}

#[test]
fn commits_or_pushes_are_reported() {
    let report = change();
    for (each, expected) in [(Each::Commit, [true, true, false]), (Each::Push, [true, false, true])] {
        let filter = Filter { each, ..Filter::default() };
        let wants = |part| filter.wants("control", &CommitEvent { part, ..event("main") }, &report);
        assert_eq!([PushPart::Alone, PushPart::One, PushPart::Whole(2)].map(wants), expected);
    }
}
