//! The running service, and former services that are about to end.

use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use super::{Service, ServiceError, WorkLocks};
use crate::daemon::shutdown::Trigger;

/// The time that steps may go on when the daemon ends; the rest stays in the queue.
const GRACE: Duration = Duration::from_secs(10);

/// A service at work.
pub(super) struct Running {
    trigger: Trigger,
    tasks: JoinSet<Result<(), ServiceError>>,
    result: Result<(), ServiceError>,
}

impl Running {
    pub(super) fn new(trigger: Trigger, tasks: JoinSet<Result<(), ServiceError>>) -> Running {
        Running { trigger, tasks, result: Ok(()) }
    }

    /// Resolves when the service cannot go on.
    async fn failed(&mut self) {
        if let Some(ended) = self.tasks.join_next().await {
            self.note(ended);
        }
    }

    /// Ends the service: steps that have begun are finished.
    async fn end(&mut self) {
        self.trigger.shut_down();
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

/// The running service, and those that it has replaced, as long as they have something to finish.
#[derive(Default)]
pub struct Services {
    current: Option<Running>,
    former: JoinSet<()>,
    locks: WorkLocks,
}

impl Services {
    /// Begins a service in place of the running one, which ends in its own time. If that fails, the running one
    /// stays. No commit that comes later is missed.
    pub async fn begin(&mut self, service: Service) -> Result<(), ServiceError> {
        let started = service.start(&mut self.locks).await?;
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

    /// Ends all services; steps that take too long are broken off. Returns the error if the service could not go on.
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
