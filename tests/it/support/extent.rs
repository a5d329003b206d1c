//! The extent of the tests: `cargo test`, whose program is not optimised, tries a part of what `.ci/run` does.

use std::time::{Duration, Instant};

/// More time than anything takes that ends, however slow or busy the machine is.
pub(crate) const ENDLESS: Duration = Duration::from_mins(10);

/// Returns true if `HIERAD_FULL` asks for all that the tests can try. Then the program must be optimised: its time
/// counts.
pub(crate) fn is_full() -> bool {
    std::env::var_os("HIERAD_FULL").is_some_and(|full| !full.is_empty())
}

/// Waits between two looks at something that may take long: longer, the longer it has taken since `start`.
pub(crate) fn pause(start: Instant) {
    std::thread::sleep((start.elapsed() / 8).clamp(Duration::from_millis(10), Duration::from_millis(500)));
}

/// Returns `full` if all is to be tried, otherwise `few`.
pub(crate) fn full_or<T>(full: T, few: T) -> T {
    if is_full() { full } else { few }
}
