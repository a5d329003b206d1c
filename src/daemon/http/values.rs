//! Effective values.

use std::sync::Arc;

use axum::extract;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::answers::{Answers, DiffRequest, DiffResponse, LookupNode, LookupRequest, LookupResponse, NodeSnapshot};
use super::body::Json;
use super::parameters::{Name, Parameters};
use super::problem::Problem;
use super::response::json;
use super::state::State;
use crate::puppet::json as values;
use crate::report::Format;
use crate::workers::Stop;

/// The default and the maximum number of nodes in a list.
const DEFAULT_LIMIT: usize = 1000;
const MAX_LIMIT: usize = 10_000;

/// The maximum length of a revision's name, in bytes.
const MAX_REVISION: usize = 250;

/// The notations of git that search the whole history with a regular expression, which any client could otherwise
/// make git do again and again.
const SEARCHES: [&str; 2] = [":/", "^{/"];

/// The maximum number of keys in one request.
const MAX_KEYS: usize = 1000;

#[derive(Serialize)]
struct Page<'a> {
    total: usize,
    nodes: Vec<&'a str>,
    /// The parameter `after` of the next page; null if this is the last.
    next: Option<&'a str>,
}

/// Lists the names of nodes, in order.
pub(super) async fn nodes(
    extract::State(state): extract::State<Arc<State>>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    let parameters = parameters.only(&["repository", "limit", "after"])?;
    let limit = parameters.number("limit", (1, MAX_LIMIT))?.unwrap_or(DEFAULT_LIMIT);
    let names = state.ask(parameters.text("repository"), |answers, _| answers.nodes()).await?;
    let start = parameters.text("after").map_or(0, |after| names.partition_point(|name| **name <= *after));
    let end = names.len().min(start + limit);
    let nodes: Vec<&str> = names[start..end].iter().map(|name| &**name).collect();
    let next = nodes.last().copied().filter(|_| end < names.len());
    json(&Page { total: names.len(), nodes, next })
}

/// Answers with the effective values of a node.
pub(super) async fn node(
    extract::State(state): extract::State<Arc<State>>,
    Name(certname): Name,
    parameters: Parameters,
) -> Result<Response, Problem> {
    let parameters = parameters.only(&["repository", "rev", "key"])?;
    let revision = revision(parameters.text("rev"))?;
    let keys = checked_keys(parameters.all("key").map(str::to_owned).collect())?;
    let ask = move |answers: &dyn Answers, stop: &Arc<dyn Stop>| answers.snapshot(&certname, &revision, &keys, stop);
    let NodeSnapshot { commit, text } = state.ask(parameters.text("repository"), ask).await?;
    Ok(([(CONTENT_TYPE.as_str(), "application/json"), ("x-hierad-commit", &*commit)], text).into_response())
}

/// Compares two revisions.
pub(super) async fn diff(
    extract::State(state): extract::State<Arc<State>>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    let parameters = parameters.only(&["repository", "from", "to", "format"])?;
    let from = parameters.text("from").map(|from| revision(Some(from))).transpose()?;
    let format = parameters.text("format").unwrap_or(Format::Json.name());
    let Some(format) = Format::ALL.into_iter().find(|known| known.name() == format) else {
        let names = Format::ALL.map(Format::name).join(", ");
        return Err(Problem::wrong(format!("'format' must be one of {names}")));
    };
    let request = DiffRequest { from, to: revision(parameters.text("to"))?, format };
    let ask = move |answers: &dyn Answers, stop: &Arc<dyn Stop>| answers.diff(&request, stop);
    let DiffResponse { commit, text } = state.ask(parameters.text("repository"), ask).await?;
    let headers = [
        (CONTENT_TYPE.as_str(), format.media_type()),
        ("x-hierad-commit", &*commit),
        ("x-content-type-options", "nosniff"),
    ];
    Ok((headers, text).into_response())
}

/// The body of a lookup request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LookupBody {
    repository: Option<String>,
    keys: Vec<String>,
    node: Option<String>,
    profile: Option<Box<RawValue>>,
    rev: Option<String>,
    merge: Option<Box<RawValue>>,
}

/// The body of the answer to a lookup request.
#[derive(Serialize)]
struct LookupAnswer {
    commit: String,
    node: String,
    key: String,
    value: Box<RawValue>,
}

/// Looks keys up on a node of the fleet, or on one whose profile the client sends.
pub(super) async fn lookup(
    extract::State(state): extract::State<Arc<State>>,
    parameters: Parameters,
    Json(body): Json<LookupBody>,
) -> Result<Response, Problem> {
    parameters.only(&[])?;
    let repository = body.repository.clone();
    let request = checked_request(body)?;
    let ask = move |answers: &dyn Answers, stop: &Arc<dyn Stop>| answers.lookup(&request, stop);
    let LookupResponse { commit, node, key, value } = state.ask(repository.as_deref(), ask).await?;
    let value = RawValue::from_string(value).map_err(|error| Problem::fault(&error))?;
    json(&LookupAnswer { commit, node, key, value })
}

/// Checks the body of a lookup request.
fn checked_request(body: LookupBody) -> Result<LookupRequest, Problem> {
    let node = match (body.node, body.profile) {
        (Some(node), None) => LookupNode::Named(node),
        (None, Some(profile)) => LookupNode::Profile(profile.get().as_bytes().to_vec()),
        _ => return Err(Problem::wrong("one of 'node' and 'profile' is needed").at(".".to_owned())),
    };
    if body.keys.is_empty() {
        return Err(Problem::wrong("at least one key is needed").at("keys".to_owned()));
    }
    let merge = body.merge.map(|merge| values::parse(merge.get().as_bytes()));
    if let Some(fault) = merge.as_ref().and_then(|merge| merge.fault.as_ref()) {
        return Err(Problem::wrong(fault.text.clone()).at("merge".to_owned()));
    }
    let merge = merge.map(|merge| merge.value);
    Ok(LookupRequest { revision: revision(body.rev.as_deref())?, node, keys: checked_keys(body.keys)?, merge })
}

/// Checks the keys of a request.
fn checked_keys(keys: Vec<String>) -> Result<Vec<String>, Problem> {
    if keys.len() > MAX_KEYS || keys.iter().any(String::is_empty) {
        return Err(Problem::wrong(format!("at most {MAX_KEYS} keys are allowed, and none may be empty")));
    }
    Ok(keys)
}

/// Checks the revision of a request, which must not look like an option of a program. The default is HEAD.
pub(super) fn revision(name: Option<&str>) -> Result<String, Problem> {
    let revision = name.unwrap_or("HEAD");
    if revision.is_empty() || revision.len() > MAX_REVISION || revision.starts_with('-') {
        return Err(Problem::wrong(format!("a revision has 1 to {MAX_REVISION} bytes and does not begin with '-'")));
    }
    if SEARCHES.iter().any(|search| revision.contains(search)) {
        return Err(Problem::wrong("a revision must be a name or an id: searches of the history are not supported"));
    }
    Ok(revision.to_owned())
}
