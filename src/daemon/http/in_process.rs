//! A server without a socket and without a service, for clients in this process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::io::{AsyncRead, AsyncWrite};

use super::answers::Answers;
use super::connections::clients::Clients;
use super::connections::connection::{MAX_CONNECTIONS, connection};
use super::state::State;
use super::{Options, router};
use crate::daemon::handle::ServiceHandle;
use crate::daemon::queue::Queue;
use crate::daemon::shutdown::{Shutdown, Trigger, shutdown};
use crate::event::RepositoryName;

/// Answers clients on streams from the caller, as a daemon does on its connections. Nothing is watched or resolved.
pub struct InProcessServer {
    app: Router,
    clients: Arc<Clients>,
    timeout: Duration,
    shutdown: Shutdown,
    /// Dropping this ends the connections; nothing else does.
    _trigger: Trigger,
}

impl InProcessServer {
    /// Makes a server of the reports in `queue`.
    pub fn new(options: Options, answers: BTreeMap<RepositoryName, Arc<dyn Answers>>, queue: Queue) -> InProcessServer {
        let (trigger, shutdown) = shutdown();
        let timeout = options.timeout;
        let state = State::new(options, answers, Vec::new(), queue, Arc::new(ServiceHandle::new()), shutdown.clone());
        let (app, clients) = (router(Arc::new(state)), Clients::new(MAX_CONNECTIONS));
        InProcessServer { app, clients, timeout, shutdown, _trigger: trigger }
    }

    /// Serves a client until its stream ends.
    pub async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Send + 'static) {
        let member = self.clients.add(None).await;
        connection(stream, self.app.clone(), self.timeout, self.shutdown.clone(), member).await;
    }
}
