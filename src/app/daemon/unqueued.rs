//! A daemon without a durable queue: each commit is reported at once, and nothing is kept.

use std::sync::Arc;

use super::options::banner;
use super::signals::{Signal, Signals};
use crate::app::guard::Guard;
use crate::app::{BranchPipelines, DaemonOptions, Result, Workspace};
use crate::daemon::{self, HandlerError};
use crate::event::CommitEvent;
use crate::git::BranchPatterns;
use crate::pipeline::Comparison;
use crate::report::Report;

/// Watches the repository of `workspace` until the process is asked to stop, and passes each report to `print`.
pub async fn run_unqueued(
    workspace: Workspace,
    options: &DaemonOptions,
    print: impl FnMut(&Report) -> std::io::Result<()> + Send + 'static,
) -> Result<()> {
    let branches = BranchPatterns::new(options.patterns(&workspace.settings.branches))?;
    let repository = (*workspace.repository).clone();
    let checkpoint = options.checkpoint(&repository, &branches)?;
    let watch = options.watch(branches, false);
    let workspace = workspace.with_own_guard();
    let guard = workspace.guard();
    let mut pipelines = BranchPipelines::new(workspace);
    // Report trouble with the profiles right away.
    pipelines.get(None)?;
    let mut reporter = Reporter { pipelines, guard, print };
    let mut signals = Signals::new()?;
    let shutdown = async move { while signals.next().await != Signal::End {} };
    // From this line on every commit is reported, and a signal ends the watch.
    (options.announce)(&banner(&repository, &watch.branches)?);
    let handler = daemon::each(move |event| reporter.handle(&event));
    Ok(daemon::watch(repository, checkpoint, watch, handler, shutdown).await?)
}

/// Checks that the repository of `workspace` could be watched.
pub fn check_unqueued(workspace: Workspace, options: &DaemonOptions) -> Result<()> {
    banner(&workspace.repository, &BranchPatterns::new(options.patterns(&workspace.settings.branches))?)?;
    BranchPipelines::new(workspace).get(None)?;
    Ok(())
}

/// Makes and prints the report of each commit.
struct Reporter<P> {
    pipelines: BranchPipelines,
    guard: Arc<Guard>,
    print: P,
}

impl<P: FnMut(&Report) -> std::io::Result<()>> Reporter<P> {
    fn handle(&mut self, event: &CommitEvent) -> std::result::Result<(), HandlerError> {
        let _span = tracing::error_span!("commit", commit = %event.after, branch = %event.branch).entered();
        self.guard.begin();
        let compared = self.pipelines.compare(event).map_err(HandlerError::Runtime);
        if let Some(overrun) = self.guard.end() {
            let reason = overrun.reason();
            tracing::warn!(%reason, "the commit was not fully resolved");
        }
        // The answers that were compared are dropped after the report is printed.
        let Comparison { mut report, effective: _effective } = compared?;
        report.event = Some(event.clone());
        (self.print)(&report).map_err(|error| HandlerError::Critical(error.into()))
    }
}
