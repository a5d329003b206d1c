//! The history of effective values.

use std::sync::Arc;

use axum::extract;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde_json::value::RawValue;

use super::answers::{Answers, Blamed, HistoryPage, HistoryPlace, HistoryRequest};
use super::parameters::Parameters;
use super::problem::Problem;
use super::response::json;
use super::state::State;
use super::values::revision;
use crate::git::CommitId;
use crate::pattern::Pattern;
use crate::workers::Stop;

/// The default and the maximum number of entries in a page.
const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 1000;

/// The maximum number of patterns of keys or nodes, and the size that each may have when it is compiled.
const MAX_PATTERNS: usize = 100;
const MAX_PATTERN_SIZE: usize = 1 << 16;

#[derive(Serialize)]
struct Page {
    /// The last commit of the history.
    commit: String,
    entries: Vec<Box<RawValue>>,
    /// The commits that may change values unseen.
    unseen: Vec<String>,
    blind_spots: Vec<String>,
    /// The parameter `after` of the next page; null if this is the last.
    next: Option<String>,
}

#[derive(Serialize)]
struct BlameAnswer {
    commit: String,
    parts: Vec<Box<RawValue>>,
    blind_spots: Vec<String>,
}

/// Lists the commits that changed keys.
pub(super) async fn log(
    extract::State(state): extract::State<Arc<State>>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    let parameters = parameters.only(&["repository", "rev", "key", "node", "text", "after", "limit"])?;
    let request = request(&parameters)?;
    let ask = move |answers: &dyn Answers, stop: &Arc<dyn Stop>| answers.history(&request, stop);
    let HistoryPage { commit, entries, unseen, blind_spots, next } =
        state.ask(parameters.text("repository"), ask).await?;
    json(&Page {
        commit: commit.to_string(),
        entries: raw(entries)?,
        unseen: unseen.iter().map(CommitId::to_string).collect(),
        blind_spots,
        next: next.as_ref().map(HistoryPlace::to_string),
    })
}

/// Finds the commits that made values what they are.
pub(super) async fn blame(
    extract::State(state): extract::State<Arc<State>>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    let parameters = parameters.only(&["repository", "rev", "key", "node"])?;
    let request = request(&parameters)?;
    if request.keys.is_empty() && request.nodes.is_empty() {
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "'key' or 'node' is needed"));
    }
    let ask = move |answers: &dyn Answers, stop: &Arc<dyn Stop>| answers.blame(&request, stop);
    let Blamed { commit, parts, blind_spots } = state.ask(parameters.text("repository"), ask).await?;
    json(&BlameAnswer { commit: commit.to_string(), parts: raw(parts)?, blind_spots })
}

/// Reads a question about the history.
pub(super) fn request(parameters: &Parameters) -> Result<HistoryRequest, Problem> {
    let after = parameters.text("after").map(|place| {
        HistoryPlace::parse(place).ok_or_else(|| Problem::wrong("'after' must be the 'next' of the page before"))
    });
    Ok(HistoryRequest {
        revision: revision(parameters.text("rev"))?,
        keys: patterns(parameters, "key")?,
        nodes: patterns(parameters, "node")?,
        text: parameters.text("text").filter(|text| !text.is_empty()).map(str::to_owned),
        after: after.transpose()?,
        limit: parameters.number("limit", (1, MAX_LIMIT))?.unwrap_or(DEFAULT_LIMIT),
    })
}

/// Returns the patterns that a parameter has.
fn patterns(parameters: &Parameters, name: &str) -> Result<Vec<Pattern>, Problem> {
    let texts: Vec<&str> = parameters.all(name).collect();
    if texts.len() > MAX_PATTERNS || texts.contains(&"") {
        return Err(Problem::wrong(format!("'{name}' may be given {MAX_PATTERNS} times, and none may be empty")));
    }
    texts.into_iter().map(|text| pattern(name, text)).collect()
}

/// Reads a pattern that a parameter has.
pub(super) fn pattern(name: &str, text: &str) -> Result<Pattern, Problem> {
    let parsed = Pattern::bounded(text, MAX_PATTERN_SIZE);
    parsed.map_err(|error| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, format!("'{name}': {error}")))
}

fn raw(texts: Vec<String>) -> Result<Vec<Box<RawValue>>, Problem> {
    texts.into_iter().map(|text| RawValue::from_string(text).map_err(|error| Problem::fault(&error))).collect()
}
