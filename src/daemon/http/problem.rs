//! The answer to a request that fails, in the format of RFC 9457.

use std::any::Any;

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::answers::AnswerError;
use crate::visible::visible_json;

/// The reason why a request fails.
#[derive(Debug, Serialize)]
pub(super) struct Problem {
    status: u16,
    title: &'static str,
    detail: String,
    /// The place of the fault in the request's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

impl Problem {
    /// Makes a problem with a status.
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Problem {
        let title = status.canonical_reason().unwrap_or("Error");
        Problem { status: status.as_u16(), title, detail: detail.into(), path: None }
    }

    /// Makes the problem of a wrong request.
    pub(super) fn wrong(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, detail)
    }

    /// Makes the problem of a request for something that does not exist.
    pub(super) fn unknown(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, detail)
    }

    /// Makes the problem of a request that may succeed later.
    pub(super) fn busy(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }

    /// Makes the problem of a fault in the service or its environment. Only the log has the details.
    pub(super) fn fault(error: &dyn std::fmt::Display) -> Problem {
        tracing::error!(%error, "a request cannot be answered");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "see the log")
    }

    /// Returns an answer with this body.
    pub(super) fn answer(&self, body: impl IntoResponse) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("5"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer, Basic realm=\"hierad\""));
        }
        response
    }

    /// Returns the words of the status.
    pub(super) fn title(&self) -> &'static str {
        self.title
    }

    /// Returns the reason.
    pub(super) fn detail(&self) -> &str {
        &self.detail
    }

    /// Adds the place in the request's body.
    pub(super) fn at(self, path: String) -> Problem {
        Problem { path: Some(path), ..self }
    }
}

impl From<AnswerError> for Problem {
    fn from(error: AnswerError) -> Problem {
        match error {
            AnswerError::Unknown(text) => Problem::unknown(text),
            AnswerError::Wrong(text) => Problem::wrong(text),
            AnswerError::Failed(text) => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, text),
            AnswerError::Later(text) => Problem::busy(text),
            AnswerError::Broken(error) => Problem::fault(&error),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_string(&self).unwrap_or_default();
        self.answer(([(CONTENT_TYPE, "application/problem+json")], visible_json(&body).into_owned()))
    }
}

/// Returns the answer to a request for an unknown path.
pub(super) fn nowhere() -> Problem {
    Problem::unknown("there is no such path; /openapi.json lists all paths")
}

/// Answers a request with a method that the path does not have.
pub(super) async fn not_allowed(method: Method) -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("this path does not support {method}"))
}

/// Answers a request whose handler has panicked, which is a fault in hierad. The panic's message is left out, since
/// it may show a secret.
pub(super) fn panicked(_: Box<dyn Any + Send>) -> Response {
    Problem::fault(&"a panic").into_response()
}
