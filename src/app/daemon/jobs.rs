//! Resolves the jobs of a repository, in this process or by running the program in a separate one.

use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::process::Command;

use super::open_repository::RepositoryHandle;
use crate::app::guard::Overrun;
use crate::app::pipelines::compare;
use crate::app::workspace::node_pair::NodePair;
use crate::app::{BranchPipelines, Program, Result, Workspace};
use crate::daemon::queue::{Body, Job};
use crate::daemon::service::{AttemptLimits, Recovery, Resolve, Resolved, Sources, Unresolved};
use crate::diagnostic::Diagnostic;
use crate::event::{CommitEvent, EventKind};
use crate::git::BranchName;
use crate::inventory::{AnswerSet, FactsChange};
use crate::node::ProfileError;
use crate::pipeline::{DiffFilter, PipelineError, RevisionId};
use crate::report::writers::json;
use crate::report::{Between, FindingChange, Report};
use crate::settings::Limits;
use crate::workers::Stop;

/// Resolves the jobs of a repository.
pub(super) struct JobResolver {
    pub(super) repository: RepositoryHandle,
    pub(super) program: Option<Arc<Program>>,
}

impl Resolve for JobResolver {
    fn resolve(&self, job: &Job) -> std::result::Result<Resolved, Unresolved> {
        let open =
            self.repository.get().map_err(|error| Unresolved { error: error.into(), recovery: Recovery::Wait })?;
        open.guard.begin_whole();
        let result = resolve_job(&open.pipelines, job, &*open.guard);
        match open.guard.end() {
            None => {}
            // Other work of the daemon may have used the memory.
            Some(Overrun::Memory(text)) if job.attempts <= 1 => {
                return Err(Unresolved { error: (*text).into(), recovery: Recovery::RetryApart });
            }
            Some(Overrun::Memory(text) | Overrun::Time(text)) => {
                return Err(Unresolved { error: (*text).into(), recovery: Recovery::SetAside });
            }
        }
        result.map_err(|error| {
            let is_lost = open.repository.is_gone(job.event.after) || is_lost(&*error, job.attempts);
            let recovery = match open.repository.is_there() {
                false => Recovery::Wait,
                true if is_lost => Recovery::SetAside,
                true => Recovery::Retry,
            };
            Unresolved { error, recovery }
        })
    }

    fn sources(&self) -> Option<Sources> {
        let open = self.repository.get().ok()?;
        let (inventory, trouble) = {
            let pipelines = open.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
            (pipelines.inventory(), pipelines.trouble())
        };
        let trouble = trouble.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(Sources { answers: inventory.last_answers()?.to_text(), fetched: inventory.last_fetched()?, trouble })
    }

    fn mark_in_use(&self, answers: &[String]) {
        let Ok(open) = self.repository.get() else { return };
        let inventory = open.pipelines.lock().unwrap_or_else(PoisonError::into_inner).inventory();
        let sets: Vec<AnswerSet> = answers.iter().filter_map(|text| AnswerSet::from_text(text)).collect();
        if let Err(error) = inventory.mark_in_use(&sets) {
            tracing::warn!(%error, "cannot save the answers of node sources that reports are based on");
        }
    }

    fn limits(&self) -> AttemptLimits {
        let Limits { time, memory, .. } = self.repository.get().map_or_else(|_| Limits::default(), |open| open.limits);
        AttemptLimits { time, memory }
    }

    fn default_branch(&self) -> Option<BranchName> {
        self.repository.get().ok()?.repository.branch().ok().flatten()
    }

    fn has_apart(&self) -> bool {
        self.program.is_some()
    }

    fn apart(&self, job: &Job) -> Option<Command> {
        let Program { path, arguments, flag } = &**self.program.as_ref()?;
        let mut command = Command::new(path);
        command.args(arguments).arg(flag).arg(job.name.number.to_string());
        Some(command)
    }
}

/// Returns true if a tree contains more than hierad reads.
pub(super) fn is_too_large(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(error.downcast_ref::<PipelineError>(), Some(PipelineError::Tree(tree)) if tree.is_too_large)
}

/// The number of attempts to read missing or damaged objects, which may still be on their way.
const MAX_READ_ATTEMPTS: i64 = 3;

/// Returns true if it is useless to try again after this many attempts: a tree that is too large stays so, and lost
/// objects do not return by themselves.
fn is_lost(error: &(dyn std::error::Error + 'static), attempts: i64) -> bool {
    let is_of_objects =
        matches!(error.downcast_ref::<PipelineError>(), Some(PipelineError::Tree(_) | PipelineError::Object(_)));
    is_too_large(error) || attempts >= MAX_READ_ATTEMPTS && is_of_objects
}

/// Makes the report of a job, and its stored form.
fn resolve_job(pipelines: &Mutex<BranchPipelines>, job: &Job, guard: &dyn Stop) -> Result<Resolved> {
    let Job { name, event, .. } = job;
    let (report, answers) = if event.kind == EventKind::Facts {
        report_facts(pipelines, job)?
    } else {
        let report = report_commit(pipelines, job)?;
        let answers = report.names.fleet.answers();
        (Some(report), answers)
    };
    let Some(mut report) = report else { return Ok(Resolved { report: None, answers }) };
    (report.event, report.job) = (Some(event.clone()), Some(name.clone()));
    report.findings.extend(job.set_aside.iter().map(|commit| {
        let text = format!("commit {commit} could not be resolved: what it changes is in this report");
        let diagnostic = Diagnostic::note("set-aside-commit", None, text);
        FindingChange { is_new: true, diagnostic, nodes: 0 }
    }));
    let json = Body::written(|out| {
        let mut out = BufWriter::with_capacity(CHUNK, StoppableWriter { out, guard });
        json::write(&report, json::Options::default(), &mut out)?;
        out.flush()
    })?;
    Ok(Resolved { report: Some((report, json)), answers })
}

/// Reports what a commit changes on the nodes of its branch's last report. Changes by newer answers of sources are
/// left to another job.
fn report_commit(pipelines: &Mutex<BranchPipelines>, Job { event, answers, .. }: &Job) -> Result<Report> {
    let answers = answers.as_deref().and_then(AnswerSet::from_text);
    let pipeline = || {
        let mut pipelines = pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        match &answers {
            Some(answers) => pipelines.ready_with(Some(&event.branch), Some(answers)),
            None => pipelines.ready(Some(&event.branch)),
        }
    };
    Ok(compare(event, pipeline)?.report)
}

/// Reports what the latest answers of sources change at the commit of the last report; `None` stands for no change.
/// Also returns the answers that are in use from now on.
fn report_facts(
    pipelines: &Mutex<BranchPipelines>,
    Job { event, answers, .. }: &Job,
) -> Result<(Option<Report>, Option<String>)> {
    let former = answers.as_deref().and_then(AnswerSet::from_text);
    let [before, after] = {
        let pipelines = pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        [former.as_ref(), None].map(|answers| pipelines.workspace_with(answers))
    };
    let id = RevisionId::Commit(event.after);
    let warn_left_out =
        |error: &ProfileError| tracing::warn!(%error, "a node profile cannot be read: its node is left out");
    let Some(pair) = NodePair::of([&before, &after], Some(&event.branch), id, &warn_left_out)? else {
        tracing::warn!("the node sources no longer know any of the previous nodes: there is nothing to compare");
        return Ok((None, after.answers.as_ref().map(AnswerSet::to_text)));
    };
    let mut report = pair.pipeline.diff_nodes(&pair.before, id, &DiffFilter::ALL, Between::Facts)?.report;
    report.findings.extend(pair.findings());
    let is_news = !report.changes.is_empty() || !pair.gone.is_empty() || !pair.new.is_empty();
    let last = pair.pipeline.fleet.answers();
    if is_news {
        note_change(&after, event, [pair.before.answers(), last.clone()]);
    }
    Ok((is_news.then_some(report), last))
}

/// Keeps both sides of a change of facts, for the history.
fn note_change(workspace: &Workspace, event: &CommitEvent, answers: [Option<String>; 2]) {
    let [Some(before), Some(after)] = answers.map(|text| AnswerSet::from_text(&text?)) else { return };
    let time = Timestamp::now().as_second();
    let change = FactsChange { time, branch: event.branch.clone(), commit: event.after, before, after };
    if let Err(error) = workspace.inventory(None).note_change(change) {
        tracing::warn!(%error, "the history will lack a change of facts");
    }
}

/// The number of bytes written between two looks at the guard.
const CHUNK: usize = 1 << 20;

/// Writes as long as the result is wanted.
struct StoppableWriter<'w> {
    out: &'w mut dyn Write,
    guard: &'w dyn Stop,
}

impl Write for StoppableWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.guard.unwanted().map_or(Ok(()), |reason| Err(io::Error::other(reason.to_string())))?;
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
