//! Hiera, in the words of its manual.
//!
//! A [`config`] (hiera.yaml) and a node's [`scope`] give a [`hierarchy`] of levels and locations, whose data provider
//! functions are [`backend`]s. A [`layer`] is a place that has a hierarchy: the global one, the environment, a module.
//! A [`lookup`] searches the layers for a key, folds the values with a [`merge`] strategy that [`options`]
//! (`lookup_options`) name, and has each value interpolated by [`interpolation`]. [`explain`] records its steps and
//! tells where parts of a value come from. [`version3`] answers in place of all that for a repository of Hiera 3,
//! behind the same [`lookup::Lookup`].
//!
//! Everything behaves as Puppet's own; [`puppet`](crate::puppet) emulates its language and libraries, and its `Puppet`
//! tells the two supported versions apart. An answer depends on nothing but the [`sources`] of a node, its variables,
//! and the commands that the settings declare. Nothing here knows of git, disk, network, clock or more than one node:
//! files come from a [`FileTree`](crate::tree::FileTree), keys of encrypted data through
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

/// The reader of a repository's hiera.yaml.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Reader {
    /// Puppet, as that of an environment: one of version 3 has no effect.
    #[default]
    Puppet,
    /// Hiera 3, with no Puppet around it.
    Hiera3,
    /// Hiera 3 where the file is one of its own and nothing says that the repository is a Puppet environment.
    Auto,
    /// Hiera 3 where the file is one of its own, Puppet else: for a history in which the file moves from one to the
    /// other.
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

/// Equal answers have the same secrets, too, and types and ranges in them are written alike.
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
    pub(crate) fn from_result(result: Result<Option<crate::value::Value>, LookupError>) -> Outcome {
        match result {
            Ok(Some(value)) => Outcome::Found(value),
            Ok(None) => Outcome::NotFound,
            Err(error) => Outcome::Failed(error),
        }
    }
}
