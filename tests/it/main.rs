//! The tests that need more than one module: one binary, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test tells by failing")]

mod vectors_json;
mod vectors_ruby;
mod vectors_yaml;
mod yaml_limits;
