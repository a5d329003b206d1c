//! The clients that are connected. Their number is bounded, and slow ones make room for new ones.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::sync::Notify;

/// The stage that a client is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Has not sent a whole request yet.
    Asking,
    /// Its request is being handled.
    Waiting,
    /// Reads an answer.
    Reading,
}

/// All clients, the oldest first.
#[derive(Debug)]
pub(in crate::daemon::http) struct Clients {
    limit: usize,
    list: Mutex<VecDeque<Arc<Client>>>,
    /// Notified when there may be room.
    room_changed: Arc<Notify>,
}

/// A client.
#[derive(Debug)]
pub(in crate::daemon::http) struct Client {
    /// Its address, or `None` if it is in this process.
    pub(in crate::daemon::http) peer: Option<IpAddr>,
    stage: Mutex<Stage>,
    leave: Notify,
    room_changed: Arc<Notify>,
}

/// A client's entry in the list, removed when it is dropped.
#[derive(Debug)]
pub(in crate::daemon::http) struct Member {
    pub(in crate::daemon::http) client: Arc<Client>,
    clients: Arc<Clients>,
}

impl Clients {
    /// Makes an empty list for at most `limit` clients.
    pub(in crate::daemon::http) fn new(limit: usize) -> Arc<Clients> {
        Arc::new(Clients { limit, list: Mutex::default(), room_changed: Arc::default() })
    }

    /// Adds a client. If there are too many, the oldest one that has not sent a whole request has to leave or, if
    /// there is none, the oldest one that still reads an answer. If all requests are being handled, the new client
    /// waits.
    pub(in crate::daemon::http) async fn add(self: &Arc<Self>, peer: Option<IpAddr>) -> Member {
        while !self.has_room() {
            self.room_changed.notified().await;
        }
        let (stage, room_changed) = (Mutex::new(Stage::Asking), self.room_changed.clone());
        let client = Arc::new(Client { peer, stage, leave: Notify::new(), room_changed });
        self.list().push_back(client.clone());
        Member { client, clients: self.clone() }
    }

    fn has_room(&self) -> bool {
        let mut list = self.list();
        if list.len() < self.limit {
            return true;
        }
        let oldest = |stage| list.iter().position(|client| client.stage() == stage);
        let leaving = oldest(Stage::Asking).or_else(|| oldest(Stage::Reading));
        let leaving = leaving.and_then(|at| list.remove(at));
        leaving.inspect(|client| client.leave.notify_one()).is_some()
    }

    fn list(&self) -> std::sync::MutexGuard<'_, VecDeque<Arc<Client>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.clients.list().retain(|client| !Arc::ptr_eq(client, &self.client));
        self.clients.room_changed.notify_one();
    }
}

impl Client {
    /// Waits until the client has to leave.
    pub(in crate::daemon::http) async fn leave_requested(&self) {
        self.leave.notified().await;
    }

    /// Notes that the client has sent a whole request.
    pub(in crate::daemon::http) fn note_request(&self) {
        self.set_stage(Stage::Waiting);
    }

    /// Notes that the client reads an answer, until the returned body is dropped.
    pub(in crate::daemon::http) fn note_reading(self: &Arc<Self>, body: Body) -> Reading {
        self.set_stage(Stage::Reading);
        Reading { body, client: self.clone() }
    }

    fn set_stage(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
        self.room_changed.notify_one();
    }

    fn stage(&self) -> Stage {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of an answer that a client reads.
pub(in crate::daemon::http) struct Reading {
    body: Body,
    client: Arc<Client>,
}

impl HttpBody for Reading {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.client.set_stage(Stage::Asking);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_slow_client_leaves() {
        let clients = Clients::new(3);
        let (working, reading, slow) = (clients.add(None).await, clients.add(None).await, clients.add(None).await);
        working.client.note_request();
        let answer = reading.client.note_reading(Body::empty());
        let fourth = clients.add(None).await;
        slow.client.leave_requested().await;
        fourth.client.note_request();
        let fifth = clients.add(None).await;
        reading.client.leave_requested().await;
        fifth.client.note_request();
        // All requests are being handled: the next client waits until one of them is done.
        let next = tokio::spawn({
            let clients = clients.clone();
            async move { clients.add(None).await }
        });
        tokio::task::yield_now().await;
        assert!(!next.is_finished());
        drop(working);
        drop(next.await.unwrap());
        drop(answer);
    }
}
