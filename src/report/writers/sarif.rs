//! Writes the report as SARIF 2.1.0, the format of static analysis results that editors and the code scanning of
//! forges read: a result for each annotation, a notification for each blind spot and each policy that has no line.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value as Json, json};

use super::annotation::{CHANGED_VALUE, FAILING_KEY, NO_EFFECT, POLICY, UNKNOWN_EFFECT};
use crate::diagnostic::Severity;
use crate::report::words::visible::visible_lines;
use crate::report::{Annotation, BlindSpot, PolicyHit, Report};

/// The maximum number of results, which is GitHub's limit for one run.
const MAX_RESULTS: usize = 25_000;

/// Writes the report.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let annotations = report.annotations();
    let shown = &annotations[..annotations.len().min(MAX_RESULTS)];
    let rules: BTreeMap<&str, Severity> = shown.iter().map(|annotation| (annotation.code, annotation.level)).collect();
    let indexes: BTreeMap<&str, usize> = rules.keys().enumerate().map(|(at, code)| (*code, at)).collect();
    let mut notifications: Vec<Json> = report.blind_spots.iter().map(notification).collect();
    let unplaced = report.policies.iter().filter(|hit| hit.places.is_empty());
    notifications.extend(unplaced.filter_map(policy));
    if shown.len() < annotations.len() {
        let text = format!("{} more results are left out", annotations.len() - shown.len());
        notifications.push(json!({ "level": "warning", "message": { "text": text } }));
    }
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "hierad",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|(code, level)| rule(code, *level)).collect::<Vec<_>>(),
            } },
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notifications,
            }],
            "results": shown.iter().map(|annotation| result(annotation, indexes[annotation.code])).collect::<Vec<_>>(),
            "properties": { "headline": report.headline(), "verdict": report.verdict().as_str() },
        }],
    });
    serde_json::to_writer_pretty(&mut *out, &log)?;
    writeln!(out)
}

fn rule(code: &str, level: Severity) -> Json {
    let finding = format!("Finding: {}", code.replace('-', " "));
    let (text, help) = match code {
        POLICY => (
            "The commit hits a policy of the settings.",
            "The message is that of the policy. Change the data, ask the reviewers that it names, or add a waiver.",
        ),
        FAILING_KEY => (
            "The lookup of a key fails, or its outcome becomes unknown.",
            "Correct the data. `hierad lookup KEY --node NAME --explain` shows the way of a lookup.",
        ),
        CHANGED_VALUE => (
            "A line changes the effective value of a key.",
            "Check that the value is meant for all these nodes. `hierad diff` shows the whole change.",
        ),
        NO_EFFECT => (
            "A changed line changes no effective value.",
            "The message says what counts instead. Remove the line, or change what counts.",
        ),
        UNKNOWN_EFFECT => {
            ("The effect of a changed line is not known.", "The message says why. `hierad check` finds keys that fail.")
        }
        _ => (&*finding, "`hierad check` shows all findings, each with its places."),
    };
    json!({
        "id": code,
        "shortDescription": { "text": text },
        "fullDescription": { "text": text },
        "help": { "text": help },
        "defaultConfiguration": { "level": name(level) },
    })
}

fn result(annotation: &Annotation, rule: usize) -> Json {
    let mut place = json!({ "artifactLocation": { "uri": uri(&annotation.path), "uriBaseId": "%SRCROOT%" } });
    if let Some((first, last)) = annotation.lines {
        place["region"] = json!({ "startLine": first, "endLine": last });
    }
    json!({
        "ruleId": annotation.code,
        "ruleIndex": rule,
        "level": name(annotation.level),
        "message": message(&annotation.message),
        "locations": [{ "physicalLocation": place }],
    })
}

fn notification(spot: &BlindSpot) -> Json {
    let fix = spot.fix.as_ref().map(|fix| format!("\n{fix}")).unwrap_or_default();
    json!({
        "level": if spot.is_standing { "note" } else { "warning" },
        "descriptor": { "id": spot.code },
        "message": message(&format!("{}{fix}", spot.message)),
    })
}

/// Returns the notification of a policy whose cause is at no line of the commit, unless it is waived.
fn policy(hit: &PolicyHit) -> Option<Json> {
    let level = name(hit.counts_as()?.severity());
    let text = format!("policy {}: {}", hit.name, hit.words());
    Some(json!({ "level": level, "descriptor": { "id": POLICY }, "message": message(&text) }))
}

fn name(level: Severity) -> &'static str {
    match level {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// Returns a message with escaped brackets, since those begin a link in SARIF's plain text.
fn message(text: &str) -> Json {
    let mut escaped = String::with_capacity(text.len());
    for c in visible_lines(text).chars() {
        if matches!(c, '[' | ']' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    json!({ "text": escaped })
}

/// Returns a path as a relative URI reference.
fn uri(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.bytes().map(|byte| if is_plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") }).collect()
}
