//! What wakes the loop, and how events are waited for.

use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch as flag};
use tokio::time::{sleep, timeout};

/// A reason to look at the branches, or to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// The watch has begun: the first look is like any other.
    Start,
    /// Files of the repository have changed, or notification of them has begun.
    Files,
    /// Somebody says that there is something to see.
    Poke,
    /// It is time to look even though nothing was heard.
    Tick,
    /// The last look failed and is due again.
    Retry,
    /// The watch is to end.
    Stop,
}

/// How long the files must be quiet before a look, and how long to wait for that at most. A report waits for this, so it is as
/// short as what git does in one breath.
const QUIET: Duration = Duration::from_micros(200);
const PATIENCE: Duration = Duration::from_millis(200);

/// How long they must be quiet where a branch appears: on a machine at work git's steps from one branch to the next take longer.
const LONG_QUIET: Duration = Duration::from_millis(5);

/// How many events may wait; more say nothing new.
pub(super) const WAITING_EVENTS: usize = 16;

/// The least time between two looks that only the clock asks for.
const SHORTEST_POLL: Duration = Duration::from_millis(10);

/// The delay after the first failed look; each further one doubles it.
const FIRST_RETRY: Duration = Duration::from_millis(50);

/// Ticks once in each `period`.
pub(super) async fn poll(period: Duration, events: mpsc::Sender<Event>) {
    let period = period.max(SHORTEST_POLL);
    loop {
        sleep(period).await;
        if events.send(Event::Tick).await.is_err() {
            return;
        }
    }
}

/// Hands on each poke.
pub(super) async fn pokes(mut poked: flag::Receiver<()>, events: mpsc::Sender<Event>) {
    while poked.changed().await.is_ok() {
        if events.send(Event::Poke).await.is_err() {
            return;
        }
    }
}

/// How long to wait before a look is tried again after it has failed `failures` times; nothing if it has not.
pub(super) fn retry_delay(failures: u32, poll: Duration) -> Option<Duration> {
    let doublings = failures.checked_sub(1)?;
    let delay = FIRST_RETRY.saturating_mul(2_u32.saturating_pow(doublings.min(16)));
    Some(delay.min(poll.max(FIRST_RETRY)))
}

/// The next event. A retry that is due comes even if nothing else does; a stop comes before all else.
pub(super) async fn next(
    events: &mut mpsc::Receiver<Event>,
    stopped: &mut flag::Receiver<bool>,
    retry: Option<Duration>,
) -> Event {
    let waiting = async {
        match retry {
            Some(delay) => timeout(delay, events.recv()).await.unwrap_or(Some(Event::Retry)),
            None => events.recv().await,
        }
    };
    tokio::select! {
        biased;
        _ = stopped.wait_for(|stopped| *stopped) => Event::Stop,
        event = waiting => event.unwrap_or(Event::Stop),
    }
}

/// Waits until no more events come for a moment, or patience ends; swallows them, since one look answers all. It blocks: the
/// runtime's own timers count whole milliseconds.
pub(super) fn settle(events: &mut mpsc::Receiver<Event>) {
    settle_within(events, QUIET, PATIENCE);
}

/// The same for a longer moment.
pub(super) fn settle_long(events: &mut mpsc::Receiver<Event>) {
    settle_within(events, LONG_QUIET, PATIENCE);
}

fn settle_within(events: &mut mpsc::Receiver<Event>, quiet: Duration, patience: Duration) {
    let end = Instant::now() + patience;
    while Instant::now() < end {
        thread::sleep(quiet);
        if events.try_recv().is_err() {
            return;
        }
        swallow(events);
    }
}

/// Takes all events that are there, and not for ever those that come meanwhile.
pub(super) fn swallow(events: &mut mpsc::Receiver<Event>) {
    _ = (0..WAITING_EVENTS).take_while(|_| events.try_recv().is_ok()).count();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_become_rarer() {
        let poll = Duration::from_secs(2);
        let delays: Vec<_> = [0, 1, 2, 3, 9, u32::MAX].map(|failures| retry_delay(failures, poll)).into();
        let millis = |millis| Some(Duration::from_millis(millis));
        assert_eq!(delays, [None, millis(50), millis(100), millis(200), millis(2000), millis(2000)]);
    }

    #[test]
    fn many_events_are_one() {
        let (quiet, patience) = (Duration::from_millis(5), Duration::from_millis(50));
        // More than are swallowed by then.
        let (sender, mut events) = mpsc::channel(WAITING_EVENTS * 12);
        while sender.try_send(Event::Files).is_ok() {}
        let start = Instant::now();
        settle_within(&mut events, quiet, patience);
        assert!(start.elapsed() >= patience);
    }

    #[test]
    fn silence_is_waited_for() {
        let (sender, mut events) = mpsc::channel(4);
        sender.try_send(Event::Files).unwrap();
        let start = Instant::now();
        settle_within(&mut events, QUIET, Duration::from_hours(1));
        // Once with the event, once without.
        assert!(start.elapsed() >= QUIET * 2 && events.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_comes_first_and_a_retry_last() {
        let (sender, mut events) = mpsc::channel(4);
        let (stop, mut stopped) = flag::channel(false);
        let retry = Some(Duration::from_millis(50));
        assert_eq!(next(&mut events, &mut stopped, retry).await, Event::Retry);
        sender.send(Event::Tick).await.unwrap();
        assert_eq!(next(&mut events, &mut stopped, retry).await, Event::Tick);
        sender.send(Event::Tick).await.unwrap();
        stop.send_replace(true);
        assert_eq!(next(&mut events, &mut stopped, None).await, Event::Stop);
    }
}
