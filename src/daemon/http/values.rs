//! Effective values.

use std::sync::Arc;

use axum::extract;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::answers::{Answers, Found, Question, Snapshot, Subject};
use super::body::Json;
use super::parameters::{Name, Parameters};
use super::problem::Problem;
use super::reports::json;
use super::state::State;
use crate::puppet::json as values;

/// How many nodes are listed, if nobody says, and at most.
const LIMIT: usize = 1000;
const MAX_LIMIT: usize = 10_000;

/// The longest name of a revision, in bytes.
const MAX_REVISION: usize = 250;

/// The most keys that are asked for together.
const MAX_KEYS: usize = 1000;

#[derive(Serialize)]
struct Page<'a> {
    total: usize,
    nodes: Vec<&'a str>,
    /// What `after` has to be for the next ones; null if there are none.
    next: Option<&'a str>,
}

/// The names of the nodes, in order.
pub(super) async fn nodes(
    extract::State(state): extract::State<Arc<State>>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    let parameters = parameters.only(&["repository", "limit", "after"])?;
    let limit = parameters.number("limit", (1, MAX_LIMIT))?.unwrap_or(LIMIT);
    let names = state.ask(parameters.text("repository"), |answers| answers.nodes()).await?;
    let start = parameters.text("after").map_or(0, |after| names.partition_point(|name| **name <= *after));
    let end = names.len().min(start + limit);
    let nodes: Vec<&str> = names[start..end].iter().map(|name| &**name).collect();
    let next = nodes.last().copied().filter(|_| end < names.len());
    json(&Page { total: names.len(), nodes, next })
}

/// The effective values of a node.
pub(super) async fn node(
    extract::State(state): extract::State<Arc<State>>,
    Name(certname): Name,
    parameters: Parameters,
) -> Result<Response, Problem> {
    let parameters = parameters.only(&["repository", "rev", "key"])?;
    let revision = revision(parameters.text("rev"))?;
    let keys = checked(parameters.all("key").map(str::to_owned).collect())?;
    let ask = move |answers: &dyn Answers| answers.snapshot(&certname, &revision, &keys);
    let Snapshot { commit, text } = state.ask(parameters.text("repository"), ask).await?;
    Ok(([(CONTENT_TYPE.as_str(), "application/json"), ("x-hierad-commit", &*commit)], text).into_response())
}

/// A lookup as it is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    repository: Option<String>,
    keys: Vec<String>,
    node: Option<String>,
    profile: Option<Box<RawValue>>,
    rev: Option<String>,
    merge: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Answer {
    commit: String,
    node: String,
    key: String,
    value: Box<RawValue>,
}

/// Looks keys up on a node of the fleet, or on one that the client makes up.
pub(super) async fn lookup(
    extract::State(state): extract::State<Arc<State>>,
    parameters: Parameters,
    Json(asked): Json<Asked>,
) -> Result<Response, Problem> {
    parameters.only(&[])?;
    let repository = asked.repository.clone();
    let question = question(asked)?;
    let ask = move |answers: &dyn Answers| answers.lookup(&question);
    let Found { commit, node, key, value } = state.ask(repository.as_deref(), ask).await?;
    let value = RawValue::from_string(value).map_err(|error| Problem::fault(&error))?;
    json(&Answer { commit, node, key, value })
}

fn question(asked: Asked) -> Result<Question, Problem> {
    let subject = match (asked.node, asked.profile) {
        (Some(node), None) => Subject::Node(node),
        (None, Some(profile)) => Subject::Profile(profile.get().as_bytes().to_vec()),
        _ => return Err(Problem::wrong("one of 'node' and 'profile' is needed").at(".".to_owned())),
    };
    if asked.keys.is_empty() {
        return Err(Problem::wrong("at least one key is needed").at("keys".to_owned()));
    }
    let merge = asked.merge.map(|merge| values::parse(merge.get().as_bytes()));
    if let Some(fault) = merge.as_ref().and_then(|merge| merge.fault.as_ref()) {
        return Err(Problem::wrong(fault.text.clone()).at("merge".to_owned()));
    }
    let merge = merge.map(|merge| merge.value);
    Ok(Question { revision: revision(asked.rev.as_deref())?, subject, keys: checked(asked.keys)?, merge })
}

fn checked(keys: Vec<String>) -> Result<Vec<String>, Problem> {
    if keys.len() > MAX_KEYS || keys.iter().any(String::is_empty) {
        return Err(Problem::wrong(format!("there may be {MAX_KEYS} keys, and none of them empty")));
    }
    Ok(keys)
}

/// The revision that is asked for; no option for a program.
fn revision(named: Option<&str>) -> Result<String, Problem> {
    let revision = named.unwrap_or("HEAD");
    if revision.is_empty() || revision.len() > MAX_REVISION || revision.starts_with('-') {
        return Err(Problem::wrong(format!("a revision has 1 to {MAX_REVISION} bytes and does not begin with '-'")));
    }
    Ok(revision.to_owned())
}
