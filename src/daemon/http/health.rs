//! The health of the service, and its metrics.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{self, MatchedPath, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::problem::Problem;
use super::state::State;
use crate::daemon::metrics::{MEDIA_TYPE, Unfinished};
use crate::daemon::progress::{Step, minutes};
use crate::daemon::queue::{Backlog, FailingWork, QueueError, Stage, StageCount};
use crate::visible::visible_json;

/// Answers that the process runs.
pub(super) async fn live() -> Response {
    status("live")
}

/// The time after which unfinished work counts as a lasting problem.
const LASTING: Duration = Duration::from_mins(15);

/// Answers whether the daemon can work and, if so, which lasting problems it cannot solve itself.
pub(super) async fn ready(extract::State(state): extract::State<Arc<State>>) -> Result<Response, Problem> {
    let mut trouble = state.handle.health.trouble();
    let unfinished = state.queue(unfinished_for_long(&state)).await;
    if unfinished.is_err() {
        trouble.push("the queue cannot be read".to_owned());
    }
    if !trouble.is_empty() {
        return Err(Problem::busy(trouble.join("; ")));
    }
    let handle = &state.handle;
    let mut reasons = handle.health.late();
    reasons.extend(handle.health.blind());
    reasons.extend(handle.health.old_nodes());
    reasons.extend(handle.health.old_settings());
    reasons.extend(unfinished.into_iter().flatten());
    let under_way = handle.progress.under_way();
    // A review may have to wait for its forge.
    let long = under_way.iter().filter(|(step, time)| *time > LASTING && !matches!(step, Step::Review(_)));
    reasons.extend(long.map(|(step, time)| format!("{step} takes {} min", minutes(*time))));
    if reasons.is_empty() {
        Ok(status("ready"))
    } else {
        Ok(answer(&json!({"status": "degraded", "reasons": reasons})))
    }
}

/// Returns texts about work in the queue that has waited long, fails, or was set aside.
async fn unfinished_for_long(state: &State) -> Result<Vec<String>, QueueError> {
    let queue = &state.queue;
    let mut texts: Vec<String> = queue.counts().await?.iter().filter_map(set_aside).collect();
    let waits = |Backlog { name, number, age }: &Backlog, one: &str, many: &str| {
        let what = if *number == 1 { format!("1 {one} waits") } else { format!("{number} {many} wait") };
        (*age > LASTING).then(|| format!("{name}: {what}, the oldest for {} min", minutes(*age)))
    };
    texts.extend(queue.unresolved().await?.iter().filter_map(|backlog| waits(backlog, "commit", "commits")));
    let sinks = queue.undelivered().await?.into_iter();
    let sinks = sinks.map(|sink| Backlog { name: format!("the sink '{}'", sink.name), ..sink });
    texts.extend(sinks.filter_map(|backlog| waits(&backlog, "report", "reports")));
    let failing = queue.failing_work().await?;
    // Anybody may ask, so errors are not described.
    texts.extend(failing.iter().map(|FailingWork { name, failures, .. }| {
        format!("the scheduled work '{name}' has failed {failures} times in a row")
    }));
    Ok(texts)
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
    let unfinished = async {
        let (counts, undelivered) = (state.queue.counts().await?, state.queue.undelivered().await?);
        Ok(Unfinished { counts, undelivered })
    };
    let unfinished = state.queue(unfinished).await.ok();
    let under_way = state.handle.progress.under_way();
    let text = state.handle.metrics.text(unfinished.as_ref(), &under_way).map_err(|error| Problem::fault(&error))?;
    Ok((StatusCode::OK, [(CONTENT_TYPE, MEDIA_TYPE)], text).into_response())
}

/// Counts a request by its route. Unknown paths share one label.
pub(super) async fn count(extract::State(state): extract::State<Arc<State>>, request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    let route = route.as_ref().map(MatchedPath::as_str);
    state.handle.metrics.request(method.as_str(), route, response.status().as_u16());
    response
}
