//! The parts of the overview that change while somebody looks at it: the last reports, and work that waits or was set
//! aside. Browsers get them as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use tokio::sync::{OwnedSemaphorePermit, watch as flag};
use tokio::time::sleep;

use crate::daemon::http::parameters::Parameters;
use crate::daemon::http::problem::Problem;
use crate::daemon::http::state::State;
use crate::daemon::queue::{PendingItem, Stage, StoredReport};
use crate::event::JobNumber;
use crate::page;
use crate::page::content::{self, Live, Work};
use crate::report::branch_label;

/// The number of reports, and of pieces of work.
const REPORTS: u32 = 10;
const WORK: u32 = 20;

/// The time for which reports are gathered before browsers are told.
const GATHERING: Duration = Duration::from_millis(300);

/// Sends the parts each time that there are new reports.
pub(super) async fn listen(
    extract::State(state): extract::State<Arc<State>>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    parameters.only(&[])?;
    let permit = state.viewers.clone().try_acquire_owned();
    let permit = permit.map_err(|_| Problem::busy("too many browsers show the overview"))?;
    let viewer = Viewer { rings: state.handle.resolved.listen(), state, _permit: permit };
    let events = unfold(viewer, async |mut viewer| Some((Ok::<_, Infallible>(viewer.next().await?), viewer)));
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

/// A browser that shows the overview.
struct Viewer {
    state: Arc<State>,
    rings: flag::Receiver<()>,
    _permit: OwnedSemaphorePermit,
}

impl Viewer {
    /// Waits for reports. Returns `None` if the service ends or the queue cannot be read: the browser then reconnects.
    async fn next(&mut self) -> Option<Event> {
        let mut shutdown = self.state.shutdown.clone();
        tokio::select! {
            () = shutdown.requested() => return None,
            ring = self.rings.changed() => ring.ok()?,
        }
        let rung = Instant::now();
        sleep(GATHERING).await;
        let mut last = self.state.live.lock().await;
        // All browsers wake up together, and one asks the queue for them.
        if let Some((_, text)) = last.as_ref().filter(|(read, _)| *read > rung) {
            return Some(event(text));
        }
        let read = Instant::now();
        let text: Arc<str> = page::live(&read_queue(&self.state).await.ok()?).into();
        *last = Some((read, text.clone()));
        Some(event(&text))
    }
}

fn event(text: &str) -> Event {
    Event::default().event("live").data(text)
}

/// Reads the parts.
pub(super) async fn read_queue(state: &State) -> Result<Live, Problem> {
    let reports = state.queue(state.queue.reports(JobNumber::MAX, REPORTS)).await?;
    let work = state.queue(state.queue.pending(WORK)).await?;
    Ok(Live { reports: reports.into_iter().map(stored).collect(), work: work.into_iter().map(pending).collect() })
}

fn stored(StoredReport { job, time }: StoredReport) -> content::StoredReport {
    content::StoredReport {
        repository: job.name.repository.to_string(),
        branch: branch_label(&job.event).into_owned(),
        commit: job.event.after.to_string(),
        time: time.to_string(),
    }
}

fn pending(PendingItem { job, stage, sink, error, .. }: PendingItem) -> Work {
    let sink = sink.unwrap_or_default();
    let words = match stage {
        Stage::Waiting => "waits to be resolved".to_owned(),
        Stage::Failed => "could not be resolved and is set aside".to_owned(),
        Stage::Undelivered => format!("waits to be delivered to '{sink}'"),
        Stage::Dead => format!("could not be delivered to '{sink}' and is set aside"),
    };
    // What a sink says may have an address or an answer with a secret in it: `hierad queue` shows it to its user.
    let error = error.filter(|_| stage == Stage::Failed);
    Work {
        repository: job.name.repository.to_string(),
        branch: branch_label(&job.event).into_owned(),
        commit: job.event.after.to_string(),
        words,
        error,
    }
}
