//! Comments as a parser of Markdown sees them: whatever the data are, their structure is the one that was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use hierad::diagnostic::{Diagnostic, Place, Severity};
use hierad::diff::{Diff, Reencrypted, changes};
use hierad::fleet::{Answer, Distinction, Effective, Finding, Fleet};
use hierad::hiera::{LookupError, Outcome};
use hierad::node::{NodeId, NodeProfile, NodeSet};
use hierad::report::writers::markdown;
use hierad::report::{
    BlindSpot, ChangeOrigins, ChangedLines, Commit, Effect, FileChange, How, Input, LeafOrigins, NodeNames, Origin,
    Origins, Remedy, Report, Side, UnknownEffect, Verdict,
};
use hierad::value::{Hash, Value, ValuePath};
use hierad::workers::Workers;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::support::random::Random;
use crate::support::values;

/// Pieces of text that mean something in Markdown, in HTML or to a forge.
const PIECES: [&str; 44] = [
    "a",
    "web",
    "42",
    " ",
    "|",
    "`",
    "``",
    "```",
    "~~~",
    "<",
    ">",
    "</details>",
    "</code>",
    "<img src=x>",
    "<script>",
    "![x](http://evil.example/x)",
    "[a](b)",
    "](",
    "@team",
    "#12",
    "https://evil.example/",
    "www.evil.example",
    "a@evil.example",
    "\n\n# head",
    "\n",
    "\r",
    "\t",
    "- ",
    "* ",
    "1. ",
    "***",
    "---",
    "\\",
    "&lt;",
    "&#64;",
    "<!--",
    "-->",
    "\u{202e}",
    "\u{1b}[1m",
    "$x$",
    "~~",
    "__",
    "!5",
    "é",
];

/// The base of all links.
const BASE: &str = "https://git.example/o/r/blob/0123456789/";

fn text(random: &mut Random) -> String {
    (0..=random.below(6)).map(|_| *random.pick(&PIECES)).collect()
}

fn value(random: &mut Random) -> Value {
    match random.below(5) {
        0 => (0..random.below(4)).map(|_| Value::from(text(random))).collect(),
        1 => {
            let entries = (0..random.below(5)).map(|_| (Value::from(text(random)), Value::from(text(random))));
            Value::hash(entries.collect::<Vec<_>>().into_iter().collect::<Hash>())
        }
        2 => Value::Integer(i64::try_from(random.below(3)).unwrap()),
        _ => Value::from(text(random)),
    }
}

fn effective(random: &mut Random, keys: &[String], nodes: usize) -> Effective {
    let mut effective = Effective::default();
    for key in keys {
        let sets: Vec<NodeSet> = match random.below(3) {
            0 => vec![(0..nodes).collect()],
            at => [0, 1].map(|rest| (0..nodes).filter(|node| node % (at + 1) == rest).collect()).to_vec(),
        }
        .into_iter()
        .map(|nodes: Vec<usize>| nodes.into_iter().map(|node| NodeId(u32::try_from(node).unwrap())).collect())
        .collect();
        let answers = sets.into_iter().map(|set| {
            let outcome = match random.below(6) {
                0 => Outcome::Failed(LookupError::puppet(text(random)).at(Place::line(&*text(random), 7))),
                _ => Outcome::Found(value(random)),
            };
            Answer::new(set, Arc::new(outcome))
        });
        effective.keys.insert(key.as_str().into(), answers.collect());
    }
    effective
}

/// A report of random data with so many findings, blind spots and secrets that were encrypted anew.
fn report(random: &mut Random, lists: [usize; 3]) -> Report {
    let nodes = random.below(12) + 2;
    let profiles = (0..nodes).map(|node| NodeProfile {
        name: format!("{}{node}", text(random)).into(),
        variables: [(Value::from("site"), Value::from(text(random).as_str()))].into_iter().collect(),
        ..NodeProfile::default()
    });
    let fleet = Arc::new(Fleet::new(profiles.collect::<Vec<_>>()));
    let keys: Vec<String> = (0..=random.below(8)).map(|_| text(random)).collect();
    let (before, after) = (effective(random, &keys, fleet.len()), effective(random, &keys, fleet.len()));
    let mut changes = changes(Diff::new(&before, &after), &Workers::of(1));
    let mut origin = |_: &_| {
        let mut one =
            || Some(Origin { place: Place::line(&*text(random), 3), level: text(random).into(), how: How::default() });
        LeafOrigins { origin: Diff::new(one(), one()), ..LeafOrigins::default() }
    };
    let leaves = changes.changes.iter().map(|change| change.leaves.iter().map(&mut origin).collect());
    let origins = leaves.map(|leaves| ChangeOrigins { leaves, ..ChangeOrigins::default() }).collect();
    let commit = |random: &mut Random| Commit { id: text(random), summary: text(random), ..Commit::default() };
    let finding = |random: &mut Random| Finding {
        diagnostic: Diagnostic::new(Severity::Error, "code", Some(Place::line(&*text(random), 1)), text(random)),
        nodes: NodeSet::new(),
    };
    let findings: Vec<Finding> = (0..lists[0]).map(|_| finding(random)).collect();
    let secret = |random: &mut Random| Reencrypted {
        key: text(random).into(),
        path: ValuePath::default(),
        outcome: Arc::new(Outcome::NotFound),
        nodes: fleet.all(),
    };
    changes.reencrypted = (0..lists[2]).map(|_| secret(random)).collect();
    let spot = |random: &mut Random| BlindSpot {
        code: "spot",
        headline: text(random),
        message: text(random),
        fix: Some(Remedy::with_yaml(text(random), text(random))),
        is_standing: random.below(2) == 0,
        ..BlindSpot::default()
    };
    let unread = |random: &mut Random, line: u32| ChangedLines {
        place: Place::line(&*text(random), line),
        last: line,
        file: *random.pick(&[FileChange::Edited, FileChange::New, FileChange::Deleted]),
        side: *random.pick(&[Side::Before, Side::After]),
        effect: Effect::Unknown(UnknownEffect::Unreached),
        with: Vec::new(),
        keys: vec![text(random).into()],
        text: (0..random.below(3)).map(|_| text(random)).collect(),
    };
    let lines = (0..lists[1]).map(|line| unread(random, u32::try_from(line).unwrap() + 1)).collect();
    Report::new(Input {
        distinctions: Distinction::of(&fleet, ["site"]),
        commit: Diff::new(Some(commit(random)), Some(commit(random))),
        nodes: fleet.all(),
        names: NodeNames::new(fleet),
        keys: keys.len(),
        former_keys: keys.len(),
        changes,
        uses: BTreeMap::new(),
        origins: Origins { changes: origins, lines, ..Origins::default() },
        disclosure: &values::disclosure(),
        findings: Diff::new(&[][..], &findings),
        blind_spots: (0..lists[1]).map(|_| spot(random)).collect(),
        is_unreadable: Diff::default(),
    })
}

/// The structure of a comment.
#[derive(Debug, Default, PartialEq)]
struct Structure {
    headings: usize,
    tables: usize,
    rows: usize,
    blocks: usize,
    details: usize,
    items: usize,
}

/// Takes a comment apart; fails on anything that no comment has.
fn structure(comment: &str) -> Structure {
    let mut found = Structure::default();
    let mut cells = 0;
    for event in Parser::new_ext(comment, Options::all()) {
        match event {
            Event::Start(Tag::Heading { .. }) => found.headings += 1,
            Event::Start(Tag::Table(_)) => found.tables += 1,
            Event::Start(Tag::TableRow) => (found.rows, cells) = (found.rows + 1, 0),
            Event::Start(Tag::TableCell) => cells += 1,
            Event::End(TagEnd::TableRow) => assert_eq!(cells, 3, "{comment}"),
            Event::Start(Tag::CodeBlock(_)) => found.blocks += 1,
            Event::Start(Tag::Item) => found.items += 1,
            Event::Start(Tag::Link { dest_url, .. }) => assert!(dest_url.starts_with(BASE), "{dest_url}:\n{comment}"),
            Event::Html(html) | Event::InlineHtml(html) => {
                found.details += html.matches("<details").count();
                let tags = ["<details>", "<details open>", "</details>", "<summary>", "</summary>", "<br>", "<!-- -->"];
                let inline = ["<code>", "</code>", "<sub>", "</sub>"];
                let rest = tags.iter().chain(&inline).fold(html.to_string(), |rest, tag| rest.replace(tag, ""));
                assert!(!rest.contains(['<', '>']), "{rest}:\n{comment}");
            }
            Event::Start(Tag::Paragraph | Tag::TableHead | Tag::HtmlBlock | Tag::Strong | Tag::List(None))
            | Event::End(_)
            | Event::Text(_)
            | Event::Code(_)
            | Event::SoftBreak => {}
            other => panic!("{other:?}:\n{comment}"),
        }
    }
    found
}

/// Fails if a forge would make a link of a text that is no link.
fn check_addresses(comment: &str) {
    let mut fence: Option<&str> = None;
    for line in comment.lines().map(str::trim_start) {
        match fence {
            Some(end) if line == end => fence = None,
            Some(_) => {}
            None if line.starts_with("```") => fence = Some(line.trim_end_matches("diff")),
            None => {
                let link = format!("]({BASE}");
                let parts = line.split(&link).enumerate();
                let unlinked: String =
                    parts.map(|(at, part)| if at == 0 { part } else { part.split_once(')').unwrap().1 }).collect();
                let outside: String = unlinked.split('`').step_by(2).collect();
                assert!(!outside.contains("://") && !outside.contains("www."), "{line}");
                assert!(!outside.contains('@'), "{line}");
            }
        }
    }
}

#[test]
fn nothing_in_the_data_breaks_out_of_a_comment() {
    let mut random = Random::new(21);
    let (mut groups, mut all_details) = (0, 0);
    for round in 0..600 {
        let with_lists = round % 2 == 0;
        let report = report(&mut random, if with_lists { [2, 1, 0] } else { [0; 3] });
        let options = markdown::Options { budget: 1_000_000, link_base: Some(BASE.into()), report_url: None };
        let mut out = Vec::new();
        markdown::write(&report, &options, &mut out).unwrap();
        let comment = String::from_utf8(out).unwrap();
        let found = structure(&comment);
        let shown = report.groups.len() + report.causes.len();
        groups += shown;
        let has_text = report.lines.iter().any(|lines| !lines.text.is_empty());
        let folds = report.blind_spots.iter().filter(|s| s.is_standing || report.verdict() == Verdict::Changes).count();
        // Of some groups the table says all.
        let details = found.details - folds;
        assert!((report.causes.len()..=shown).contains(&details), "{comment}");
        all_details += details;
        let expected = Structure {
            headings: 1,
            tables: usize::from(shown > 0),
            rows: shown,
            blocks: details + usize::from(with_lists) + usize::from(has_text),
            details: details + folds,
            items: usize::from(with_lists) * (1 + report.findings.len() + usize::from(!has_text)),
        };
        assert_eq!(found, expected, "{comment}");
        check_addresses(&comment);
    }
    assert!(groups > 1000 && all_details > groups / 2 && all_details < groups, "{groups} {all_details}");
}

/// The number of groups and causes that do not fit the table of a comment.
fn rows_beyond(comment: &str) -> usize {
    let rest = comment.split_once("| … | ").map_or("0 ", |(_, rest)| rest);
    rest.split(' ').next().unwrap().parse().unwrap()
}

/// The number of groups and causes that have details if there is room: all of which a row does not say all, and the
/// last ones for which the table has no row.
fn detailed(report: &Report, beyond: usize) -> usize {
    let mut last = report.clone();
    let groups = beyond.min(report.groups.len());
    last.groups.drain(..report.groups.len() - groups);
    last.causes.drain(..report.causes.len() - (beyond - groups));
    let of_last = if beyond > 0 { detailed_in_rows(&last) } else { 0 };
    detailed_in_rows(report) - of_last + beyond
}

/// The number of groups and causes that have details if each has a row.
fn detailed_in_rows(report: &Report) -> usize {
    let mut out = Vec::new();
    markdown::write(report, &markdown::Options { budget: 10_000_000, ..Default::default() }, &mut out).unwrap();
    let folds = [false, true].map(|is_standing| report.spots(is_standing).count() > 0);
    let folds = usize::from(folds[0] && report.verdict() == Verdict::Changes) + usize::from(folds[1]);
    // More than three lines without text are folded, too.
    let folds = folds + usize::from(report.lines.iter().filter(|lines| lines.text.is_empty()).count() > 3);
    // No line of data begins so.
    let comment = String::from_utf8(out).unwrap();
    comment.lines().filter(|line| line.starts_with("<details")).count() - folds
}

#[test]
fn comments_of_any_budget_are_whole() {
    let mut random = Random::new(22);
    let mut long = 0;
    for round in 0..400 {
        let lists = [0; 3].map(|none| if round % 2 == 0 { random.below(200) } else { none });
        let report = report(&mut random, lists);
        let budget = random.below(9000);
        let report_url = Some(format!("{BASE}{}", "long/".repeat(random.below(100))));
        let options = markdown::Options { budget, link_base: Some(BASE.into()), report_url };
        let mut out = Vec::new();
        markdown::write(&report, &options, &mut out).unwrap();
        let comment = String::from_utf8(out).unwrap();
        assert!(comment.chars().count() <= budget, "{} > {budget}: {comment}", comment.chars().count());
        let Some(body) = comment.strip_prefix("### ") else { continue };
        let found = structure(&comment);
        let needed = detailed(&report, rows_beyond(&comment));
        assert!(found.details >= needed || comment.contains(&format!("of {needed} group")), "{needed}: {comment}");
        // The number of what is in each list stands even where nothing of it fits.
        let counts = [(report.findings.len(), "new finding"), (lists[2], "secret")];
        let spots = [(false, "blind spot"), (true, "standing blind spot")];
        let spots = spots.map(|(is_standing, what)| (report.spots(is_standing).count(), what));
        for (count, what) in counts.into_iter().chain(spots).filter(|(count, _)| *count > 0) {
            let plural = if count == 1 { "" } else { "s" };
            assert!(body.contains(&format!("{count} {what}{plural}")), "{count} {what}: {comment}");
        }
        assert!(report.keys.changed == 0 || !body.starts_with("no "), "{comment}");
        long += 1;
    }
    assert!(long > 200, "{long}");
}
