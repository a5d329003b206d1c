//! The reasons to wake the loop of a watch. Each of them only says "look".

use std::time::Duration;

use tokio::sync::{mpsc, watch as flag};
use tokio::time::{sleep, timeout};

use crate::daemon::shutdown::Shutdown;

/// A reason to look at the branches, or to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    /// The watch has begun: the first look is like any other.
    Start,
    /// Files of the repository have changed, or notification of them has begun.
    Files,
    /// A look was requested.
    Request,
    /// The clock asks for a look even though nothing was heard.
    Tick,
    /// The last look failed and is due again.
    Retry,
    /// The watch has to end.
    Shutdown,
}

/// The maximum number of reasons that may wait; more would say nothing new.
pub(super) const CAPACITY: usize = 16;

/// The minimum time between two looks that only the clock asks for.
const SHORTEST_POLL: Duration = Duration::from_millis(10);

/// The delay after the first failed look; each further failure doubles it.
const FIRST_RETRY: Duration = Duration::from_millis(50);

/// Ticks once every `period`.
pub(super) async fn poll(period: Duration, wakes: mpsc::Sender<Wake>) {
    let period = period.max(SHORTEST_POLL);
    loop {
        sleep(period).await;
        if wakes.send(Wake::Tick).await.is_err() {
            return;
        }
    }
}

/// Forwards requests for a look.
pub(super) async fn forward(mut requests: flag::Receiver<()>, wakes: mpsc::Sender<Wake>) {
    while requests.changed().await.is_ok() {
        if wakes.send(Wake::Request).await.is_err() {
            return;
        }
    }
}

/// Returns the delay until a look is tried again after a number of failures, or `None` if there is no failure.
pub(super) fn retry_delay(failures: u32, poll: Duration) -> Option<Duration> {
    let doublings = failures.checked_sub(1)?;
    let delay = FIRST_RETRY.saturating_mul(2_u32.saturating_pow(doublings.min(16)));
    Some(delay.min(poll.max(FIRST_RETRY)))
}

/// Waits for the next reason. A shutdown comes before all others; a retry comes after `retry` if nothing else does.
pub(super) async fn next(wakes: &mut mpsc::Receiver<Wake>, shutdown: &mut Shutdown, retry: Option<Duration>) -> Wake {
    let waiting = async {
        match retry {
            Some(delay) => timeout(delay, wakes.recv()).await.unwrap_or(Some(Wake::Retry)),
            None => wakes.recv().await,
        }
    };
    tokio::select! {
        biased;
        () = shutdown.requested() => Wake::Shutdown,
        wake = waiting => wake.unwrap_or(Wake::Shutdown),
    }
}

/// Takes the reasons that wait, since one look answers all of them.
pub(super) fn drain(wakes: &mut mpsc::Receiver<Wake>) {
    _ = (0..CAPACITY).take_while(|_| wakes.try_recv().is_ok()).count();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::shutdown::shutdown;

    #[test]
    fn retries_become_rarer() {
        let poll = Duration::from_secs(2);
        let delays: Vec<_> = [0, 1, 2, 3, 9, u32::MAX].map(|failures| retry_delay(failures, poll)).into();
        let millis = |millis| Some(Duration::from_millis(millis));
        assert_eq!(delays, [None, millis(50), millis(100), millis(200), millis(2000), millis(2000)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_shutdown_comes_first_and_a_retry_last() {
        let (sender, mut wakes) = mpsc::channel(4);
        let (trigger, mut shutdown) = shutdown();
        let retry = Some(Duration::from_millis(50));
        assert_eq!(next(&mut wakes, &mut shutdown, retry).await, Wake::Retry);
        sender.send(Wake::Tick).await.unwrap();
        assert_eq!(next(&mut wakes, &mut shutdown, retry).await, Wake::Tick);
        sender.send(Wake::Tick).await.unwrap();
        trigger.shut_down();
        assert_eq!(next(&mut wakes, &mut shutdown, None).await, Wake::Shutdown);
    }
}
