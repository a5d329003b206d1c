//! Access to the interface: by a token or, without one, from this machine only.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{self, Request};
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::uri::Authority;
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::problem::Problem;
use super::state::State;
use crate::disclosure::is_same;

/// Lets only clients pass that know the token, if there is one.
pub(super) async fn token(
    extract::State(state): extract::State<Arc<State>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if let Some(token) = &state.options.token
        && !given_token(&request).is_some_and(|given| is_same(&given, token))
    {
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "this needs 'Authorization: Bearer' and the token"));
    }
    Ok(next.run(request).await)
}

/// Returns the token of a request, or `None` if it has none. A browser asks for it and sends it as a password, with any
/// name of a user.
fn given_token(request: &Request) -> Option<Zeroizing<Vec<u8>>> {
    let header = request.headers().get(AUTHORIZATION)?.as_bytes();
    let end = header.iter().position(|byte| *byte == b' ')?;
    let (scheme, given) = (&header[..end], header[end..].trim_ascii());
    if scheme.eq_ignore_ascii_case(b"bearer") {
        return Some(Zeroizing::new(given.to_vec()));
    }
    let both = Zeroizing::new(scheme.eq_ignore_ascii_case(b"basic").then(|| STANDARD.decode(given).ok())??);
    let colon = both.iter().position(|byte| *byte == b':')?;
    Some(Zeroizing::new(both[colon + 1..].to_vec()))
}

/// Refuses requests with several `Host` headers. Without a token, also refuses requests whose header or target names
/// anything but localhost or an IP address. This keeps out web pages whose domain was made to resolve to this machine
/// (DNS rebinding).
pub(super) async fn host(
    extract::State(state): extract::State<Arc<State>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if request.headers().get_all(HOST).iter().count() > 1 {
        return Err(Problem::wrong("the request must have exactly one 'Host' header"));
    }
    if state.options.token.is_none() && !is_local(&request) {
        let text = "without a token only requests for localhost or an IP address are answered";
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, text));
    }
    Ok(next.run(request).await)
}

/// Returns true if a request is for localhost or an IP address.
fn is_local(request: &Request) -> bool {
    let header = request.headers().get(HOST).map(|host| Authority::try_from(host.as_bytes()).ok());
    // As in `GET http://localhost/ HTTP/1.1`: it takes precedence over the header.
    let target = request.uri().authority().cloned().map(Some);
    header.into_iter().chain(target).all(|host| host.is_some_and(|host| is_own_name(host.host())))
}

fn is_own_name(host: &str) -> bool {
    let name = host.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}
