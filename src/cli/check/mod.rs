//! `hierad check`: everything wrong with data, hiera.yaml and profiles, as a gate for commits.

mod json;
mod text;

use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::arguments::inspection::{Format, Inspection};
use super::output::pager::Paged;
use super::{Global, Result, Status, output};
use crate::app::settings::CheckSetting;
use crate::checks::{CODES, Fault, new_faults};
use crate::diagnostic::Severity;
use crate::pattern::nearest;
use crate::pipeline::Pipeline;

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    at: Inspection,
    /// Show only faults of at least this severity, and fail if there are any [default: show all, fail from warning on]
    #[arg(long, value_name = "SEVERITY")]
    severity: Option<SeverityFlag>,
    /// Ignore faults of this kind, such as unreached-file; may be repeated
    #[arg(long, value_name = "CODE", value_parser = fault_code)]
    allow: Vec<String>,
    /// Show only faults that are new since this revision
    #[arg(long, value_name = "REV")]
    new_since: Option<String>,
    /// Show all faults, however many they are
    #[arg(long)]
    full: bool,
}

/// [`Severity`], as a flag has it.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SeverityFlag {
    Note,
    Warning,
    Error,
}

impl From<SeverityFlag> for Severity {
    fn from(flag: SeverityFlag) -> Severity {
        match flag {
            SeverityFlag::Note => Severity::Note,
            SeverityFlag::Warning => Severity::Warning,
            SeverityFlag::Error => Severity::Error,
        }
    }
}

/// Checks the name of a kind of fault.
fn fault_code(name: &str) -> std::result::Result<String, String> {
    if CODES.contains(&name) {
        return Ok(name.to_owned());
    }
    let near = nearest(name, CODES.into_iter(), 1);
    let hint = near.first().map_or_else(|| CODES.join(", "), |near| format!("did you mean {near}?"));
    Err(format!("there is no such kind of fault; {hint}"))
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let workspace = global.open()?;
    let progress = global.show_progress(&workspace);
    let point = workspace.point(&arguments.at.revision)?;
    let before = arguments.new_since.as_deref().map(|revision| workspace.point(revision)).transpose()?;
    let points: Vec<_> = before.into_iter().chain([point]).collect();
    let branch = workspace.branch(&arguments.at.revision)?;
    let revisions = workspace.revisions();
    let branch = branch.as_ref().map(crate::git::BranchName::as_str);
    // Errors of profiles are among the faults.
    let (fleet, _) = workspace.profiles(&revisions, branch, &points, &|_| true)?;
    let pipeline = workspace.pipeline(revisions, Arc::new(fleet));
    let base = before.unwrap_or_else(|| pipeline.base(point));
    let mut faults = pipeline.check(point, base)?;
    if let Some(before) = before {
        faults = new_faults(&pipeline.check(before, base)?, faults);
    }
    let found = Found::new(faults, arguments, &workspace.check_setting(base));
    drop(progress);
    let out = Paged::of(arguments.at.format == Format::Text, &workspace, global);
    found.write(&pipeline, arguments, out, output::color(global))?;
    workspace.save();
    Ok(if found.is_faulty { Status::Found } else { Status::Done })
}

/// The faults to report.
struct Found {
    faults: Vec<Fault>,
    /// The number of faults that are allowed or below the severity asked for.
    hidden: usize,
    is_faulty: bool,
}

impl Found {
    fn new(mut faults: Vec<Fault>, arguments: &Arguments, settings: &CheckSetting) -> Found {
        let severity = arguments.severity.map(Severity::from).or(settings.severity);
        let is_allowed = |code: &str| arguments.allow.iter().any(|allowed| allowed == code);
        let all = faults.len();
        faults.retain(|fault| fault.severity >= severity.unwrap_or(Severity::Note) && !is_allowed(fault.code));
        let is_faulty = faults.iter().any(|fault| fault.severity >= severity.unwrap_or(Severity::Warning));
        Found { hidden: all - faults.len(), faults, is_faulty }
    }

    fn write(&self, pipeline: &Pipeline, arguments: &Arguments, mut out: Paged, color: bool) -> std::io::Result<()> {
        let most = if arguments.full { usize::MAX } else { out.entries(text::LINES_PER_FAULT, text::MAX_SHOWN) };
        match arguments.at.format {
            Format::Text => text::write(self, &pipeline.fleet, (most, color), &mut out)?,
            Format::Json => json::write(self, &pipeline.fleet, &mut out)?,
        }
        out.finish()
    }

    fn count(&self, severity: Severity) -> usize {
        self.faults.iter().filter(|fault| fault.severity == severity).count()
    }
}
