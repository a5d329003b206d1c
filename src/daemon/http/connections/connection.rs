//! Connections, which are bounded in number and in time.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;

use super::clients::{Clients, Member};
use crate::daemon::repeated::RepeatedFailures;
use crate::daemon::shutdown::Shutdown;

/// The maximum number of connections. Beyond that, slow ones are ended.
pub(in crate::daemon::http) const MAX_CONNECTIONS: usize = 768;

/// The maximum size of a request's head, in bytes.
const MAX_HEAD: usize = 1 << 16;

/// The time for which connections may go on when the service ends.
const GRACE: Duration = Duration::from_secs(5);

/// The pause after a connection could not be accepted, perhaps for lack of file descriptors.
const PAUSE: Duration = Duration::from_secs(1);

/// Accepts connections until the service ends. A client has `patience` for each read and write.
pub(in crate::daemon::http) async fn serve(
    listener: TcpListener,
    app: Router,
    patience: Duration,
    mut shutdown: Shutdown,
) {
    let clients = Clients::new(MAX_CONNECTIONS);
    let mut connections = JoinSet::new();
    let mut logged = RepeatedFailures::default();
    loop {
        let next = tokio::select! {
            biased;
            () = shutdown.requested() => break,
            next = accept(&listener, &clients) => next,
        };
        while connections.try_join_next().is_some() {}
        match next {
            Ok((stream, member)) => {
                connections.spawn(connection(stream, app.clone(), patience, shutdown.clone(), member));
            }
            Err(error) => {
                if let Some(times) = logged.failed("connections") {
                    tracing::warn!(%error, times, "cannot take a connection");
                }
                sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    _ = timeout(GRACE, all).await;
}

/// Accepts the next connection, and makes room for it.
async fn accept(listener: &TcpListener, clients: &Arc<Clients>) -> io::Result<(TcpStream, Member)> {
    let (stream, peer) = listener.accept().await?;
    _ = stream.set_nodelay(true);
    Ok((stream, clients.add(Some(peer.ip())).await))
}

/// Serves a connection until it ends or has to make room.
pub(in crate::daemon::http) async fn connection(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    app: Router,
    patience: Duration,
    mut shutdown: Shutdown,
    member: Member,
) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(patience));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(MAX_HEAD);
    let (app, client) = (TowerToHyperService::new(app), member.client.clone());
    let answer = service_fn(move |mut request: Request<Incoming>| {
        if request.body().is_end_stream() {
            client.note_request();
        }
        request.extensions_mut().insert(client.clone());
        let (answer, client) = (app.call(request), client.clone());
        async move { answer.await.map(|answer| answer.map(|body| client.note_reading(body))) }
    });
    let connection = builder.serve_connection(TokioIo::new(Box::pin(stream)), answer);
    tokio::pin!(connection);
    let result = tokio::select! {
        biased;
        result = connection.as_mut() => result,
        () = member.client.leave_requested() => {
            tracing::debug!("a slow client makes room");
            return;
        }
        () = shutdown.requested() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection has ended");
    }
}
