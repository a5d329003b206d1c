//! Failures that repeat: the first, the tenth, the hundredth and so on are worth a line in the log.

use std::collections::HashMap;

/// Counts failures in a row by their subject.
#[derive(Debug, Default)]
pub(super) struct RepeatedFailures {
    counts: HashMap<String, u64>,
}

impl RepeatedFailures {
    /// Counts a failure. Returns the count if it is worth a line in the log (1, 10, 100, ...), else `None`.
    pub(super) fn failed(&mut self, about: &str) -> Option<u64> {
        let count = self.counts.entry(about.to_owned()).or_default();
        *count = count.saturating_add(1);
        is_power_of_ten(*count).then_some(*count)
    }

    /// Notes that everything works. Returns the failures before, or `None` if there were none.
    pub(super) fn recovered(&mut self) -> Option<u64> {
        self.counts.drain().map(|(_, count)| count).max()
    }
}

fn is_power_of_ten(mut count: u64) -> bool {
    while count > 1 && count.is_multiple_of(10) {
        count /= 10;
    }
    count == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_failures_are_logged_more_and_more_rarely() {
        let mut failures = RepeatedFailures::default();
        let logged: Vec<_> = (0..1000).filter_map(|_| failures.failed("refs")).collect();
        assert_eq!(logged, [1, 10, 100, 1000]);
        assert_eq!(failures.failed("branch main"), Some(1));
        assert_eq!(failures.recovered(), Some(1000));
        assert_eq!((failures.recovered(), failures.failed("refs")), (None, Some(1)));
    }
}
