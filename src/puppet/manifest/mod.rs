//! Reads from Puppet manifests what they look up and which variables they set: lookups with their merge strategies,
//! parameters of classes, variables of the top scope, and node blocks with what they set. Templates and functions in
//! Ruby look keys up as well.
//!
//! A strategy that a manifest passes to `lookup` wins over `lookup_options`, so data alone does not determine what a
//! node gets. Nothing is evaluated: all that is known are literals, the pieces of a name around variables, and
//! variables of the top scope that are made of facts alone ([`Formula`]).
//!
//! Source: `puppet/functions/lookup.rb`, `hiera.rb`, `hiera_array.rb`, `hiera_hash.rb`, `hiera_include.rb`.

mod call;
mod formula;
mod function;
mod given;
mod literal;
mod looked_up;
mod lookups;
mod ruby;
mod site;
mod template;
mod tokens;
mod top_scope;
mod values;

pub use call::{CallMerge, KeyText, LookupCall};
pub use formula::{Formula, Input};
pub use given::{ANYTHING, Fed};
pub use looked_up::{LookedUp, looked_up};
pub use lookups::{Language, Lookups};
pub use site::{Assignment, CallPattern, NodeBlock, NodeBlocks};
pub use top_scope::TopScope;
