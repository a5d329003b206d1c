//! Connections, which are bounded in number and in time.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;

use crate::daemon::repeated::RepeatedFailures;
use crate::daemon::shutdown::Shutdown;

/// The most connections; more wait until one has ended.
const MAX_CONNECTIONS: usize = 256;

/// The longest head of a request, in bytes.
const MAX_HEAD: usize = 1 << 16;

/// The time that connections may go on when the service ends.
const GRACE: Duration = Duration::from_secs(5);

/// The pause after a connection could not be accepted, for want of file descriptors perhaps.
const PAUSE: Duration = Duration::from_secs(1);

/// Accepts connections until the service ends. A client has `patience` for each read and write.
pub(super) async fn serve(listener: TcpListener, app: Router, patience: Duration, mut shutdown: Shutdown) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut logged = RepeatedFailures::default();
    loop {
        let next = tokio::select! {
            biased;
            () = shutdown.requested() => break,
            next = accept(&listener, &permits) => next,
        };
        while connections.try_join_next().is_some() {}
        match next {
            Ok((stream, permit)) => {
                connections.spawn(connection(stream, app.clone(), patience, shutdown.clone(), permit));
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

/// Accepts the next connection as soon as there may be another one.
async fn accept(listener: &TcpListener, permits: &Arc<Semaphore>) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let permit = permits.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}

/// Serves a connection.
async fn connection(
    stream: TcpStream,
    app: Router,
    patience: Duration,
    mut shutdown: Shutdown,
    _permit: OwnedSemaphorePermit,
) {
    _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(patience));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(MAX_HEAD);
    let connection = builder.serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(app));
    tokio::pin!(connection);
    let result = tokio::select! {
        biased;
        result = connection.as_mut() => result,
        () = shutdown.requested() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection has ended");
    }
}
