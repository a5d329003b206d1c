//! Who is answered.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{self, Request};
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::uri::Authority;
use axum::middleware::Next;
use axum::response::Response;

use super::problem::Problem;
use super::state::{State, is_same};

/// Lets those pass who know the token, if there is one.
pub(super) async fn token(
    extract::State(state): extract::State<Arc<State>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if let Some(token) = &state.options.token
        && !bearer(&request).is_some_and(|given| is_same(given, token))
    {
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "this needs 'Authorization: Bearer' and the token"));
    }
    Ok(next.run(request).await)
}

fn bearer(request: &Request) -> Option<&[u8]> {
    let (scheme, token) = request.headers().get(AUTHORIZATION)?.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

/// Without a token lets those pass who ask this machine by a name of its own: a page in a browser of somebody here, whose own name
/// was made to lead here, gives itself away by that.
pub(super) async fn host(
    extract::State(state): extract::State<Arc<State>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if state.options.token.is_none() && !is_local(&request) {
        let text = "without a token only requests for localhost or an IP address are answered";
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, text));
    }
    Ok(next.run(request).await)
}

fn is_local(request: &Request) -> bool {
    let Some(host) = request.headers().get(HOST) else { return true };
    let Ok(host) = Authority::try_from(host.as_bytes()) else { return false };
    let name = host.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}
