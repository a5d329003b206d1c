//! Puppet's type system: what a type expression means, which values and types fit a type, what a value's type is, and how Puppet
//! words a mismatch.
//!
//! The types themselves are values, see [`crate::value::rich::types`].

mod assign;
mod check;
pub mod data;
pub(super) mod describe;
pub(super) mod infer;
mod instance;
mod iterate;
pub(super) mod mismatch;
mod names;
mod normalize;
mod parse;
mod record;
mod syntax;
pub(super) mod uri;

pub use check::{inferred, misfit, mismatch};

pub(super) use assign::{assignable, sized};
pub(super) use instance::is_instance;
pub(super) use normalize::normalize;
pub(super) use parse::parse_with;
pub use parse::{parse, parse_flag};
