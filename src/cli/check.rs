//! `hierad check`: everything wrong with data, hiera.yaml and profiles.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use super::context::Context;
use super::inspection::{Format, Inspection};
use super::{Global, Result, Status, output};
use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::fleet::{Finding, Fleet};
use crate::node::NodeSet;
use crate::pipeline::check::{UNKNOWN_FUNCTION, missing_function};

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    at: Inspection,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let context = Context::open(global)?;
    let progress = context.show_progress();
    let point = context.point(&arguments.at.revision)?;
    let branch = context.branch()?;
    let revisions = context.revisions();
    let (fleet, errors) =
        context.profiles(&revisions, branch.as_ref().map(crate::git::BranchName::as_str), &[point], &|_| true)?;
    let mut findings: Vec<Finding> = errors
        .into_iter()
        .map(|error| {
            let place = Place::line(error.path, error.line);
            Finding { diagnostic: Diagnostic::error("profile", Some(place), error.text), nodes: NodeSet::new() }
        })
        .collect();
    let pipeline = context.pipeline(revisions, Arc::new(fleet));
    findings.extend(pipeline.check(point)?);
    drop(progress);
    let mut out = output::stdout();
    match arguments.at.format {
        Format::Text => write_text(&findings, &pipeline.fleet, &mut out)?,
        Format::Json => write_json(&findings, &pipeline.fleet, &mut out)?,
    }
    out.flush()?;
    context.save();
    let faults = findings.iter().any(|finding| finding.diagnostic.severity > Severity::Note);
    Ok(if faults { Status::Found } else { Status::Done })
}

fn write_text(findings: &[Finding], fleet: &Fleet, out: &mut dyn Write) -> std::io::Result<()> {
    for finding in findings {
        let nodes = match (finding.nodes.len(), fleet.names(&finding.nodes).next()) {
            (0, _) | (_, None) => String::new(),
            (count, _) if count == fleet.len() && count > 1 => format!(" (on all {count} nodes)"),
            (1, Some(node)) => format!(" (on {node})"),
            (count, Some(node)) => format!(" (on {count} of {} nodes, such as {node})", fleet.len()),
        };
        writeln!(out, "{}{nodes}", one_line(&finding.diagnostic.to_string()))?;
    }
    write_hint(findings, out)?;
    let count =
        |severity, one: &str| match findings.iter().filter(|finding| finding.diagnostic.severity == severity).count() {
            1 => format!("1 {one}"),
            count => format!("{count} {one}s"),
        };
    let nodes = if fleet.len() == 1 { "1 node".to_owned() } else { format!("{} nodes", fleet.len()) };
    writeln!(out, "{}, {} on {nodes}", count(Severity::Error, "error"), count(Severity::Warning, "warning"))
}

/// Texts of libraries may have several lines.
fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What to do about functions that are not there.
fn write_hint(findings: &[Finding], out: &mut dyn Write) -> std::io::Result<()> {
    let missing = findings.iter().filter(|finding| finding.diagnostic.code == UNKNOWN_FUNCTION);
    let names: BTreeSet<&str> = missing.filter_map(|finding| missing_function(&finding.diagnostic.text)).collect();
    if names.is_empty() {
        return Ok(());
    }
    writeln!(out, "hint: hierad does not run functions of others; say in hierad.yaml what they find:")?;
    writeln!(out, "  backends:")?;
    for name in names {
        writeln!(out, "    {name}: {{not_found: true}}    # or {{values: FILE}}, or {{command: [PROGRAM]}}")?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Wire<'a> {
    schema: &'static str,
    findings: Vec<WireFinding<'a>>,
}

#[derive(Serialize)]
struct WireFinding<'a> {
    severity: String,
    code: &'static str,
    path: Option<&'a str>,
    line: Option<u32>,
    text: &'a str,
    nodes: Vec<&'a str>,
}

fn write_json(findings: &[Finding], fleet: &Fleet, out: &mut dyn Write) -> std::io::Result<()> {
    let findings = findings
        .iter()
        .map(|finding| {
            let Diagnostic { place, severity, code, text } = &finding.diagnostic;
            WireFinding {
                severity: severity.to_string(),
                code,
                path: place.as_ref().map(|place| &*place.path),
                line: place.as_ref().and_then(|place| place.line),
                text,
                nodes: fleet.names(&finding.nodes).map(|name| &**name).collect(),
            }
        })
        .collect();
    serde_json::to_writer_pretty(&mut *out, &Wire { schema: "hierad.check/1", findings })?;
    writeln!(out)
}
