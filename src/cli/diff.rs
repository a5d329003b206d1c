//! `hierad diff`: what changes in effective values between two revisions.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::arguments::filter::Chosen;
use super::arguments::paths;
use super::arguments::what_if::WhatIf;
use super::output::pager::Paged;
use super::{Global, Result, Status, output};
use crate::app::{Failure, Workspace};
use crate::diff::Diff;
use crate::git::Repository;
use crate::pipeline::judge::Sides;
use crate::pipeline::{Comparison, RevisionId};
use crate::report::writers::{markdown, text};
use crate::report::{Between, BlindSpot, Format, KeyChange, PolicyLevel, Report, Style, Verdict, count, write};
use crate::visible::visible;

/// The approximate maximum number of lines of a report in a hook: a screenful.
pub(super) const HOOK_LINES: usize = 40;

/// Arguments of `diff`.
#[derive(Debug, Default, Args)]
pub(super) struct Arguments {
    /// The revision to compare from, or FROM..TO, or FROM...TO for what TO changes since the merge base. '.' is the
    /// checked-out files, committed or not; alone, it shows what they change since the last commit [default: the
    /// parent of the last commit]
    #[arg(value_name = "FROM")]
    from: Option<String>,
    /// The revision to compare to [default: HEAD]
    #[arg(value_name = "TO")]
    to: Option<String>,
    /// Show only what these files and folders cause, and changes of unknown cause: names or globs, from the current
    /// folder
    #[arg(value_name = "PATH", last = true, conflicts_with = "nodes_before")]
    paths: Vec<String>,
    #[command(flatten)]
    chosen: Chosen,
    #[command(flatten)]
    what_if: WhatIf,
    /// Compare the nodes in this file or folder with those of --nodes-after, at one revision, to see what changed
    /// facts do
    #[arg(long, value_name = "PATH", requires = "nodes_after", conflicts_with = "to")]
    nodes_before: Option<PathBuf>,
    /// The nodes to compare those of --nodes-before with
    #[arg(long, value_name = "PATH", requires = "nodes_before")]
    nodes_after: Option<PathBuf>,
    #[command(flatten)]
    output: ReportOutput,
    /// True if a hook of git shows it, among what git itself says.
    #[arg(skip)]
    in_hook: bool,
}

impl Arguments {
    /// Returns the arguments for the last commit, for use in a hook.
    pub(super) fn in_hook() -> Arguments {
        Arguments { in_hook: true, ..Arguments::default() }
    }
}

/// Arguments about how a report is written, and about what the exit status tells of it.
#[derive(Debug, Default, Args)]
pub(super) struct ReportOutput {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Exit with status 4 if a policy fails, 2 if there are differences, and 3 if none is seen, but not everything
    /// can be seen; `errors` counts only keys that newly fail, `policies` only policies
    #[arg(long, value_name = "OF", num_args = 0..=1, require_equals = true, default_missing_value = "changes")]
    exit_code: Option<ExitCode>,
    /// Continue even if nothing can be read on either side
    #[arg(long)]
    allow_blind: bool,
    /// Shorten nothing in the text form; in JSON, list each key that fails for a shared cause by itself
    #[arg(long)]
    full: bool,
    /// The maximum number of characters in the Markdown form, or roughly of bytes in the HTML form
    #[arg(long, value_name = "CHARACTERS")]
    budget: Option<usize>,
    /// The base address of the commit's files, for links to their lines in the Markdown form
    #[arg(long, value_name = "URL", value_parser = address)]
    link_base: Option<String>,
    /// The address of the full report, for a link in a Markdown form that leaves something out
    #[arg(long, value_name = "URL", value_parser = address)]
    report_url: Option<String>,
}

impl ReportOutput {
    /// Writes a report, about as long as a screen in a hook, and returns the exit status for it.
    pub(super) fn write(&self, report: &Report, global: &Global, workspace: &Workspace, in_hook: bool) -> Result {
        let is_paged = self.format == Format::Text && !in_hook;
        let mut out = match self.format {
            _ if is_paged => Paged::new(workspace, global),
            Format::Text => Paged::plain(output::coloured(output::color(global))),
            Format::Github => Paged::plain(output::commands()),
            _ => Paged::plain(output::stdout()),
        };
        let lines = if in_hook { Some(HOOK_LINES) } else { out.lines() };
        write(report, self.format, &self.style(global, lines), &mut out)?;
        out.finish()?;
        workspace.save();
        if report.is_unreadable == Diff::new(true, true) && !self.allow_blind {
            return Err(blind(report.blind_spots.first()));
        }
        Ok(self.exit_code.map_or(Status::Done, |exit_code| status(exit_code, report)))
    }

    fn style(&self, global: &Global, lines: Option<usize>) -> Style {
        let mut style = style(global, lines);
        (style.text.full, style.json.full) = (self.full, self.full);
        style.markdown.budget = self.budget.unwrap_or(style.markdown.budget);
        style.html.budget = self.budget.unwrap_or(style.html.budget);
        style.markdown.link_base.clone_from(&self.link_base);
        style.html.link_base.clone_from(&self.link_base);
        style.markdown.report_url.clone_from(&self.report_url);
        style
    }
}

/// Checks an address.
fn address(text: &str) -> std::result::Result<String, &'static str> {
    if markdown::is_address(text) {
        Ok(text.to_owned())
    } else {
        Err("expected http:// or https:// without blanks or brackets")
    }
}

/// The differences that the exit status reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ExitCode {
    Changes,
    Errors,
    Policies,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let workspace = arguments.what_if.open(global)?;
    let progress = global.show_progress(&workspace);
    let compared = compare(global, &workspace, arguments);
    let advice = || paths::advice(global, &workspace, [arguments.from.as_deref(), arguments.to.as_deref()]);
    let Comparison { report, effective: _effective } = compared.map_err(|error| advice().map_or(error, Into::into))?;
    drop(progress);
    arguments.output.write(&report, global, &workspace, arguments.in_hook)
}

/// Compares two revisions, or two sets of nodes at one.
fn compare(global: &Global, workspace: &Workspace, arguments: &Arguments) -> Result<Comparison> {
    let branch = workspace.branch(later_revision(arguments))?;
    let (Some(old), Some(new)) = (&arguments.nodes_before, &arguments.nodes_after) else {
        let sides = revisions(workspace, arguments)?;
        let pipeline = global.pipeline(workspace, branch.as_ref(), &[sides.before, sides.after], &|_| true)?;
        let paths = paths::patterns(global, workspace, &arguments.paths)?;
        let mut compared = arguments.chosen.compare(&pipeline, &sides, &paths)?;
        paths::check_existence(&paths, &pipeline, &sides)?;
        compared.report.tell_names(workspace.repository.ambiguities());
        return Ok(compared);
    };
    let point = workspace.point(arguments.from.as_deref().unwrap_or("HEAD"))?;
    let nodes =
        workspace.nodes_of_both([old, new], branch.as_ref(), point, &|error| global.print_profile_error(error))?;
    for (number, names) in [("only the first has", &nodes.gone), ("only the second has", &nodes.new)] {
        if let Some(first) = names.first() {
            let text = format!("hierad: {number} {}, such as {first}: not compared", count(names.len(), "node"));
            global.progress.print(&visible(&text));
        }
    }
    arguments.chosen.compare_nodes(&nodes, point, Between::Facts)
}

/// Returns the failure of a comparison in which nothing could be read.
pub(super) fn blind(spot: Option<&BlindSpot>) -> Failure {
    let Some(spot) = spot else { return "nothing could be read".into() };
    let fix = spot.fix.as_ref().map(|fix| format!("; {fix}")).unwrap_or_default();
    format!("nothing could be read: {}{fix}; --allow-blind continues anyway", spot.message).into()
}

/// Returns the exit status for the differences of a report.
pub(super) fn status(exit_code: ExitCode, report: &Report) -> Status {
    let is_error = |change: &KeyChange| change.kind.is_error();
    match (report.verdict(), exit_code) {
        _ if report.policy_level() == Some(PolicyLevel::Failure) => Status::Refused,
        (_, ExitCode::Policies) | (Verdict::NoChange, _) => Status::Done,
        (Verdict::Changes, ExitCode::Errors) if !report.changes.iter().any(is_error) => Status::Done,
        (Verdict::Changes, _) => Status::Found,
        (Verdict::NoChangeSeen, _) => Status::Unseen,
    }
}

impl ValueEnum for Format {
    fn value_variants<'v>() -> &'v [Format] {
        &Format::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

/// Returns the style of a report on standard output, with about this many lines of text.
pub(super) fn style(global: &Global, lines: Option<usize>) -> Style {
    let (color, width, one_line) = (output::color(global), output::width(), !std::io::stdout().is_terminal());
    Style { text: text::Options { color, width, full: false, one_line, lines }, ..Style::default() }
}

/// Returns the revision whose branch the nodes are deployed for: the later one.
fn later_revision(arguments: &Arguments) -> &str {
    match (&arguments.from, &arguments.to) {
        _ if arguments.nodes_before.is_some() => arguments.from.as_deref().unwrap_or("HEAD"),
        (_, Some(to)) => to,
        (Some(range), None) => match range.split_once("...").or_else(|| range.split_once("..")) {
            Some((_, to)) => to,
            None => "HEAD",
        },
        (None, None) => "HEAD",
    }
}

/// Returns the two revisions that the arguments name.
fn revisions(workspace: &Workspace, arguments: &Arguments) -> Result<Sides> {
    let repository: &Repository = &workspace.repository;
    let sides = |(before, after)| Sides::of(before, after);
    let or_head = |text: &str| if text.is_empty() { "HEAD".to_owned() } else { text.to_owned() };
    match (&arguments.from, &arguments.to) {
        (None, _) => {
            let after = repository.resolve("HEAD")?;
            let before = repository.first_parent(after)?;
            Ok(sides((before.map_or(RevisionId::Empty, RevisionId::Commit), RevisionId::Commit(after))))
        }
        (Some(range), Some(to)) if range.contains("..") => {
            Err(format!("{range} already names two revisions: remove {to}").into())
        }
        (Some(from), Some(to)) => workspace.points([from, to]).map(sides),
        (Some(range), None) => {
            if let Some((from, to)) = range.split_once("...") {
                let branch = repository.branch_called(&or_head(from))?;
                let [from, to] = repository.resolve_all([&or_head(from), &or_head(to)])?;
                let base = repository.merge_base(from, to)?;
                let base = base.ok_or_else(|| format!("{range}: the two have no commit in common"))?;
                let [base, to, from] = [base, to, from].map(RevisionId::Commit);
                return Ok(Sides { before: base, after: to, target: Some(from), branch, is_request: true });
            }
            if let Some((from, to)) = range.split_once("..").filter(|_| range != "..") {
                return workspace.points([&or_head(from), &or_head(to)]).map(sides);
            }
            if range == "." {
                return Ok(sides((workspace.point("HEAD")?, RevisionId::WorkTree)));
            }
            workspace.points([range, "HEAD"]).map(sides)
        }
    }
}
