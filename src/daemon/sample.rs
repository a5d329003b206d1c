//! Which of many equal failures are worth a line in the log.

use std::collections::HashMap;

/// Counts failures in a row by what they are about.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    counts: HashMap<String, u64>,
}

impl Sampler {
    /// Takes note of a failure; how often it has happened by now if that is worth a line: 1, 10, 100, ...
    pub(super) fn failed(&mut self, about: &str) -> Option<u64> {
        let count = self.counts.entry(about.to_owned()).or_default();
        *count = count.saturating_add(1);
        is_power_of_ten(*count).then_some(*count)
    }

    /// Takes note that all works; how often it had failed before, if it had.
    pub(super) fn works(&mut self) -> Option<u64> {
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
    fn repeated_failures_are_told_more_and_more_rarely() {
        let mut sampler = Sampler::default();
        let told: Vec<_> = (0..1000).filter_map(|_| sampler.failed("refs")).collect();
        assert_eq!(told, [1, 10, 100, 1000]);
        assert_eq!(sampler.failed("branch main"), Some(1));
        assert_eq!(sampler.works(), Some(1000));
        assert_eq!((sampler.works(), sampler.failed("refs")), (None, Some(1)));
    }
}
