//! Tells the tasks of a watch or a service when to end.

use std::time::Duration;

use tokio::sync::{Notify, watch as flag};
use tokio::time::sleep;

/// Ends the tasks that hold the [`Shutdown`] made with it.
#[derive(Debug)]
pub(super) struct Trigger(flag::Sender<bool>);

/// Tells a task when it has to end. A task finishes the step that it is at.
#[derive(Debug, Clone)]
pub(super) struct Shutdown(flag::Receiver<bool>);

/// Makes a shutdown and its trigger.
pub(super) fn shutdown() -> (Trigger, Shutdown) {
    let (trigger, shutdown) = flag::channel(false);
    (Trigger(trigger), Shutdown(shutdown))
}

impl Trigger {
    /// Asks the tasks to end.
    pub(super) fn shut_down(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Returns true if the task should end.
    pub(super) fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when the task has to end.
    pub(super) async fn requested(&mut self) {
        _ = self.0.wait_for(|is_requested| *is_requested).await;
    }

    /// Sleeps, and returns true if the task has to end before the time is over.
    pub(super) async fn interrupts(&mut self, time: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.requested() => true,
            () = sleep(time) => false,
        }
    }

    /// Sleeps until `wake` is notified, the time is over, or the task has to end.
    pub(super) async fn sleep_until_woken(&mut self, wake: &Notify, time: Duration) {
        tokio::select! {
            () = wake.notified() => {}
            _ = self.interrupts(time) => {}
        }
    }
}
