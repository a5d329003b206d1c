//! Services at work: one, and those before it that are about to end.

use std::time::Duration;

use tokio::sync::watch as flag;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use super::{Service, ServiceError, Turns};

/// How long steps may go on when all is to end; what is not done then stays in the queue.
const GRACE: Duration = Duration::from_secs(10);

/// A service at work.
pub(super) struct Running {
    stop: flag::Sender<bool>,
    tasks: JoinSet<Result<(), ServiceError>>,
    result: Result<(), ServiceError>,
}

impl Running {
    pub(super) fn new(stop: flag::Sender<bool>, tasks: JoinSet<Result<(), ServiceError>>) -> Running {
        Running { stop, tasks, result: Ok(()) }
    }

    /// Resolves when it cannot go on.
    async fn failed(&mut self) {
        if let Some(ended) = self.tasks.join_next().await {
            self.note(ended);
        }
    }

    /// Has it end: what is begun is finished.
    async fn end(&mut self) {
        self.stop.send_replace(true);
        while let Some(ended) = self.tasks.join_next().await {
            self.note(ended);
        }
    }

    fn note(&mut self, ended: Result<Result<(), ServiceError>, JoinError>) {
        let ended = ended.unwrap_or_else(|error| Err(error.into()));
        if self.result.is_ok() {
            self.result = ended;
        }
    }
}

/// A service, and those that it has replaced, as long as they have something to finish.
#[derive(Default)]
pub struct Services {
    current: Option<Running>,
    former: JoinSet<()>,
    turns: Turns,
}

impl Services {
    /// Has a service work in place of the one that does, which ends in its own time. If it cannot, all stays as it is. No commit that
    /// comes later can be missed.
    pub async fn begin(&mut self, service: Service) -> Result<(), ServiceError> {
        let started = service.start(&mut self.turns).await?;
        if let Some(mut former) = self.current.replace(started) {
            self.former.spawn(async move {
                former.end().await;
                if let Err(error) = former.result {
                    tracing::error!(%error, "what was begun with the former settings has failed");
                }
            });
        }
        Ok(())
    }

    /// Resolves when the service cannot go on.
    pub async fn failed(&mut self) {
        while self.former.try_join_next().is_some() {}
        match &mut self.current {
            Some(running) => running.failed().await,
            None => std::future::pending().await,
        }
    }

    /// Has all end; what takes too long is broken off. Whether the service could go on.
    pub async fn end(mut self) -> Result<(), ServiceError> {
        let all = async {
            if let Some(running) = &mut self.current {
                running.end().await;
            }
            while self.former.join_next().await.is_some() {}
        };
        if timeout(GRACE, all).await.is_err() {
            tracing::info!("what takes so long is broken off, and stays in the queue");
        }
        self.former.shutdown().await;
        let Some(mut running) = self.current else { return Ok(()) };
        running.tasks.shutdown().await;
        running.result
    }
}
