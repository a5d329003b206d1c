//! The reports that are kept.

use std::sync::Arc;

use axum::extract;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::parameters::{Name, Parameters};
use super::problem::Problem;
use super::state::State;
use crate::daemon::queue::{Job, JobNumber, Kept, Wanted};
use crate::git::CommitId;

/// How many reports are listed, if nobody says, and at most.
const LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 1000;

#[derive(Serialize)]
struct List {
    reports: Vec<Summary>,
    /// What `before` has to be for the next ones; null if there are none.
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

impl From<Kept> for Summary {
    fn from(kept: Kept) -> Summary {
        let Kept { job: Job { number, id, repository, event, .. }, time } = kept;
        Summary {
            number,
            id,
            repository,
            branch: event.branch.to_string(),
            kind: event.kind.as_str(),
            before: event.before.map(|before| before.to_string()),
            after: event.after.to_string(),
            time: time.to_string(),
        }
    }
}

/// The latest reports, and those before them.
pub(super) async fn list(
    extract::State(state): extract::State<Arc<State>>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    let parameters = parameters.only(&["limit", "before"])?;
    let limit = parameters.number("limit", (1, MAX_LIMIT))?.unwrap_or(LIMIT);
    let before = parameters.number("before", (1, JobNumber::MAX))?.unwrap_or(JobNumber::MAX);
    // One more tells whether there are more.
    let mut reports = state.queue(state.queue.reports(before, limit + 1)).await?;
    let is_last = reports.len() <= limit as usize;
    reports.truncate(limit as usize);
    let next = reports.last().filter(|_| !is_last).map(|last| last.job.number);
    json(&List { reports: reports.into_iter().map(Summary::from).collect(), next })
}

/// The last report of a commit, or that of its coming to a branch.
pub(super) async fn one(
    extract::State(state): extract::State<Arc<State>>,
    Name(commit): Name,
    parameters: Parameters,
) -> Result<Response, Problem> {
    let parameters = parameters.only(&["repository", "branch"])?;
    let Some(id) = CommitId::from_hex(&commit) else {
        return Err(Problem::wrong("a commit is named by its whole id, 40 hexadecimal digits"));
    };
    let wanted = Wanted { commit: id, repository: parameters.text("repository"), branch: parameters.text("branch") };
    let report = state.queue(state.queue.report(wanted)).await?.ok_or_else(|| unknown(&wanted))?;
    Ok(([(CONTENT_TYPE, "application/json")], report).into_response())
}

fn unknown(wanted: &Wanted<'_>) -> Problem {
    let place = |word: &str, name: Option<&str>| name.map(|name| format!(" {word} '{name}'")).unwrap_or_default();
    let (branch, repository) = (place("on branch", wanted.branch), place("of repository", wanted.repository));
    Problem::unknown(format!("there is no report of the commit {}{branch}{repository}", wanted.commit))
}

/// A body of JSON.
pub(super) fn json(value: &impl Serialize) -> Result<Response, Problem> {
    let body = serde_json::to_vec(value).map_err(|error| Problem::fault(&error))?;
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}
