//! The stream of reports as server-sent events.
//!
//! A client gets one report after the other, as fast as it reads. Only its position is kept for it.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt, unfold};
use tokio::sync::{OwnedSemaphorePermit, watch as flag};

use super::parameters::Parameters;
use super::problem::Problem;
use super::state::State;
use crate::daemon::queue::Cursor;
use crate::event::JobNumber;

/// The header with which a client continues where it left off.
const LAST_EVENT_ID: &str = "last-event-id";

/// Sends each report that is made from now on, or after the last one that the client has received.
pub(super) async fn listen(
    extract::State(state): extract::State<Arc<State>>,
    headers: HeaderMap,
    parameters: Parameters,
) -> Result<Response, Problem> {
    parameters.only(&[])?;
    let permit = state.listeners.clone().try_acquire_owned();
    let permit = permit.map_err(|_| Problem::busy("there are too many clients of the stream"))?;
    // Rings that come while the queue is read are heard afterwards.
    let rings = state.handle.resolved.listen();
    let (cursor, place) = match headers.get(LAST_EVENT_ID) {
        None => {
            // In this order, so that nothing that is made in between is left out.
            let last = state.queue(state.queue.last()).await?;
            (state.queue(state.queue.cursor_at(last)).await?, Some(last))
        }
        Some(last) => {
            let last = last.to_str().ok().and_then(|last| last.parse::<JobNumber>().ok());
            let last = last.ok_or_else(|| Problem::new(StatusCode::BAD_REQUEST, "'Last-Event-ID' must be a number"))?;
            (state.queue(state.queue.cursor_at(last)).await?, None)
        }
    };
    // A client that is disconnected before its first report also continues from here.
    let place = stream::iter(place.map(|number| Ok(Event::default().id(number.to_string()))));
    let listener = Listener::new(state, cursor, rings, permit);
    Ok(Sse::new(place.chain(listener.events())).keep_alive(KeepAlive::default()).into_response())
}

/// A client of the stream.
struct Listener {
    state: Arc<State>,
    cursor: Cursor,
    rings: flag::Receiver<()>,
    _permit: OwnedSemaphorePermit,
}

impl Listener {
    fn new(state: Arc<State>, cursor: Cursor, rings: flag::Receiver<()>, permit: OwnedSemaphorePermit) -> Listener {
        state.handle.metrics.listeners.inc();
        Listener { state, cursor, rings, _permit: permit }
    }

    fn events(self) -> impl Stream<Item = Result<Event, Infallible>> {
        unfold(self, async |mut listener| Some((Ok(listener.next().await?), listener)))
    }

    /// Waits for the next report. Returns `None` if the service ends or the queue cannot be read: the client then
    /// reconnects.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((cursor, number, report)) = self.state.queue.report_after(self.cursor).await.ok()? {
                self.cursor = cursor;
                let report = String::from_utf8_lossy(&report);
                return Some(Event::default().event("report").id(number.to_string()).data(report.trim_end()));
            }
            let mut shutdown = self.state.shutdown.clone();
            tokio::select! {
                () = shutdown.requested() => return None,
                ring = self.rings.changed() => ring.ok()?,
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.state.handle.metrics.listeners.dec();
    }
}
