//! `hierad review`: posts a review of a request's changes on its forge, or saves it for another job to post.
//!
//! `target` combines what the job knows with the flags, `post` talks to the forge, and `saved` is a review that one
//! job makes and another one posts.

mod post;
mod saved;
mod target;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::arguments::filter::Chosen;
use super::diff::{self, ExitCode};
use super::output::log;
use super::{Global, Result, Status, bound, output};
use crate::app::review::{Fetched, Sides, find_sides};
use crate::disk;
use crate::forge::{self, Conclusion, Forge, Posted};
use crate::pipeline::{Comparison, RevisionId, judge};
use crate::report::writers::{github, markdown};
use crate::report::{PolicyLevel, Report, Verdict};

use post::Poster;
use saved::Saved;
use target::Target;

/// The maximum number of characters in the summary of a step.
const MAX_SUMMARY_CHARACTERS: usize = 200_000;

/// Arguments of `review`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each one is a flag")]
pub(super) struct Arguments {
    /// The revision to compare with, at the merge base [default: the target branch of the request]
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// The last commit of the request [default: as the job or the forge says]
    #[arg(long, value_name = "REV")]
    head: Option<String>,
    /// The remote to fetch missing commits from
    #[arg(long, value_name = "REMOTE", default_value = "origin")]
    remote: String,
    /// Fetch both commits, even if the checkout seems to have them: its branches may be behind
    #[arg(long)]
    fetch: bool,
    /// The forge [default: by the environment of the job]
    #[arg(long, value_name = "FORGE", value_parser = forges())]
    forge: Option<&'static dyn Forge>,
    /// The address of the forge's API
    #[arg(long, value_name = "URL")]
    api: Option<String>,
    /// The repository on the forge: OWNER/NAME, or the number or path of a GitLab project
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// The number of the pull request or merge request
    #[arg(long, value_name = "NUMBER")]
    request: Option<u64>,
    /// A file with the token, in place of the variables that may hold it
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The user that the token belongs to, if the forge does not say
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// The name of this configuration, which has a comment and a check of its own [default: by the flags]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// When to post the first comment, which is then kept up to date
    #[arg(long, value_name = "WHEN", default_value = "always")]
    comment: CommentMode,
    /// The mark on the commit: a check run with annotations (GitHub) or, if the token may not set that, a status
    #[arg(long, value_name = "CHECK", default_value = "auto")]
    check: CheckMode,
    #[command(flatten)]
    chosen: Chosen,
    /// Fail the check, and exit with status 2, if there are differences; with status 3 if none is seen, but not
    /// everything can be seen; `errors` counts only keys that newly fail. A failing policy always fails the check,
    /// with status 4
    #[arg(long, value_name = "OF", num_args = 0..=1, require_equals = true, default_missing_value = "changes")]
    exit_code: Option<ExitCode>,
    /// Read the keys that settings allow, if the commits are known not to come from a fork
    #[arg(long)]
    with_keys: bool,
    /// Append the review to a file, as Markdown [default: the step's summary in Actions]; '-' prints it
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// The maximum number of characters of the comment
    #[arg(long, value_name = "CHARACTERS")]
    budget: Option<usize>,
    /// Write the review to a file for another job, and post nothing
    #[arg(long, value_name = "FILE", conflicts_with = "post")]
    save: Option<PathBuf>,
    /// Post the comment that another job has saved, without reading data
    #[arg(long, value_name = "FILE")]
    post: Option<PathBuf>,
    /// Post nothing
    #[arg(long)]
    dry_run: bool,
    /// Exit when standard input ends, so that the review ends with the daemon
    #[arg(long, hide = true)]
    bound: bool,
}

/// Returns the parser of a forge's name.
fn forges() -> impl TypedValueParser<Value = &'static dyn Forge> {
    let value = |forge: &'static dyn Forge| PossibleValue::new(forge.name()).aliases(forge.constants().aliases);
    let names = PossibleValuesParser::new(forge::reviewed().map(value));
    names.try_map(|name| forge::named(&name).ok_or("no such forge"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CommentMode {
    /// At once
    Always,
    /// Once there is an effect or a blind spot
    Changes,
    /// Never
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckMode {
    Auto,
    None,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    if arguments.bound {
        bound::end_with_daemon();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if global.show_secrets {
        return Err("many people read reviews: --show-secrets cannot be used with them".into());
    }
    let mut target = Target::find(arguments, global)?;
    if is_closed(&target) {
        return Ok(Status::Done);
    }
    let poster = Poster::new(arguments, &target)?;
    if let Some(file) = &arguments.post {
        return runtime.block_on(poster.saved(&target, &Saved::read(file)?));
    }
    runtime.block_on(poster.complete(&mut target))?;
    if is_closed(&target) {
        return Ok(Status::Done);
    }
    let global = if arguments.with_keys && target.ci.is_own { global.clone() } else { global.for_strangers() };
    let (sides, fetched) = find_sides(&global.overrides(), &target.wanted)?;
    let global = global.with_quarantine(fetched.as_ref().and_then(Fetched::quarantine));
    let report = compare(&global, arguments, &sides)?;
    // A policy is meant to make the job fail without a flag.
    let status = diff::status(arguments.exit_code.unwrap_or(ExitCode::Policies), &report);
    let options = comment_options(arguments, &target, &sides.after.to_string());
    let saved = Saved::of(&report, sides.after, &options);
    write_summary(arguments, &target, &report, &options)?;
    if let Some(file) = &arguments.save {
        saved.write(file)?;
        return Ok(status);
    }
    let annotations = report.annotations();
    let conclusion = conclusion(status, &report);
    let review = post::Review { saved: &saved, annotations: &annotations, conclusion };
    let has_annotations = runtime.block_on(poster.post(&target, &review));
    if target.ci.has_commands && !matches!(has_annotations, Ok(true)) {
        github::write_annotations(&annotations, &mut output::commands())?;
    }
    has_annotations?;
    Ok(status)
}

/// Returns true if the request is known to be closed, and says so.
fn is_closed(target: &Target) -> bool {
    if target.ci.is_closed {
        log::print(&format_args!("hierad: the request is closed, and not reviewed"));
    }
    target.ci.is_closed
}

/// Compares the two sides.
fn compare(global: &Global, arguments: &Arguments, found: &Sides) -> Result<Report> {
    let workspace = global.open()?;
    let sides = judge::Sides {
        before: found.before.map_or(RevisionId::Empty, RevisionId::Commit),
        after: RevisionId::Commit(found.after),
        target: if found.is_target_unknown { Some(RevisionId::Empty) } else { found.target.map(RevisionId::Commit) },
        branch: found.branch.clone(),
        is_request: found.is_request,
    };
    let progress = global.show_progress(&workspace);
    // Without a branch of its own, a job's change belongs to the branch that it is to be merged into.
    let is_branch = |name: &&str| matches!(workspace.repository.branch_called(name), Ok(Some(_)));
    let head = arguments.head.as_deref().filter(is_branch).unwrap_or("HEAD");
    let branch = workspace.branch(head).or_else(|error| found.branch.clone().map(Some).ok_or(error))?;
    let pipeline = global.pipeline(&workspace, branch.as_ref(), &[sides.before, sides.after], &|_| true)?;
    let Comparison { mut report, effective: _effective } = arguments.chosen.compare(&pipeline, &sides, &[])?;
    report.tell_names(found.ambiguities.clone());
    drop(progress);
    workspace.save();
    Ok(report)
}

/// Returns the conclusion of the check. It follows the exit status, but a policy that warns turns success to neutral.
fn conclusion(status: Status, report: &Report) -> Conclusion {
    match status {
        Status::Done if report.policy_level() == Some(PolicyLevel::Warning) => Conclusion::Neutral,
        Status::Done | Status::NotFound => Conclusion::Success,
        Status::Unseen => Conclusion::Neutral,
        Status::Found | Status::Refused | Status::Untestable => Conclusion::Failure,
    }
}

/// Returns true if there is nothing to report.
fn is_clean(report: &Report) -> bool {
    report.verdict() == Verdict::NoChange
        && report.findings.is_empty()
        && report.reencrypted.is_empty()
        && report.policies.is_empty()
}

/// Returns the options of the comment on the commit `head`, with the links that this job knows.
fn comment_options(arguments: &Arguments, target: &Target, head: &str) -> markdown::Options {
    let budget = arguments.budget.unwrap_or(markdown::Options::default().budget);
    markdown::Options { budget, link_base: target.files(head), report_url: target.ci.url.clone() }
}

fn write_summary(arguments: &Arguments, target: &Target, report: &Report, options: &markdown::Options) -> Result<()> {
    // A dry run shows what would be posted.
    let shown = (arguments.dry_run && arguments.save.is_none()).then(|| PathBuf::from("-"));
    let Some(path) = arguments.summary.as_ref().or(target.ci.summary.as_ref()).or(shown.as_ref()) else {
        return Ok(());
    };
    // The summary is the report itself, as far as it fits, so it links to no other one.
    let options = markdown::Options { budget: MAX_SUMMARY_CHARACTERS, report_url: None, ..options.clone() };
    let text = markdown::document(report, &options).markdown(&options);
    if path == Path::new("-") {
        let mut out = output::stdout();
        out.write_all(text.as_bytes())?;
        return Ok(out.flush()?);
    }
    let failed = |error: std::io::Error| format!("cannot write the summary to {}: {error}", path.display());
    let mut file = disk::append_named(path).map_err(failed)?;
    Ok(file.write_all(format!("{text}\n").as_bytes()).map_err(failed)?)
}

/// Prints what was done, or why it was not.
fn print_outcome(posted: &Posted, number: u64) {
    match posted {
        Posted::Done => log::print(&format_args!("hierad: the review is on request {number}")),
        Posted::None => log::print(&format_args!("hierad: request {number} has no effect, and needs no comment")),
        Posted::Superseded => {
            log::print(&format_args!("hierad: request {number} has a newer commit or review: its comment stays"));
        }
        Posted::Closed => log::print(&format_args!("hierad: request {number} is closed: its comment stays")),
    }
}
