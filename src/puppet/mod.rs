//! The wall around emulation: what Ruby, its libraries and Puppet's language do, byte for byte.
//!
//! [`yaml`], [`json`] and [`hocon`] read documents as Psych and the gems of these names do ([`document`] is what they
//! have in common), [`emit`] writes YAML as Psych does. [`ruby`], [`regex`] and [`glob`] are methods of Ruby,
//! [`semver`] and [`uri`] its libraries. [`types`] are the data types of Puppet's language, [`new`] makes values of
//! them and [`format`] texts of values; [`manifest`] finds calls of functions in manifests. Where the two supported
//! versions of Puppet differ, [`Puppet`] decides.
//!
//! An [`Error`] says what Puppet says, or that hierad cannot know it. Nothing here knows of hierarchies, keys or
//! lookups.

pub mod document;
pub mod emit;
pub mod format;
pub mod glob;
pub mod hocon;
pub mod json;
pub mod manifest;
pub mod new;
pub mod regex;
pub mod ruby;
pub mod semver;
pub mod types;
pub mod uri;
pub mod yaml;

mod error;
mod release;

pub use error::{Error, ErrorKind};
pub use release::Puppet;
