//! The bodies of requests, which are bounded in size and time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::connections::clients::Client;
use super::problem::Problem;
use super::state::State;

/// The maximum size of JSON in bytes: some hundred times that of a node's facts.
const MAX_JSON: usize = 1 << 20;

/// A body of JSON.
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<State>> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &Arc<State>) -> Result<Json<T>, Problem> {
        if !is_json(request.headers()) {
            let text = "the body must be JSON, with 'Content-Type: application/json'";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
        }
        let mut content = Vec::new();
        read(request, MAX_JSON, state.options.timeout, |piece| content.extend_from_slice(piece)).await?;
        parse(&content).map(Json)
    }
}

/// Reads a body of at most `max_length` bytes within `time`, and calls `take_piece` for each piece.
pub(super) async fn read(
    request: Request,
    max_length: usize,
    time: Duration,
    mut take_piece: impl FnMut(&[u8]),
) -> Result<(), Problem> {
    let too_long =
        || Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body may have at most {max_length} bytes"));
    let declared = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|declared| declared > max_length as u64) {
        return Err(too_long());
    }
    let client = request.extensions().get::<Arc<Client>>().cloned();
    let all = async {
        let mut pieces = Body::into_data_stream(request.into_body());
        let mut length = 0;
        while let Some(piece) = pieces.next().await {
            let piece: Bytes = piece.map_err(|_| Problem::wrong("the body ends too early"))?;
            length += piece.len();
            if length > max_length {
                return Err(too_long());
            }
            take_piece(&piece);
        }
        client.inspect(|client| client.note_request());
        Ok(())
    };
    let too_late = |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "the body takes too long");
    timeout(time, all).await.map_err(too_late)?
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("application/json")
}

fn parse<T: DeserializeOwned>(content: &[u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(content);
    let value = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| Problem::wrong(error.inner().to_string()).at(error.path().to_string()))?;
    reader.end().map_err(|error| Problem::wrong(error.to_string()).at(".".to_owned()))?;
    Ok(value)
}
