//! Writes the report as test results in the XML of `JUnit`, which every CI server shows: a suite for each set of
//! nodes with a case for each key that changes there. Failing keys and policies are failed cases; blind spots and
//! waived policies are skipped ones.

use std::cell::Cell;
use std::fmt::Write as _;
use std::io::{self, Write};

use maud::{Markup, PreEscaped, html};

use crate::diagnostic::{Place, Severity};
use crate::hiera::Outcome;
use crate::report::words::by_node::{Extent, NodeValue};
use crate::report::words::detail::{self, DetailLine, Room};
use crate::report::words::node_list;
use crate::report::words::visible::{shorten, visible, visible_lines};
use crate::report::words::wording::count;
use crate::report::{BlindSpot, Cause, FindingChange, Group, Item, KeyChange, PolicyHit, PolicyLevel, Report};

/// The room for one difference, for an error, and for the names of nodes in the name of a suite.
const ROOM: Room = Room { columns: 160, lines: 40 };
const ERROR_COLUMNS: usize = 2000;
const NAME_COLUMNS: usize = 100;

/// The maximum numbers of differences shown for one key, and of keys named in one case.
const MAX_LEAVES: usize = 100;
const MAX_KEYS: usize = 100;

/// The maximum number of characters of all values by node together.
const MAX_VALUE_CHARACTERS: usize = 32 << 20;

/// Writes the report.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut suites = vec![summary(report)];
    suites.push(Suite { name: "policies".to_owned(), cases: report.policies.iter().map(policy).collect() });
    let room = Cell::new(MAX_VALUE_CHARACTERS);
    suites.extend(report.groups.iter().map(|of| group(report, of, &room)));
    let findings: Vec<Case> = report.findings.iter().filter(|finding| finding.is_new).map(finding).collect();
    suites.push(Suite { name: "findings".to_owned(), cases: findings });
    suites.push(Suite { name: "blind spots".to_owned(), cases: report.blind_spots.iter().map(blind_spot).collect() });
    suites.retain(|suite| !suite.cases.is_empty());
    let total = |count: fn(&Suite) -> usize| suites.iter().map(count).sum::<usize>();
    let page = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        testsuites name="hierad" tests=(total(Suite::tests)) failures=(total(Suite::failures)) errors="0"
            skipped=(total(Suite::skipped)) {
            @for suite in &suites { (PreEscaped("\n")) (suite.markup()) }
        }
    };
    out.write_all(page.into_string().as_bytes())?;
    writeln!(out)
}

struct Suite {
    name: String,
    cases: Vec<Case>,
}

struct Case {
    name: String,
    place: Option<Place>,
    result: CaseResult,
}

enum CaseResult {
    Passed(String),
    Failed { message: String, text: String },
    Skipped(String),
}

impl Suite {
    fn tests(&self) -> usize {
        self.cases.len()
    }

    fn failures(&self) -> usize {
        self.cases.iter().filter(|case| matches!(case.result, CaseResult::Failed { .. })).count()
    }

    fn skipped(&self) -> usize {
        self.cases.iter().filter(|case| matches!(case.result, CaseResult::Skipped(_))).count()
    }

    // Even empty elements are written with braces: maud leaves void elements open, as in HTML.
    fn markup(&self) -> Markup {
        let (name, failures, skipped) = (visible(&self.name), self.failures(), self.skipped());
        html! {
            testsuite name=(name) tests=(self.tests()) failures=(failures) errors="0" skipped=(skipped) {
                @for case in &self.cases { (PreEscaped("\n")) (case.markup(&name)) }
            }
        }
    }
}

impl Case {
    fn markup(&self, suite: &str) -> Markup {
        let path = self.place.as_ref().map(|place| visible(&place.path));
        let line = self.place.as_ref().and_then(|place| place.line);
        html! {
            testcase classname=(suite) name=(visible(&self.name)) file=[path] line=[line] {
                @match &self.result {
                    CaseResult::Passed(text) => { @if !text.is_empty() { system-out { (visible_lines(text)) } } }
                    CaseResult::Failed { message, text } => {
                        failure type="error" message=(visible(message)) { (visible_lines(text)) }
                    }
                    CaseResult::Skipped(why) => { skipped message=(visible(why)) {} }
                }
            }
        }
    }
}

/// Returns the suite of the report as a whole, which is never empty: the verdict, and the errors that keys share.
fn summary(report: &Report) -> Suite {
    let verdict = Case { name: report.headline(), place: None, result: CaseResult::Passed(String::new()) };
    let causes = report.causes.iter().map(|of| cause(report, of));
    Suite { name: "summary".to_owned(), cases: [verdict].into_iter().chain(causes).collect() }
}

/// Returns the case of a policy that is hit: failed, or skipped if it is waived.
fn policy(hit: &PolicyHit) -> Case {
    let text = hit.words();
    let result = match hit.counts_as() {
        Some(PolicyLevel::Failure) => CaseResult::Failed { message: text, text: hit.examples(MAX_KEYS) },
        Some(PolicyLevel::Warning | PolicyLevel::Note) => CaseResult::Passed(text),
        None => CaseResult::Skipped(text),
    };
    Case { name: hit.name.to_string(), place: hit.places.first().cloned(), result }
}

fn cause(report: &Report, cause: &Cause) -> Case {
    let message = shorten(&cause.message(report), ERROR_COLUMNS);
    let mut keys = cause.keys.iter().take(MAX_KEYS).map(|key| &**key).collect::<Vec<_>>().join("\n");
    if let Some(more @ 1..) = cause.keys.len().checked_sub(MAX_KEYS) {
        _ = write!(keys, "\nand {}", count(more, "more key"));
    }
    let result = if cause.is_new {
        CaseResult::Failed { message, text: keys }
    } else {
        CaseResult::Passed(format!("{message}\n{keys}"))
    };
    Case { name: cause.heading(report), place: cause.error.place.clone(), result }
}

fn group(report: &Report, group: &Group, room: &Cell<usize>) -> Suite {
    let cases = group.items.iter().map(|item| change(report, item, room)).collect();
    let first = group.items.first().map(|item| &report.changes[item.first]);
    let apart = first.map(|change| change.lacking(group.nodes.len())).unwrap_or_default();
    Suite { name: node_list::heading(report, group, NAME_COLUMNS) + &apart, cases }
}

fn change(report: &Report, item: &Item, room: &Cell<usize>) -> Case {
    let change = &*report.shown(item);
    let mut text = differences(report, item, change);
    if item.keys > 1 {
        _ = writeln!(text, "{}: {}", count(item.keys, "key"), report.keys_of(item).join(", "));
    }
    report.use_notes(std::slice::from_ref(item)).iter().for_each(|note| _ = writeln!(text, "({note})"));
    text += &other_values(report, item, room);
    let name = format!("{} {}", change.key, report.label(change));
    match change.outcome.after.as_deref() {
        Some(Outcome::Failed(error)) if change.kind.is_error() => {
            let message = shorten(error.text.visible(), ERROR_COLUMNS);
            Case { name, place: error.place.clone(), result: CaseResult::Failed { message, text } }
        }
        _ => {
            let origin = change.leaves.first().and_then(|leaf| leaf.origins().after);
            Case { name, place: origin.map(|origin| origin.place.clone()), result: CaseResult::Passed(text) }
        }
    }
}

/// Returns the differences of a change in lines, each with its place.
fn differences(report: &Report, item: &Item, change: &KeyChange) -> String {
    let mut lines = Vec::new();
    if change.leaves.is_empty() {
        lines.extend(detail::outcomes(change, detail::varying_sides(report, item), ROOM.columns, ROOM));
    }
    let mut text = with_signs(&lines);
    for fold in item.leaves.iter().take(MAX_LEAVES) {
        let leaf = &change.leaves[fold.first];
        let places = leaf.places(report).map(|places| format!(" ({places})")).unwrap_or_default();
        _ = write!(text, "{}{places}\n{}", fold.place(change), with_signs(&detail::lines(&leaf.change, ROOM)));
    }
    if let Some(more @ 1..) = item.leaves.len().checked_sub(MAX_LEAVES) {
        _ = writeln!(text, "{}", count(more, "more difference"));
    }
    text
}

/// Returns the values of an item on other nodes.
fn other_values(report: &Report, item: &Item, room: &Cell<usize>) -> String {
    let Some(list) = report.by_node(item, Extent::whole(room.get(), ROOM)) else { return String::new() };
    room.set(room.get().saturating_sub(list.characters));
    let lines: Vec<DetailLine> = list.values.iter().flat_map(NodeValue::all_lines).collect();
    let mut text = format!("({})\n{}", list.note, with_signs(&lines));
    list.rest(report).iter().for_each(|rest| _ = writeln!(text, "{rest}"));
    text
}

fn with_signs(lines: &[DetailLine]) -> String {
    let mut text = String::new();
    for line in lines {
        _ = writeln!(text, "{} {}", line.mark.sign(), line.text);
    }
    text
}

fn finding(finding: &FindingChange) -> Case {
    let diagnostic = &finding.diagnostic;
    let text = diagnostic.text.clone();
    let place = diagnostic.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    let result = match diagnostic.severity {
        Severity::Error => CaseResult::Failed { message: text, text: String::new() },
        Severity::Warning | Severity::Note => CaseResult::Passed(text),
    };
    Case { name: format!("{place}{}", diagnostic.code), place: diagnostic.place.clone(), result }
}

fn blind_spot(spot: &BlindSpot) -> Case {
    let fix = spot.fix.as_ref().map(|fix| format!(" {fix}")).unwrap_or_default();
    Case { name: spot.headline.clone(), place: None, result: CaseResult::Skipped(format!("{}{fix}", spot.message)) }
}
