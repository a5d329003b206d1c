//! What systemd is told of the daemon (`sd_notify(3)`), where it wants to know.

use sd_notify::NotifyState;

/// The daemon is up, or has read its settings again.
pub(super) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// The daemon reads its settings again.
pub(super) fn reloads() {
    // Without the time systemd waits for it in vain.
    match NotifyState::monotonic_usec_now() {
        Ok(time) => tell(&[NotifyState::Reloading, time]),
        Err(error) => tracing::debug!(%error, "the clock"),
    }
}

/// The daemon is about to end.
pub(super) fn ends() {
    tell(&[NotifyState::Stopping]);
}

/// Tells again and again that the daemon's loop goes round, if there is a watchdog.
pub(super) async fn alive() {
    let Some(limit) = sd_notify::watchdog_enabled() else { return };
    loop {
        tell(&[NotifyState::Watchdog]);
        tokio::time::sleep(limit / 3).await;
    }
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "cannot tell systemd");
    }
}
