//! What is said to a client whose request is not done, as RFC 9457 has it.

use std::any::Any;

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::answers::Unanswered;

/// Why a request is not done.
#[derive(Debug, Serialize)]
pub(super) struct Problem {
    status: u16,
    title: &'static str,
    detail: String,
    /// Where in the body of the request the fault is.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Problem {
        let title = status.canonical_reason().unwrap_or("Error");
        Problem { status: status.as_u16(), title, detail: detail.into(), path: None }
    }

    pub(super) fn wrong(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(super) fn unknown(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, detail)
    }

    /// It may be done another time.
    pub(super) fn busy(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }

    /// A fault in the service or around it. The client is told that there is one, the log which.
    pub(super) fn fault(error: &dyn std::fmt::Display) -> Problem {
        tracing::error!(%error, "a request cannot be answered");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the log tells more")
    }

    /// The same, with the place in the body of the request.
    pub(super) fn at(self, path: String) -> Problem {
        Problem { path: Some(path), ..self }
    }
}

impl From<Unanswered> for Problem {
    fn from(error: Unanswered) -> Problem {
        match error {
            Unanswered::Unknown(text) => Problem::unknown(text),
            Unanswered::Wrong(text) => Problem::wrong(text),
            Unanswered::Failed(text) => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, text),
            Unanswered::Later(text) => Problem::busy(text),
            Unanswered::Broken(error) => Problem::fault(&error),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("5"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// There is no such route.
pub(super) async fn nowhere() -> Problem {
    Problem::unknown("there is nothing here; /openapi.json tells what there is")
}

/// The route has other methods.
pub(super) async fn not_allowed(method: Method) -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("{method} does not go with this path"))
}

/// A handler has panicked, which is a fault in hierad. What it said may show a secret.
pub(super) fn panicked(_: Box<dyn Any + Send>) -> Response {
    Problem::fault(&"a panic").into_response()
}
