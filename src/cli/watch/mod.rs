//! `hierad watch`: the daemon in the foreground.

pub(in crate::cli) mod serve;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Args;
use tokio::runtime::Runtime;

use crate::app::settings::listen_address;
use crate::app::{DaemonOptions, Plan, Program, Workspace, check_unqueued, run_unqueued};
use crate::cli::diff::style;
use crate::cli::output::log;
use crate::cli::{Global, Result, Status, bound, output};
use crate::event::JobNumber;
use crate::git::bind_exchanges;
use crate::report::{Format, Report, write};

/// Arguments of `watch`.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct Arguments {
    /// Only these branches: a name or a glob; may be repeated [default: all local branches]
    #[arg(long, value_name = "PATTERN")]
    branch: Vec<String>,
    /// Report the commits since this one first
    #[arg(long, value_name = "REV")]
    since: Option<String>,
    /// Output format: JSON is a line for each report [default: text]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Keep a durable queue in this folder: commits that are not reported when the daemon ends are reported after its
    /// next start. Reports go to the sinks in the settings or, without any, to standard output as lines of JSON
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Only check that the daemon could start: settings, profiles, sinks, repositories
    #[arg(long)]
    check_config: bool,
    /// Format of log lines
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) log_format: log::Format,
    /// Answer over HTTP at this address and port; needs a token in the settings if others can reach it. Keeps a
    /// durable queue
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// Look for new commits at least this often, besides file notification
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    poll: Duration,
    /// Do not use file notification
    #[arg(long)]
    no_notify: bool,
    /// Resolve this job of the running daemon, and write the answer for it
    #[arg(long, value_name = "NUMBER", hide = true)]
    resolve_job: Option<JobNumber>,
}

/// The flag of `resolve_job`.
const RESOLVE_JOB: &str = "--resolve-job";

impl Arguments {
    /// Returns the arguments as options of the daemon.
    fn options(&self, global: &Global) -> DaemonOptions {
        let log_format = self.log_format;
        DaemonOptions {
            overrides: global.overrides(),
            branches: self.branch.clone(),
            since: self.since.clone(),
            state: self.state.clone(),
            listen: self.listen,
            poll: self.poll,
            notify: !self.no_notify,
            program: program(),
            output: Arc::new(Mutex::new(Box::new(output::stdout()))),
            announce: Arc::new(move |line| log::tell(log_format, &line)),
        }
    }
}

/// Returns this program as it was started, even if its file has been replaced since.
fn program() -> Option<Arc<Program>> {
    let path = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe().ok()? };
    Some(Arc::new(Program { path, arguments: std::env::args_os().skip(1).collect(), flag: RESOLVE_JOB }))
}

/// Has the processes that this one starts end with it.
fn bind(program: &Program) {
    bind_exchanges(vec![program.path.clone().into(), bound::NAME.into()]);
}

/// Resolves one job for the daemon. If the daemon, which holds the other end of standard input, ends, so does this
/// process, along with everything that it has started.
fn resolve_job(number: JobNumber, mode: Mode, options: &DaemonOptions, runtime: &Runtime) -> Result {
    let Mode::Queue(plan) = mode else { return Err("there is no durable queue".into()) };
    bound::end_with_daemon();
    runtime.block_on(plan.resolve(number, options, &mut output::for_process()))?;
    Ok(Status::Done)
}

fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("'{text}' is not a number of seconds"))?;
    match Duration::try_from_secs_f64(number) {
        Ok(duration) if duration >= Duration::from_millis(10) => Ok(duration),
        _ => Err("must be 0.01 or more".to_owned()),
    }
}

pub(in crate::cli) fn run(global: &Global, arguments: &Arguments) -> Result {
    let options = arguments.options(global);
    let mode = Mode::new(&options)?;
    if matches!(mode, Mode::Queue(_)) && arguments.format.is_some_and(|format| format != Format::Json) {
        return Err("with a durable queue, reports are lines of JSON: --format cannot be used".into());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if arguments.check_config {
        return runtime.block_on(mode.check(&options));
    }
    if let Some(number) = arguments.resolve_job {
        return resolve_job(number, mode, &options, &runtime);
    }
    options.program.as_deref().inspect(|program| bind(program));
    let done = match mode {
        Mode::Queue(plan) => runtime.block_on(plan.run(&options)),
        Mode::Print(workspace) => {
            let (global, format) = (global.clone(), arguments.format.unwrap_or(Format::Text));
            let print = move |report: &Report| print(report, format, &global);
            runtime.block_on(run_unqueued(*workspace, &options, print))
        }
    };
    // A sink may hang in a write that nobody can cancel.
    runtime.shutdown_background();
    done.map(|()| Status::Done)
}

/// The two ways to deal with commits.
enum Mode {
    /// Keep them in a durable queue until their reports are delivered.
    Queue(Box<Plan>),
    /// Print their reports at once.
    Print(Box<Workspace>),
}

impl Mode {
    fn new(options: &DaemonOptions) -> Result<Mode> {
        if let Some(plan) = Plan::of_settings(options)? {
            return Ok(Mode::Queue(Box::new(plan)));
        }
        let workspace = Workspace::open(&options.overrides)?;
        let plan = Plan::of_repository(&workspace, options)?;
        // A plan logs the refused settings for each of its repositories.
        if plan.is_none() {
            workspace.log_refused();
        }
        Ok(plan.map_or_else(|| Mode::Print(Box::new(workspace)), |plan| Mode::Queue(Box::new(plan))))
    }

    /// Checks that the daemon could start, and says so.
    async fn check(self, options: &DaemonOptions) -> Result {
        let found = match self {
            Mode::Queue(plan) => plan.check(options).await?,
            Mode::Print(workspace) => {
                check_unqueued(*workspace, options)?;
                "1 repository, no durable queue: reports are printed".to_owned()
            }
        };
        let mut out = output::stdout();
        writeln!(out, "the settings are fine: {found}")?;
        out.flush()?;
        Ok(Status::Done)
    }
}

/// Prints a report, followed by an empty line in formats for people.
fn print(report: &Report, format: Format, global: &Global) -> std::io::Result<()> {
    let mut out = output::coloured(output::color(global));
    write(report, format, &style(global, None), &mut out)?;
    if format != Format::Json {
        writeln!(out)?;
    }
    out.flush()
}
