//! The faults as JSON.

use std::io::Write;

use serde::Serialize;

use super::Found;
use crate::diagnostic::Severity;
use crate::fleet::Fleet;
use crate::visible::visible_json;

#[derive(Serialize)]
struct Wire<'a> {
    schema: &'static str,
    nodes: usize,
    errors: usize,
    warnings: usize,
    notes: usize,
    findings: Vec<WireFinding<'a>>,
}

#[derive(Serialize)]
struct WireFinding<'a> {
    severity: String,
    code: &'static str,
    /// The path of the first place.
    path: Option<&'a str>,
    line: Option<u32>,
    text: &'a str,
    fix: &'a str,
    places: Vec<WirePlace<'a>>,
    nodes: Vec<&'a str>,
    keys: Vec<&'a str>,
}

#[derive(Serialize)]
struct WirePlace<'a> {
    path: &'a str,
    line: Option<u32>,
}

pub(super) fn write(found: &Found, fleet: &Fleet, out: &mut dyn Write) -> std::io::Result<()> {
    let findings = found.faults.iter().map(|fault| {
        let first = fault.places.first();
        WireFinding {
            severity: fault.severity.to_string(),
            code: fault.code,
            path: first.map(|place| &*place.path),
            line: first.and_then(|place| place.line),
            text: &fault.text,
            fix: &fault.fix,
            places: fault.places.iter().map(|place| WirePlace { path: &place.path, line: place.line }).collect(),
            nodes: fleet.names(&fault.nodes).map(|name| &**name).collect(),
            keys: fault.keys.iter().map(|key| &**key).collect(),
        }
    });
    let wire = Wire {
        schema: "hierad.check/2",
        nodes: fleet.len(),
        errors: found.count(Severity::Error),
        warnings: found.count(Severity::Warning),
        notes: found.count(Severity::Note),
        findings: findings.collect(),
    };
    writeln!(out, "{}", visible_json(&serde_json::to_string_pretty(&wire)?))
}
