//! Puppet manifests, as far as they say what is looked up and what variables are: the lookups with their merge
//! strategies, the parameters of classes, variables of the top scope, and node blocks with what they set. Templates
//! and functions in Ruby look keys up as well.
//!
//! A strategy that a manifest passes to `lookup` wins over `lookup_options`, so that data alone does not say what a
//! node gets. Nothing is evaluated: what is not a literal is not known, but for the pieces of a name around
//! variables, and for variables of the top scope that are made of facts alone ([`Formula`]).
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
