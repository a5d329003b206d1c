//! Notifies systemd of the daemon's state (`sd_notify(3)`), if systemd started it.

use sd_notify::NotifyState;

/// Notifies that the daemon is up, or has reloaded its settings.
pub(super) fn ready() {
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

/// Notifies the watchdog again and again, if there is one.
pub(super) async fn keep_alive() {
    let Some(limit) = sd_notify::watchdog_enabled() else { return };
    loop {
        notify(&[NotifyState::Watchdog]);
        tokio::time::sleep(limit / 3).await;
    }
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "cannot tell systemd");
    }
}
