//! The webhooks of forges, which announce pushes and requests.
//!
//! A push makes all watches look, and nothing else: a look in vain costs little, and git knows best which branches
//! have moved. An event about a request starts its review, if its project is in the settings. Bodies of other events
//! are only read to verify their signatures, and not kept.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{self, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::time::timeout;

use super::Project;
use super::body::read;
use super::connections::clients::Client;
use super::connections::places::Place;
use super::parameters::Name;
use super::problem::Problem;
use super::state::State;
use crate::forge::Forge;
use crate::forge::webhook::Verifier;

/// The maximum size of a body in bytes: GitHub's own limit.
const MAX_BODY: usize = 25 << 20;

/// The maximum size in bytes of the body of an event about a request, which is kept.
const MAX_REQUEST: usize = 4 << 20;

/// The time limit for such a body, since it takes up a place before its sender is known. GitHub, too, gives up after
/// 10 seconds.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Receives a webhook.
pub(super) async fn receive(
    extract::State(state): extract::State<Arc<State>>,
    Name(forge): Name,
    request: Request,
) -> Result<Response, Problem> {
    let Some((forge, secret)) = state.forge(&forge) else {
        return Err(Problem::unknown("no secret is configured for webhooks of this forge"));
    };
    let webhooks = &forge.constants().webhooks;
    let event = webhooks.event(request.headers()).to_owned();
    let has_reviews = state.projects.iter().any(|project| project.forge == forge);
    let is_request = webhooks.requests.contains(&&*event) && has_reviews;
    let verifier = Verifier::new(forge, request.headers(), secret).ok_or_else(|| refused(forge))?;
    let peer = request.extensions().get::<Arc<Client>>().and_then(|client| client.peer);
    let _place = if is_request { Some(place(&state, peer).await?) } else { None };
    let content = read_verified(&state, (forge, verifier), request, is_request).await?;
    let is_push = webhooks.pushes.contains(&&*event);
    tracing::info!(forge = forge.name(), event, is_push, "a webhook has come");
    if is_push {
        state.handle.look.ring();
    }
    let reviews = if is_request { queue_reviews(&state, forge, &content).await? } else { 0 };
    let body = json!({"event": event, "looks": is_push, "reviews": reviews}).to_string();
    Ok((StatusCode::ACCEPTED, [(CONTENT_TYPE, "application/json")], body).into_response())
}

/// Waits for a place for a body that is kept.
async fn place(state: &State, peer: Option<IpAddr>) -> Result<Place, Problem> {
    let place = timeout(state.options.timeout, state.bodies.take(peer)).await.ok().flatten();
    place.ok_or_else(|| Problem::busy("other webhooks are being read; send it again later"))
}

fn refused(forge: &dyn Forge) -> Problem {
    tracing::warn!(forge = forge.name(), "a webhook is refused: its signature or token is wrong");
    Problem::new(StatusCode::UNAUTHORIZED, "the signature or token of the webhook is wrong or missing")
}

/// Reads the body to its end, and fails unless the sender knows the secret. Returns the body if it is to be kept.
async fn read_verified(
    state: &State,
    (forge, mut verifier): (&dyn Forge, Verifier),
    request: Request,
    is_kept: bool,
) -> Result<Vec<u8>, Problem> {
    let mut content = Vec::new();
    let max_length = if is_kept { MAX_REQUEST } else { MAX_BODY };
    let time = if is_kept { state.options.timeout.min(REQUEST_TIMEOUT) } else { state.options.timeout };
    let take_piece = |piece: &[u8]| {
        verifier.update(piece);
        if is_kept {
            content.extend_from_slice(piece);
        }
    };
    read(request, max_length, time, take_piece).await?;
    if !verifier.passes() {
        return Err(refused(forge));
    }
    Ok(content)
}

/// Queues the reviews of the request that a body is about, and returns their number.
async fn queue_reviews(state: &State, forge: &'static dyn Forge, body: &[u8]) -> Result<usize, Problem> {
    let event = forge.news(body).map_err(|error| {
        tracing::warn!(forge = forge.name(), %error, "a webhook about a request cannot be read");
        Problem::wrong(format!("the body must be JSON ('application/json') as the forge describes it: {error}"))
    })?;
    let Some(event) = event else { return Ok(0) };
    let is_of = |project: &&Project| {
        let mut names = event.project.iter();
        project.forge == forge && names.any(|name| name.eq_ignore_ascii_case(&project.name))
    };
    let reviews: Vec<&str> = state.projects.iter().filter(is_of).map(|project| &*project.reviews).collect();
    let project = event.project.first().map(String::as_str).unwrap_or_default();
    if reviews.is_empty() {
        tracing::warn!(forge = forge.name(), project, "no 'reviews' in the settings name this project");
        return Ok(0);
    }
    state.queue(state.queue.ask_for_review(&reviews, event.number)).await?;
    tracing::info!(forge = forge.name(), project, request = event.number, "a review is asked for");
    state.handle.review_asked.ring();
    Ok(reviews.len())
}
