//! `hierad check`: everything wrong with data, hiera.yaml and profiles.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::context::Context;
use super::profiles::Profiles;
use super::{Global, Result, Status, output};
use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::fleet::{Finding, Fleet};
use crate::node::NodeSet;

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The revision; '.' is the checked-out files
    #[arg(value_name = "REV", default_value = "HEAD")]
    revision: String,
    /// How to write
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let context = Context::open(global)?;
    let point = context.point(&arguments.revision)?;
    let branch = context.repository.branch()?;
    let Profiles { profiles, errors } = context.profiles(branch.as_ref().map(crate::git::BranchName::as_str))?;
    let mut findings: Vec<Finding> = errors
        .into_iter()
        .map(|error| {
            let place = Place::line(error.path, error.line);
            Finding { diagnostic: Diagnostic::error("profile", Some(place), error.text), nodes: NodeSet::new() }
        })
        .collect();
    let pipeline = context.pipeline(Fleet::new(profiles));
    findings.extend(pipeline.check(point)?);
    let mut out = output::stdout();
    match arguments.format {
        Format::Text => write_text(&findings, &pipeline.fleet, &mut out)?,
        Format::Json => write_json(&findings, &pipeline.fleet, &mut out)?,
    }
    out.flush()?;
    let faults = findings.iter().any(|finding| finding.diagnostic.severity > Severity::Note);
    Ok(if faults { Status::Found } else { Status::Done })
}

fn write_text(findings: &[Finding], fleet: &Fleet, out: &mut dyn Write) -> std::io::Result<()> {
    for finding in findings {
        let nodes = match (finding.nodes.len(), fleet.names(&finding.nodes).next()) {
            (0, _) | (_, None) => String::new(),
            (1, Some(node)) => format!(" (on {node})"),
            (count, _) if count == fleet.len() => format!(" (on all {count} nodes)"),
            (count, Some(node)) => format!(" (on {count} of {} nodes, such as {node})", fleet.len()),
        };
        writeln!(out, "{}{nodes}", finding.diagnostic)?;
    }
    let count = |severity| findings.iter().filter(|finding| finding.diagnostic.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    writeln!(out, "{errors} errors, {warnings} warnings; {} nodes", fleet.len())
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
