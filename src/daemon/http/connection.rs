//! Connections: how many there are, and how long they may take.

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

use crate::daemon::sample::Sampler;
use crate::daemon::service::{Stopped, ended};

/// How many connections there may be; more wait until one has ended.
const MAX_CONNECTIONS: usize = 256;

/// The longest head of a request, in bytes.
const MAX_HEAD: usize = 1 << 16;

/// How long connections may go on when the service is to end.
const GRACE: Duration = Duration::from_secs(5);

/// How long to wait when there are no means for another connection.
const PAUSE: Duration = Duration::from_secs(1);

/// Takes connections until the service is to end. A client has `patience` for what it sends and reads.
pub(super) async fn serve(listener: TcpListener, app: Router, patience: Duration, mut stopped: Stopped) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut failures = Sampler::default();
    loop {
        let next = tokio::select! {
            biased;
            () = ended(&mut stopped) => break,
            next = accept(&listener, &places) => next,
        };
        while connections.try_join_next().is_some() {}
        match next {
            Ok((stream, place)) => {
                connections.spawn(connection(stream, app.clone(), patience, stopped.clone(), place));
            }
            Err(error) => {
                if let Some(times) = failures.failed("connections") {
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

/// The next connection, once there is a place for it.
async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}

async fn connection(
    stream: TcpStream,
    app: Router,
    patience: Duration,
    mut stopped: Stopped,
    _place: OwnedSemaphorePermit,
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
        () = ended(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection has ended");
    }
}
