//! The HTTP interface: health and metrics, stored reports, effective values, and webhooks of forges, which announce
//! pushes and requests to review.
//!
//! A client can neither delay nor stop the service: the number of connections, the size of bodies and the time for
//! both are bounded (`connection`, `body`), and so is the work that is done for clients (`state`). Effective values
//! come from the caller's [`Answers`]; this module knows no settings and resolves nothing. `openapi.json` describes
//! the interface.

mod answers;
mod body;
mod connections;
mod guard;
mod health;
mod history;
mod in_process;
mod pages;
mod parameters;
mod problem;
mod reports;
mod response;
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

use super::handle::ServiceHandle;
use super::queue::Queue;
use super::shutdown::{Shutdown, shutdown};
use crate::event::RepositoryName;
use crate::forge::Forge;

pub use answers::{
    AnswerError, Answers, Blamed, DiffRequest, DiffResponse, HistoryPage, HistoryPlace, HistoryRequest, LookupNode,
    LookupRequest, LookupResponse, NodeSnapshot, PageRequest, View,
};
pub use in_process::InProcessServer;

use problem::{not_allowed, panicked};
use state::State;

/// The options of the server.
pub struct Options {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The token that clients must know, or `None` to answer everybody on this machine.
    pub token: Option<Zeroizing<Vec<u8>>>,
    /// The secrets of the forges that may send webhooks.
    pub webhook_secrets: Vec<(&'static dyn Forge, Zeroizing<Vec<u8>>)>,
    /// The time that a client may take to send a request, and to read a piece of the answer.
    pub timeout: Duration,
}

/// A project on a forge whose requests are reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The name of the reviews in the queue.
    pub reviews: String,
    /// The forge.
    pub forge: &'static dyn Forge,
    /// The name of the project, or its number if the forge has numbers for projects.
    pub name: String,
}

/// The address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}")]
pub struct ListenError {
    address: SocketAddr,
    source: io::Error,
}

/// A listening socket, for one server after another.
#[derive(Debug, Clone)]
pub struct Listener {
    /// The address that was asked for.
    pub asked: SocketAddr,
    socket: Arc<std::net::TcpListener>,
}

impl Listener {
    /// Begins to listen.
    pub fn bind(address: SocketAddr) -> Result<Listener, ListenError> {
        let socket = std::net::TcpListener::bind(address).and_then(|socket| {
            socket.set_nonblocking(true)?;
            Ok(Arc::new(socket))
        });
        Ok(Listener { asked: address, socket: socket.map_err(|source| ListenError { address, source })? })
    }

    /// Returns the address that it listens on. The system may have chosen the port.
    pub fn address(&self) -> SocketAddr {
        self.socket.local_addr().unwrap_or(self.asked)
    }
}

/// The HTTP server of a service, which starts with the service.
pub struct Server {
    listener: Listener,
    options: Options,
    answers: BTreeMap<RepositoryName, Arc<dyn Answers>>,
    projects: Vec<Project>,
}

impl Server {
    /// Makes a server that knows no effective values yet.
    pub fn new(options: Options, listener: Listener) -> Server {
        Server { listener, options, answers: BTreeMap::new(), projects: Vec::new() }
    }

    /// Adds the effective values of a repository.
    pub fn add(&mut self, repository: &RepositoryName, answers: Arc<dyn Answers>) {
        self.answers.insert(repository.clone(), answers);
    }

    /// Makes webhooks about requests of these projects start reviews.
    pub fn review(&mut self, projects: Vec<Project>) {
        self.projects = projects;
    }

    /// Answers without a service, until `end`.
    pub async fn alone(self, queue: Queue, end: impl Future<Output = ()>) {
        let (trigger, shutdown) = shutdown();
        let running = self.run(queue, Arc::new(ServiceHandle::new()), shutdown);
        tokio::pin!(running);
        tokio::select! {
            () = &mut running => {}
            () = end => {
                trigger.shut_down();
                running.await;
            }
        }
    }

    /// Answers until the service ends.
    pub(super) async fn run(self, queue: Queue, handle: Arc<ServiceHandle>, shutdown: Shutdown) {
        let timeout = self.options.timeout;
        let listener = self.listener.socket.try_clone().and_then(TcpListener::from_std);
        let Ok(listener) = listener.inspect_err(|error| tracing::error!(%error, "cannot answer over HTTP")) else {
            return;
        };
        let queue = queue.beside();
        let state = State::new(self.options, self.answers, self.projects, queue.clone(), handle, shutdown.clone());
        connections::connection::serve(listener, router(Arc::new(state)), timeout, shutdown).await;
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
        .route("/v1/diff", get(values::diff))
        .route("/v1/nodes", get(values::nodes))
        .route("/v1/nodes/{certname}", get(values::node))
        .route("/v1/lookup", post(values::lookup))
        .route("/v1/history", get(history::log))
        .route("/v1/blame", get(history::blame))
        .merge(pages::routes())
        .route_layer(from_fn_with_state(state.clone(), guard::token));
    guarded
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .route("/v1/webhooks/{forge}", post(webhooks::receive))
        .fallback(pages::nowhere)
        .method_not_allowed_fallback(not_allowed)
        .layer(from_fn_with_state(state.clone(), guard::host))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(state.clone(), health::count))
        .with_state(state)
}

async fn description() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], include_str!("openapi.json"))
}
