//! The emulation of Ruby, its libraries and Puppet's language, byte for byte.
//!
//! [`yaml`], [`json`] and [`hocon`] read documents as Psych and the gems of these names do, and share the types of
//! [`document`]; [`emit`] writes YAML as Psych does. [`ruby`], [`regex`] and [`glob`] are methods of Ruby;
//! [`semver`], [`uri`] and [`time`] parse texts as its libraries and Puppet's do. [`types`] are the data types of
//! Puppet's language; [`new`] makes values of these types and [`mod@format`] makes texts of values. [`manifest`]
//! finds calls of functions in manifests. [`Puppet`] decides what differs between supported versions of Puppet, and
//! [`Ruby`] between those of Ruby. [`server`] names what a Puppet server on JRuby reads differently, and [`facter`]
//! Facter's own facts. An [`Error`] is worded as Puppet words it, or says that hierad cannot know the result. The
//! modules use one another in one direction: `new` and `format` use `types`, which uses the methods of Ruby. Nothing
//! here knows of hierarchies, keys or lookups.

pub mod document;
pub mod emit;
pub mod facter;
pub mod format;
pub mod glob;
pub mod hocon;
pub mod json;
pub mod manifest;
pub mod new;
pub mod pathname;
pub mod regex;
pub mod ruby;
pub mod semver;
pub mod server;
pub mod time;
pub mod types;
pub mod uri;
pub mod yaml;

mod error;
mod release;

pub use error::{Error, ErrorKind};
pub use release::{Psych, Puppet, Ruby};
