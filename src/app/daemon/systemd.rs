//! Notifies systemd of the daemon's state (`sd_notify(3)`), if systemd started it.

use std::time::Duration;

use sd_notify::NotifyState;
use tokio::time::sleep;

/// Notifies that the daemon is up, or has reloaded its settings.
pub(in crate::app) fn ready() {
    notify(&[NotifyState::Ready]);
}

/// Notifies that the daemon reloads its settings.
pub(super) fn reloading() {
    // Without the time systemd ignores the message.
    match NotifyState::monotonic_usec_now() {
        Ok(time) => notify(&[NotifyState::Reloading, time]),
        Err(error) => tracing::debug!(%error, "the clock"),
    }
}

/// Notifies that the daemon is about to end.
pub(super) fn stopping() {
    notify(&[NotifyState::Stopping]);
}

/// Notifies the watchdog, if there is one, periodically while no work is stuck. If some is, systemd restarts the
/// daemon.
pub(super) async fn keep_alive(standstill: impl Fn() -> Option<String>) {
    if let Some(limit) = sd_notify::watchdog_enabled() {
        beat(limit, standstill, || notify(&[NotifyState::Watchdog])).await;
    }
}

async fn beat(limit: Duration, standstill: impl Fn() -> Option<String>, notify: impl Fn()) {
    loop {
        match standstill() {
            None => notify(),
            Some(reason) => tracing::error!(reason, "work does not advance: the watchdog is not notified"),
        }
        sleep(limit / 3).await;
    }
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "cannot tell systemd");
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_watchdog_hears_nothing_while_work_stands_still() {
        let (stands, beats) = (Cell::new(false), Cell::new(0));
        let standstill = || stands.get().then(|| "a commit".to_owned());
        let beating = beat(Duration::from_secs(30), standstill, || beats.set(beats.get() + 1));
        let observed = async {
            sleep(Duration::from_secs(35)).await;
            let advancing = beats.get();
            stands.set(true);
            sleep(Duration::from_mins(1)).await;
            let standing = beats.get() - advancing;
            stands.set(false);
            sleep(Duration::from_secs(30)).await;
            (advancing, standing, beats.get() > advancing)
        };
        tokio::select! {
            () = beating => unreachable!(),
            observed = observed => assert_eq!(observed, (4, 0, true)),
        }
    }
}
