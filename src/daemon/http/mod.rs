//! What the service answers over HTTP: how it is, the reports that it keeps, effective values; and what forges tell it.
//!
//! Whoever asks can neither hold up the service nor end it: connections, what they send and how long they take have bounds
//! (`connection`, `body`), and so has what is resolved for them (`state`). Effective values come from an [`Answers`] of the caller.
//! `openapi.json` describes it all.

mod answers;
mod body;
mod connection;
mod forge;
mod guard;
mod health;
mod parameters;
mod problem;
mod reports;
mod state;
mod stream;
mod values;
mod webhooks;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tower_http::catch_panic::CatchPanicLayer;
use zeroize::Zeroizing;

use super::queue::Queue;
use super::service::Stopped;
use super::signals::Signals;
use problem::{not_allowed, nowhere, panicked};
use state::State;

pub use answers::{Answers, Found, Question, Snapshot, Subject, Unanswered};
pub use forge::Forge;

/// How the service answers.
pub struct Options {
    /// Where it listens.
    pub listen: SocketAddr,
    /// What clients have to know; nothing if it answers everybody.
    pub token: Option<Zeroizing<Vec<u8>>>,
    /// The secrets of the forges that may call.
    pub webhook_secrets: Vec<(Forge, Zeroizing<Vec<u8>>)>,
    /// How long a client may take to send a request, and to read some of the answer.
    pub timeout: Duration,
}

/// The address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}")]
pub struct ListenError {
    address: SocketAddr,
    source: io::Error,
}

/// An address that is listened on, by one server after the other.
#[derive(Debug, Clone)]
pub struct Listener {
    /// What was asked for.
    pub asked: SocketAddr,
    socket: Arc<std::net::TcpListener>,
}

impl Listener {
    /// Listens.
    pub fn bind(address: SocketAddr) -> Result<Listener, ListenError> {
        let socket = std::net::TcpListener::bind(address).and_then(|socket| {
            socket.set_nonblocking(true)?;
            Ok(Arc::new(socket))
        });
        Ok(Listener { asked: address, socket: socket.map_err(|source| ListenError { address, source })? })
    }

    /// Where it listens: the port may have been left to the system.
    pub fn address(&self) -> SocketAddr {
        self.socket.local_addr().unwrap_or(self.asked)
    }
}

/// Answers as soon as the service runs.
pub struct Server {
    listener: Listener,
    options: Options,
    answers: BTreeMap<String, Arc<dyn Answers>>,
}

impl Server {
    /// A server that answers no questions yet.
    pub fn new(options: Options, listener: Listener) -> Server {
        Server { listener, options, answers: BTreeMap::new() }
    }

    /// Has it answer questions about a repository.
    pub fn add(&mut self, repository: &str, answers: Arc<dyn Answers>) {
        self.answers.insert(repository.to_owned(), answers);
    }

    /// Answers until the service is to end.
    pub(super) async fn run(self, queue: Queue, signals: Arc<Signals>, stopped: Stopped) {
        let timeout = self.options.timeout;
        let listener = self.listener.socket.try_clone().and_then(TcpListener::from_std);
        let Ok(listener) = listener.inspect_err(|error| tracing::error!(%error, "cannot answer over HTTP")) else {
            return;
        };
        let queue = queue.beside();
        let state = State::new(self.options, self.answers, queue.clone(), signals, stopped.clone());
        connection::serve(listener, router(Arc::new(state)), timeout, stopped).await;
        queue.close().await;
    }
}

fn router(state: Arc<State>) -> Router {
    let guarded = Router::new()
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(description))
        .route("/v1/reports", get(reports::list))
        .route("/v1/reports/stream", get(stream::listen))
        .route("/v1/reports/{commit}", get(reports::one))
        .route("/v1/nodes", get(values::nodes))
        .route("/v1/nodes/{certname}", get(values::node))
        .route("/v1/lookup", post(values::lookup))
        .route_layer(from_fn_with_state(state.clone(), guard::token));
    guarded
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .route("/v1/webhooks/{forge}", post(webhooks::receive))
        .fallback(nowhere)
        .method_not_allowed_fallback(not_allowed)
        .layer(from_fn_with_state(state.clone(), guard::host))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(state.clone(), health::count))
        .with_state(state)
}

async fn description() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], include_str!("openapi.json"))
}
