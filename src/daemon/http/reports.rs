//! The stored reports.

use std::sync::Arc;

use axum::extract;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::parameters::{Name, Parameters};
use super::problem::Problem;
use super::response::json;
use super::state::State;
use crate::daemon::queue::{Job, ReportQuery, StoredReport};
use crate::event::{CommitEvent, JobName, JobNumber};
use crate::git::CommitId;

/// The default and the maximum number of reports in a list.
const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 1000;

#[derive(Serialize)]
struct List {
    reports: Vec<Summary>,
    /// The parameter `before` or `after` of the next page; null if this is the last.
    next: Option<JobNumber>,
}

#[derive(Serialize)]
struct Summary {
    number: JobNumber,
    id: String,
    repository: String,
    branch: String,
    kind: &'static str,
    before: Option<String>,
    after: String,
    time: String,
}

impl From<StoredReport> for Summary {
    fn from(StoredReport { job: Job { name, event, .. }, time }: StoredReport) -> Summary {
        let JobName { id, number, repository } = name;
        let CommitEvent { branch, before, after, kind, .. } = event;
        Summary {
            number,
            id: id.to_string(),
            repository: repository.to_string(),
            branch: branch.to_string(),
            kind: kind.as_str(),
            before: before.map(|before| before.to_string()),
            after: after.to_string(),
            time: time.to_string(),
        }
    }
}

/// Lists the latest reports, those with lower numbers than `before`, or those made later than `after`.
pub(super) async fn list(
    extract::State(state): extract::State<Arc<State>>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    let parameters = parameters.only(&["limit", "before", "after"])?;
    let limit = parameters.number("limit", (1, MAX_LIMIT))?.unwrap_or(DEFAULT_LIMIT);
    let before = parameters.number("before", (JobNumber(1), JobNumber::MAX))?.unwrap_or(JobNumber::MAX);
    let after = parameters.number("after", (JobNumber(0), JobNumber::MAX))?;
    // One more than asked for shows whether there is another page.
    let listed = async {
        match after {
            Some(after) => state.queue.reports_after(state.queue.cursor_at(after).await?, before, limit + 1).await,
            None => state.queue.reports(before, limit + 1).await,
        }
    };
    let mut reports = state.queue(listed).await?;
    let is_last = reports.len() <= limit as usize;
    reports.truncate(limit as usize);
    let next = reports.last().filter(|_| !is_last).map(|last| last.job.name.number);
    json(&List { reports: reports.into_iter().map(Summary::from).collect(), next })
}

/// Answers with the last report of a commit, for a repository, branch or number if these are given.
pub(super) async fn one(
    extract::State(state): extract::State<Arc<State>>,
    Name(commit): Name,
    parameters: Parameters,
) -> Result<Response, Problem> {
    let parameters = parameters.only(&["repository", "branch", "number"])?;
    let Some(id) = CommitId::from_hex(&commit) else {
        return Err(Problem::wrong("name the commit by its full id of 40 hexadecimal digits"));
    };
    let number = parameters.number("number", (0, i64::MAX))?.map(JobNumber);
    let (repository, branch) = (parameters.text("repository"), parameters.text("branch"));
    let query = ReportQuery { commit: id, repository, branch, number };
    if let Some(report) = state.queue(state.queue.report(query)).await? {
        return Ok(([(CONTENT_TYPE, "application/json")], report).into_response());
    }
    Err(match state.queue(state.queue.reason(query)).await? {
        Some(reason) => Problem::unknown(format!("the commit {id} could not be resolved: {reason}")),
        None => unknown(&query),
    })
}

fn unknown(query: &ReportQuery<'_>) -> Problem {
    let place = |word: &str, name: Option<&str>| name.map(|name| format!(" {word} '{name}'")).unwrap_or_default();
    let (branch, repository) = (place("on branch", query.branch), place("of repository", query.repository));
    Problem::unknown(format!("there is no report of the commit {}{branch}{repository}", query.commit))
}
