//! The running service, and former services that are about to end.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use super::{Service, ServiceError, WorkLocks};
use crate::daemon::handle::ServiceHandle;
use crate::daemon::shutdown::Trigger;

/// The time for which steps may go on when the daemon ends. Unfinished work stays in the queue.
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
pub struct Services {
    current: Option<Running>,
    former: JoinSet<()>,
    locks: WorkLocks,
    /// Shared by all services.
    handle: Arc<ServiceHandle>,
}

/// Tells whether the work of all services advances. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Advance(Arc<ServiceHandle>);

impl Advance {
    /// Returns the stuck work, or `None` if all work advances.
    pub fn standstill(&self) -> Option<String> {
        self.0.progress.standstill()
    }
}

impl Default for Services {
    fn default() -> Services {
        let (former, locks, handle) = (JoinSet::new(), WorkLocks::default(), Arc::new(ServiceHandle::new()));
        Services { current: None, former, locks, handle }
    }
}

impl Services {
    /// Begins a service in place of the running one, which ends in its own time. If that fails, the running one
    /// stays. No commit that comes later is missed.
    pub async fn begin(&mut self, service: Service) -> Result<(), ServiceError> {
        let started = service.start(&mut self.locks, &self.handle).await?;
        self.replace(started);
        Ok(())
    }

    /// Notes the result of a reload: the reason why the old settings stay, or `None`.
    pub fn reloaded(&self, failure: Option<String>) {
        self.handle.metrics.reloaded(failure.is_none());
        self.handle.health.reloaded(failure);
    }

    /// Returns a view that tells whether their work advances.
    pub fn advance(&self) -> Advance {
        Advance(self.handle.clone())
    }

    /// Makes `started` the running service. The former one may take any time for steps that it has begun.
    fn replace(&mut self, started: Running) {
        if let Some(mut former) = self.current.replace(started) {
            self.former.spawn(async move {
                former.end().await;
                if let Err(error) = former.result {
                    tracing::error!(%error, "work begun with the former settings has failed");
                }
            });
        }
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
            tracing::info!("work that takes too long is cancelled, and stays in the queue");
        }
        self.former.shutdown().await;
        let Some(mut running) = self.current else { return Ok(()) };
        running.tasks.shutdown().await;
        running.result
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::task::yield_now;
    use tokio::time::{advance, sleep};

    use super::*;
    use crate::daemon::shutdown::shutdown;

    /// A service with one step that takes `time` and cannot be hurried, and a mark of its end.
    fn busy(time: Duration) -> (Running, Arc<AtomicBool>) {
        let (trigger, _) = shutdown();
        let (mut tasks, ended) = (JoinSet::new(), Arc::new(AtomicBool::new(false)));
        let mark = ended.clone();
        tasks.spawn(async move {
            sleep(time).await;
            mark.store(true, Ordering::Relaxed);
            Ok(())
        });
        (Running::new(trigger, tasks), ended)
    }

    #[tokio::test(start_paused = true)]
    async fn a_reload_breaks_nothing_off() {
        let mut services = Services::default();
        let (former, ended) = busy(GRACE * 6);
        services.replace(former);
        services.replace(busy(Duration::ZERO).0);
        yield_now().await;
        advance(GRACE * 5).await;
        yield_now().await;
        assert!(!ended.load(Ordering::Relaxed));
        assert!(!services.former.is_empty(), "the step goes on");
        advance(GRACE * 2).await;
        assert!(services.former.join_next().await.unwrap().is_ok());
        assert!(ended.load(Ordering::Relaxed));
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_breaks_long_steps_off() {
        for (time, is_finished) in [(GRACE / 2, true), (GRACE * 2, false)] {
            let mut services = Services::default();
            let (former, former_ended) = busy(time);
            let (current, current_ended) = busy(time);
            services.replace(former);
            services.replace(current);
            services.end().await.unwrap();
            let ended = [former_ended, current_ended].map(|ended| ended.load(Ordering::Relaxed));
            assert_eq!(ended, [is_finished; 2], "{time:?}");
        }
    }
}
