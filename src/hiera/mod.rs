//! Hiera, in the words of its manual.
//!
//! A [`config`] (hiera.yaml) and a node's [`scope`] make a [`hierarchy`] of levels and locations, whose data provider
//! functions are [`backend`]s. A [`layer`] is a place that has a hierarchy: the global one, the environment, a
//! module. A [`lookup`] searches the layers for a key, merges the values with the [`merge`] strategy in its
//! [`options`] (`lookup_options`), and has each value interpolated by [`interpolation`]. [`explain`] records its
//! steps, and tells where parts of a value come from. For a repository of Hiera 3, [`version3`] replaces all of that,
//! behind the same [`lookup::Lookup`].
//!
//! Everything behaves like Puppet's own code; [`puppet`](crate::puppet) emulates its language and libraries, and its
//! `Puppet` distinguishes the two supported versions. An answer depends on nothing but the [`sources`] of a node, its
//! variables, and the commands that the settings declare. Nothing here knows about git, disks, networks, clocks or
//! other nodes: files come from a [`FileTree`](crate::tree::FileTree), keys of encrypted data from a
//! [`HostAccess`](backend::host::HostAccess).

pub mod backend;
pub mod budget;
mod command;
pub mod config;
pub mod convert;
pub mod derived;
pub mod encrypted;
pub mod explain;
pub mod hierarchy;
pub mod interpolation;
pub mod key;
pub mod layer;
pub mod lookup;
pub mod manifests;
pub mod merge;
pub mod options;
pub mod scope;
pub mod sources;
pub mod stand_in;
pub mod version3;

mod error;

pub use command::{bridged_answers, bridged_references};
pub use error::{Failed, LookupError};
pub use key::{LookupKey, class_of_parameter};

/// The program that reads a repository's hiera.yaml.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Reader {
    /// Puppet, as it reads that of an environment: a file of version 3 has no effect.
    #[default]
    Puppet,
    /// Hiera 3, without Puppet.
    Hiera3,
    /// Hiera 3 if the file is one of its own and nothing shows that the repository is a Puppet environment.
    Auto,
    /// Hiera 3 if the file is one of its own, otherwise Puppet: for a history in which the file changes from one to
    /// the other.
    ByVersion,
}

/// The answer of a lookup.
#[derive(Debug, Clone, Eq, Hash)]
#[expect(clippy::derived_hash_with_manual_eq, reason = "equality looks closer than the hash")]
pub enum Outcome {
    /// The effective value.
    Found(crate::value::Value),
    /// No level has the key.
    NotFound,
    /// Puppet fails on the key, or hierad cannot know the answer.
    Failed(LookupError),
}

/// Equality also requires the same secrets, and types and ranges that are written alike.
impl PartialEq for Outcome {
    fn eq(&self, other: &Outcome) -> bool {
        match (self, other) {
            (Outcome::Found(a), Outcome::Found(b)) => a == b && a.is_written_like(b),
            (Outcome::Failed(a), Outcome::Failed(b)) => a == b && a.text.secrecy() == b.text.secrecy(),
            (Outcome::NotFound, Outcome::NotFound) => true,
            _ => false,
        }
    }
}

impl Outcome {
    /// Returns true if two outcomes are the same, apart from the places of errors: a file that was assembled for a
    /// trial has no line numbers.
    pub(crate) fn is_like(&self, other: &Outcome) -> bool {
        match (self, other) {
            (Outcome::Failed(one), Outcome::Failed(other)) => one.text == other.text,
            _ => self == other,
        }
    }

    pub(crate) fn from_result(result: Result<Option<crate::value::Value>, LookupError>) -> Outcome {
        match result {
            Ok(Some(value)) => Outcome::Found(value),
            Ok(None) => Outcome::NotFound,
            Err(error) => Outcome::Failed(error),
        }
    }
}
