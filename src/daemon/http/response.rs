//! Answers in JSON.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::problem::Problem;
use crate::visible::visible_json;

/// Returns a response with a value as JSON.
pub(super) fn json(value: &impl Serialize) -> Result<Response, Problem> {
    let body = serde_json::to_string(value).map_err(|error| Problem::fault(&error))?;
    Ok(([(CONTENT_TYPE, "application/json")], visible_json(&body).into_owned()).into_response())
}
