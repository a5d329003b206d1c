//! The tests that need more than one module: one binary, so that it is linked once.

mod vectors_json;
mod vectors_ruby;
mod vectors_yaml;
mod yaml_limits;
