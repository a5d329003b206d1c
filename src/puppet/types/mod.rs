//! Puppet's type system: parses types, compares them with types and values, infers them from values and words
//! mismatches.
//!
//! The types themselves are values, see [`crate::value::rich::types`]. No type here comes from a module's code: a name
//! that only a module could define is an error of the kind "unknown".
//!
//! Three functions depend on one another: `assignable`, `is_instance` and [`parse`]. The values of `Init[T]` are
//! those that the constructor of `T` accepts, the signatures of constructors are written as expressions, and an
//! expression may hold a value that has to be of some type. The three are defined here, so that the modules below use
//! one another in one direction only: `syntax` reads an expression, and `interpret` makes a type of it;
//! `assign` and `instance` compare; `infer` finds the types of values; `generalize` and `normalize` reshape types;
//! `constructors` has the signatures of `new`, which `init` needs; `describe` finds each `mismatch`; `check` puts it
//! all together.

mod assign;
mod check;
pub(super) mod constructors;
pub mod data;
mod describe;
pub(super) mod inference;
pub(super) mod init;
mod instance;
mod interpret;
mod iterate;
mod mismatch;
mod names;
mod record;
pub(super) mod signature;
mod syntax;
mod uri;

pub(super) use check::assert_instance;
pub use check::{check_type, inferred, misfit, mismatch};

use super::Error;
use crate::value::{Type, Value};

use interpret::Names;

/// Parses an expression of a type.
pub fn parse(text: &str) -> Result<Type, Error> {
    parse_with(text, &[])
}

/// Parses an expression of a type, in which some names are known that Puppet itself does not have.
fn parse_with(text: &str, local: &[(&'static str, Type)]) -> Result<Type, Error> {
    interpret::type_of_text(text, &Names::All(local))
}

/// Parses the type of the flag `--type`, for which `puppet lookup` knows fewer names.
pub fn parse_flag(text: &str) -> Result<Type, Error> {
    interpret::type_of_text(text, &Names::BuiltIn)
}

/// Returns true if every value of the type `other` is of the type `kind`.
pub(super) fn assignable(kind: &Type, other: &Type) -> bool {
    assign::Guard::default().assignable(kind, other)
}

/// Returns true if `value` is of the type. Fails if a regular expression gives up.
pub(super) fn is_instance(kind: &Type, value: &Value) -> Result<bool, Error> {
    instance::is_instance(kind, value)
}
