//! The webhooks of forges, which tell of pushes.
//!
//! A webhook has all watches look, and nothing else: a look for nothing costs little, and git knows best which
//! branches have moved. Only the signature of the body is checked, and nothing of the body is kept.

use std::sync::Arc;

use axum::extract::{self, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::body::read;
use super::forge::{Forge, Verifier};
use super::parameters::Name;
use super::problem::Problem;
use super::state::State;

/// The longest body in bytes: GitHub's own limit.
const MAX_BODY: usize = 25 << 20;

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
    let refused =
        || Problem::new(StatusCode::UNAUTHORIZED, "the signature or token of the webhook is wrong or missing");
    let event = forge.event(request.headers()).to_owned();
    let proof = forge.proof(request.headers()).ok_or_else(refused)?;
    let mut verifier = Verifier::new(proof, secret);
    read(request, MAX_BODY, &state, |piece| verifier.update(piece)).await?;
    if !verifier.passes() {
        tracing::warn!(forge = forge.as_str(), "a webhook is refused: its signature or token is wrong");
        return Err(refused());
    }
    let is_push = forge.is_push(&event);
    tracing::info!(forge = forge.as_str(), event, is_push, "a webhook has come");
    if is_push {
        state.handle.look.ring();
    }
    let body = json!({"event": event, "looks": is_push}).to_string();
    Ok((StatusCode::ACCEPTED, [(CONTENT_TYPE, "application/json")], body).into_response())
}
