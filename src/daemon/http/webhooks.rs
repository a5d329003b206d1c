//! The webhooks of forges, which tell of pushes and of requests.
//!
//! A push has all watches look, and nothing else: a look for nothing costs little, and git knows best which branches
//! have moved. An event of a request has it reviewed, if its project is one of the settings. Bodies of other events are
//! not kept, but for their signature.

use std::sync::Arc;

use axum::extract::{self, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::time::timeout;

use super::body::read;
use super::forge::{Forge, Verifier};
use super::parameters::Name;
use super::problem::Problem;
use super::requests::RequestEvent;
use super::state::State;

/// The longest body in bytes: GitHub's own limit.
const MAX_BODY: usize = 25 << 20;

/// The longest body of an event of a request, which is kept.
const MAX_REQUEST: usize = 4 << 20;

/// Takes a webhook.
pub(super) async fn receive(
    extract::State(state): extract::State<Arc<State>>,
    Name(forge): Name,
    request: Request,
) -> Result<Response, Problem> {
    let forge = Forge::of(&forge);
    let Some((forge, secret)) = forge.and_then(|forge| Some((forge, state.secret(forge)?))) else {
        return Err(Problem::unknown("no secret is set up for webhooks of such a forge"));
    };
    let event = forge.event(request.headers()).to_owned();
    let has_reviews = state.projects.iter().any(|project| project.forge == forge);
    let is_request = forge.is_request(&event) && has_reviews;
    let _room = if is_request {
        let room = timeout(state.options.timeout, state.bodies.acquire()).await;
        Some(room.map_err(|_| Problem::busy("other webhooks are being read; send it again later"))?)
    } else {
        None
    };
    let kept = verified(&state, (forge, secret), request, is_request).await?;
    let is_push = forge.is_push(&event);
    tracing::info!(forge = forge.as_str(), event, is_push, "a webhook has come");
    if is_push {
        state.handle.look.ring();
    }
    let reviews = if is_request { ask(&state, forge, &kept).await? } else { 0 };
    let body = json!({"event": event, "looks": is_push, "reviews": reviews}).to_string();
    Ok((StatusCode::ACCEPTED, [(CONTENT_TYPE, "application/json")], body).into_response())
}

/// Reads the body to its end, and fails unless the sender knows the secret. Returns the body if it is to be kept.
async fn verified(
    state: &State,
    (forge, secret): (Forge, &[u8]),
    request: Request,
    is_kept: bool,
) -> Result<Vec<u8>, Problem> {
    let refused =
        || Problem::new(StatusCode::UNAUTHORIZED, "the signature or token of the webhook is wrong or missing");
    let proof = forge.proof(request.headers()).ok_or_else(refused)?;
    let mut verifier = Verifier::new(proof, secret);
    let mut kept = Vec::new();
    let most = if is_kept { MAX_REQUEST } else { MAX_BODY };
    let each = |piece: &[u8]| {
        verifier.update(piece);
        if is_kept {
            kept.extend_from_slice(piece);
        }
    };
    read(request, most, state, each).await?;
    if !verifier.passes() {
        tracing::warn!(forge = forge.as_str(), "a webhook is refused: its signature or token is wrong");
        return Err(refused());
    }
    Ok(kept)
}

/// Asks for the reviews of the request that a body tells of, and returns their number.
async fn ask(state: &State, forge: Forge, body: &[u8]) -> Result<usize, Problem> {
    let event = RequestEvent::read(forge, body).map_err(|error| {
        tracing::warn!(forge = forge.as_str(), %error, "a webhook about a request cannot be read");
        Problem::wrong(format!("the body must be JSON ('application/json') as the forge describes it: {error}"))
    })?;
    let Some(event) = event else { return Ok(0) };
    let of_it = state.projects.iter().filter(|project| project.forge == forge && event.is_of(project));
    let reviews: Vec<&str> = of_it.map(|project| &*project.reviews).collect();
    let project = event.project.first().map(String::as_str).unwrap_or_default();
    if reviews.is_empty() {
        tracing::warn!(forge = forge.as_str(), project, "no 'reviews' of the settings are of this project");
        return Ok(0);
    }
    state.queue(state.queue.ask_for_review(&reviews, event.number)).await?;
    tracing::info!(forge = forge.as_str(), project, request = event.number, "a review is asked for");
    state.handle.asked.ring();
    Ok(reviews.len())
}
