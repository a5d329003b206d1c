//! The integration tests: one binary, on real repositories and files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod application_vectors;
mod architecture;
mod backend_command;
mod cli;
mod daemon;
mod delivery;
mod differential;
mod documents;
mod explain_vectors;
mod export;
mod eyaml;
mod fleet;
mod fleet_changes;
mod fleet_classes;
mod fleet_paths;
mod fleet_templates;
mod freshness;
#[path = "../generator/mod.rs"]
mod generator;
mod git;
mod hiera3_vectors;
mod hooks;
mod hostile;
mod http;
mod lookup_vectors;
mod outputs;
mod progress;
mod report;
mod secrets;
mod snapshot;
mod specs;
mod spellings;
mod support;
mod vectors_convert;
mod vectors_emit;
mod vectors_glob;
mod vectors_hocon;
mod vectors_json;
mod vectors_regexp;
mod vectors_ruby;
mod vectors_settings;
mod vectors_yaml;
mod versions;
mod watch_refs;
mod yaml_limits;
