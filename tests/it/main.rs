//! The integration tests, in one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic, its helpers too")]

mod report;
mod support;
