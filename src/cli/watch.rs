//! `hierad watch`: the daemon in the foreground.

use std::collections::HashMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;

use super::context::Context;
use super::diff::{Format, Style, write};
use super::service::Plan;
use super::signals::{Signal, Signals};
use super::{Global, Result, Status, log, output};
use crate::daemon::{self, CommitEvent, HandlerError};
use crate::git::{BranchName, BranchPatterns, Repository};
use crate::node::ProfileError;
use crate::pipeline::{Comparison, DiffFilter, Pipeline, RevisionId};
use crate::settings::{EnvironmentName, listen_address};

/// Arguments of `watch`.
#[derive(Debug, Clone, Args)]
pub(super) struct Arguments {
    /// Only these branches: a name or a glob; may be repeated [default: all local branches]
    #[arg(long, value_name = "PATTERN")]
    pub(super) branch: Vec<String>,
    /// Report the commits since this one first
    #[arg(long, value_name = "REV")]
    pub(super) since: Option<String>,
    /// How to write: JSON is a line a report [default: text]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Keep a durable queue in this folder: what is not reported when the daemon ends is reported when it is back. Reports go to
    /// the sinks of the settings or, without any, to standard output as lines of JSON
    #[arg(long, value_name = "DIR")]
    pub(super) state: Option<PathBuf>,
    /// Only see whether the daemon could start: settings, profiles, sinks, repositories
    #[arg(long)]
    pub(super) check_config: bool,
    /// How log lines look
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) log_format: log::Format,
    /// Answer over HTTP at this address and port; needs a token in the settings if others can reach it. Keeps a durable queue
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listen_address)]
    pub(super) listen: Option<SocketAddr>,
    /// How often to look for new commits, file notification aside
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub(super) poll: Duration,
    /// Do not ask the system for file notification
    #[arg(long)]
    pub(super) no_notify: bool,
}

fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("'{text}' is no number of seconds"))?;
    match Duration::try_from_secs_f64(number) {
        Ok(duration) if duration >= Duration::from_millis(10) => Ok(duration),
        _ => Err("must be 0.01 or more".to_owned()),
    }
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let work = Work::new(global, arguments)?;
    if matches!(work, Work::Serve(_)) && arguments.format.is_some_and(|format| format != Format::Json) {
        return Err("with a durable queue reports are lines of JSON: --format does not go with it".into());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if arguments.check_config {
        return runtime.block_on(work.check(arguments));
    }
    let done = match work {
        Work::Serve(plan) => runtime.block_on(plan.run(global, arguments)),
        Work::Print(context) => runtime.block_on(print(*context, global, arguments)),
    };
    // A sink may hang in a write that nobody can take back.
    runtime.shutdown_background();
    done.map(|()| Status::Done)
}

/// What is to be done with commits.
enum Work {
    /// To keep them in a durable queue until their reports are delivered.
    Serve(Box<Plan>),
    /// To print their reports.
    Print(Box<Context>),
}

impl Work {
    fn new(global: &Global, arguments: &Arguments) -> Result<Work> {
        if let Some(plan) = Plan::of_settings(global, arguments)? {
            return Ok(Work::Serve(Box::new(plan)));
        }
        let context = Context::open(global)?;
        let plan = Plan::of_repository(&context, global, arguments)?;
        Ok(plan.map_or_else(|| Work::Print(Box::new(context)), |plan| Work::Serve(Box::new(plan))))
    }

    /// Sees whether it could start, and says so.
    async fn check(self, arguments: &Arguments) -> Result {
        let found = match self {
            Work::Serve(plan) => plan.check(arguments).await?,
            Work::Print(context) => {
                Pipelines::new(*context).get(None)?;
                "1 repository, no durable queue: reports are printed".to_owned()
            }
        };
        let mut out = output::stdout();
        writeln!(out, "the settings are fine: {found}")?;
        out.flush()?;
        Ok(Status::Done)
    }
}

/// Prints reports until the process is told to end. Nothing is kept.
async fn print(context: Context, global: &Global, arguments: &Arguments) -> Result<()> {
    let patterns = if arguments.branch.is_empty() { &context.settings.branches } else { &arguments.branch };
    let branches = BranchPatterns::new(patterns)?;
    let repository = (*context.repository).clone();
    let (known, options) =
        (arguments.known(&repository, &branches)?, arguments.options(branches, context.settings.catch_up));
    let format = arguments.format.unwrap_or(Format::Text);
    let mut pipelines = Pipelines::new(context);
    pipelines.get(None)?;
    let mut reporter = Reporter { pipelines, global: global.clone(), format };
    let mut signals = Signals::new()?;
    let shutdown = async move { while signals.next().await != Signal::End {} };
    // Who has read this can rely on it: what is committed from now on is reported, and a signal ends the watch.
    log::tell(arguments.log_format, &banner(&repository, &options.branches)?);
    let handler = daemon::each(move |event| reporter.handle(&event));
    Ok(daemon::watch(repository, known, options, handler, shutdown).await?)
}

/// What tells that the watch goes on, and over what.
pub(super) fn banner(repository: &Repository, patterns: &BranchPatterns) -> Result<String> {
    let branches: Vec<String> = repository.branches(patterns)?.keys().map(ToString::to_string).collect();
    let folder = repository.work_dir().unwrap_or(repository.git_dir()).display();
    let branches = match branches.as_slice() {
        [] => "no branch so far, as none matches,".to_owned(),
        names if names.len() <= 5 => names.join(", "),
        names => format!("{} branches", names.len()),
    };
    Ok(format!("watching {branches} in {folder}; Ctrl-C ends it"))
}

/// A pipeline for each environment: where it is the branch's, branches have one each.
pub(super) struct Pipelines {
    context: Context,
    by_branch: HashMap<Option<BranchName>, Arc<Pipeline>>,
    /// Before then nobody looks whether profiles have changed.
    next_check: Instant,
}

/// So many times longer than a look at the profile files takes none is taken: there may be a hundred thousand.
const CHECK_PAUSE: u32 = 50;

impl Pipelines {
    /// Profiles are read when they are first asked for.
    pub(super) fn new(context: Context) -> Pipelines {
        Pipelines { context, by_branch: HashMap::new(), next_check: Instant::now() }
    }

    /// Whether the profiles are those that the pipeline knows, as far as it is time to look.
    fn is_current(&mut self, pipeline: &Pipeline) -> bool {
        let start = Instant::now();
        if start < self.next_check {
            return true;
        }
        let is_current = pipeline.fleet.is_current();
        self.next_check = Instant::now() + start.elapsed() * CHECK_PAUSE;
        is_current
    }

    /// What a commit changes.
    pub(super) fn compared(&mut self, event: &CommitEvent) -> Result<Comparison> {
        compared(&*self.get(Some(&event.branch))?, event)
    }

    /// The pipeline of a branch.
    pub(super) fn get(&mut self, branch: Option<&BranchName>) -> Result<Arc<Pipeline>> {
        let branch = branch.filter(|_| self.context.settings.environment == EnvironmentName::Branch);
        let known = self.by_branch.get(&branch.cloned()).cloned();
        if let Some(pipeline) = &known
            && self.is_current(pipeline)
        {
            return Ok(pipeline.clone());
        }
        let tip =
            self.context.repository.resolve(branch.map_or("HEAD", BranchName::as_str)).ok().map(RevisionId::Commit);
        let left_out = |error: &ProfileError| {
            tracing::warn!(%error, "a node profile cannot be read: its node is left out");
        };
        let fleet = self.context.fleet(&self.context.revisions(), branch, tip.as_slice(), &|_| true, &left_out);
        let pipeline = match (fleet, known) {
            (Ok(fleet), known) => {
                if known.is_some() {
                    tracing::info!("the node profiles have changed and were read again");
                }
                Arc::new(self.context.pipeline(self.context.revisions(), Arc::new(fleet)))
            }
            // Somebody may be writing them right now.
            (Err(error), Some(known)) => {
                tracing::warn!(%error, "the node profiles have changed and cannot be read: the former ones count");
                return Ok(known);
            }
            (Err(error), None) => return Err(error),
        };
        self.by_branch.insert(branch.cloned(), pipeline.clone());
        Ok(pipeline)
    }
}

/// What a commit changes. Where a rewritten branch has lost what was there before, for git has collected it, that is what the commit
/// changes by itself.
pub(super) fn compared(pipeline: &Pipeline, event: &CommitEvent) -> Result<Comparison> {
    let (repository, mut before) = (pipeline.repository(), event.before);
    if let Some(gone) = before.filter(|before| repository.is_gone(*before))
        && !repository.is_gone(event.after)
    {
        before = repository.parents(event.after)?.present.first().copied();
        let compared = before.map(tracing::field::display);
        tracing::warn!(%gone, compared, "the former tip was collected; the commit is compared with its parent");
    }
    let before = before.map_or(RevisionId::Empty, RevisionId::Commit);
    Ok(pipeline.diff(before, RevisionId::Commit(event.after), &DiffFilter::ALL)?)
}

/// Prints a report for each commit.
struct Reporter {
    pipelines: Pipelines,
    global: Global,
    format: Format,
}

impl Reporter {
    fn handle(&mut self, event: &CommitEvent) -> std::result::Result<(), HandlerError> {
        let _span = tracing::error_span!("commit", commit = %event.after, branch = %event.branch).entered();
        let compared = self.pipelines.compared(event).map_err(HandlerError::Runtime)?;
        let Comparison { mut report, effective: _effective } = compared;
        report.arrival = Some(event.arrival(None));
        let mut out = output::stdout();
        write(&report, self.format, &self.global, Style::default(), &mut out)
            .and_then(|()| if self.format == Format::Json { Ok(()) } else { writeln!(out) })
            .and_then(|()| out.flush())
            .map_err(|error| HandlerError::Critical(error.into()))
    }
}
