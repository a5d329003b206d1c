//! The extent of the tests: `cargo test`, whose program is not optimised, tries a part of what `.ci/run` does.

use std::time::Duration;

/// More time than anything takes that ends, however slow or busy the machine is.
pub(crate) const ENDLESS: Duration = Duration::from_mins(10);

/// Returns true if `HIERAD_FULL` asks for all that the tests can try. Then the program must be optimised: its time
/// counts.
pub(crate) fn is_full() -> bool {
    std::env::var_os("HIERAD_FULL").is_some_and(|full| !full.is_empty())
}

/// Returns the most time of work that has an end: `limit` for an optimised program, otherwise [`ENDLESS`].
pub(crate) fn patience(limit: Duration) -> Duration {
    full_or(limit, ENDLESS)
}

/// Returns `full` if all is to be tried, otherwise `few`.
pub(crate) fn full_or<T>(full: T, few: T) -> T {
    if is_full() { full } else { few }
}
