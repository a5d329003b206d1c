//! The health of the service, and its metrics.

use std::sync::Arc;

use axum::extract::{self, MatchedPath, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::problem::Problem;
use super::state::State;
use crate::daemon::queue::{Stage, StageCount};
use crate::visible::visible_json;

/// Answers that the process runs.
pub(super) async fn live() -> Response {
    status("live")
}

/// Answers whether commits are found and the queue takes them, and which of them are a problem.
pub(super) async fn ready(extract::State(state): extract::State<Arc<State>>) -> Result<Response, Problem> {
    let mut trouble = state.handle.health.trouble();
    let counts = state.queue(state.queue.counts()).await;
    if counts.is_err() {
        trouble.push("the queue cannot be read".to_owned());
    }
    if !trouble.is_empty() {
        return Err(Problem::busy(trouble.join("; ")));
    }
    // The daemon works, though its data may not.
    let mut reasons = state.handle.health.blind();
    reasons.extend(counts.iter().flatten().filter_map(set_aside));
    if reasons.is_empty() {
        Ok(status("ready"))
    } else {
        Ok(answer(&json!({"status": "degraded", "reasons": reasons})))
    }
}

/// Returns a text on work that was set aside, or `None` if there is none.
fn set_aside(count: &StageCount) -> Option<String> {
    let number = count.number;
    match (count.stage, &count.sink) {
        (_, _) if number == 0 => None,
        (Stage::Failed, _) => Some(format!("{number} commits could not be resolved and are set aside")),
        (Stage::Dead, Some(sink)) => Some(format!("{number} reports for the sink '{sink}' are set aside")),
        _ => None,
    }
}

fn status(status: &str) -> Response {
    answer(&json!({"status": status}))
}

fn answer(body: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], visible_json(&body.to_string()).into_owned()).into_response()
}

/// Answers with all metrics, for Prometheus.
pub(super) async fn metrics(extract::State(state): extract::State<Arc<State>>) -> Result<Response, Problem> {
    // If the queue cannot be read now, it is left out: the other metrics may tell why.
    let counts = state.queue(state.queue.counts()).await.ok();
    let text = state.handle.metrics.text(counts.as_deref()).map_err(|error| Problem::fault(&error))?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok((StatusCode::OK, [(CONTENT_TYPE, kind)], text).into_response())
}

/// Counts a request by its route. Paths that are none share one label.
pub(super) async fn count(extract::State(state): extract::State<Arc<State>>, request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    let route = route.as_ref().map(MatchedPath::as_str);
    state.handle.metrics.request(method.as_str(), route, response.status().as_u16());
    response
}
