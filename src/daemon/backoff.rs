//! The pauses after failures.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

/// The pause after the first failure, before jitter.
const FIRST: Duration = Duration::from_millis(500);

/// Returns the pause after a number of failures in a row: each is about twice as long as the one before, and random
/// within bounds.
pub(super) fn backoff(failures: u32, longest: Duration) -> Duration {
    // Jitter adds at most the same again.
    let delays = ExponentialBuilder::new().with_min_delay(FIRST).with_max_delay(longest / 2);
    let mut delays = delays.with_jitter().without_max_times().build();
    delays.nth(failures.saturating_sub(1).min(32) as usize).unwrap_or(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_become_longer_within_bounds() {
        let longest = Duration::from_mins(1);
        for _ in 0..100 {
            let first = backoff(1, longest);
            assert!(first >= Duration::from_millis(500) && first <= Duration::from_secs(1), "{first:?}");
            for failures in [10, 40, u32::MAX] {
                let pause = backoff(failures, longest);
                assert!(pause >= longest / 2 && pause <= longest, "{pause:?}");
            }
        }
    }
}
