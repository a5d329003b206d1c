//! The layers of one environment: its own hiera.yaml and those of its modules.
//!
//! An [`Environment`] is what one revision of a repository says, before any node comes into play. A global layer would be one
//! more [`Layer`] before the environment's.
//! Source: `pops/lookup/lookup_adapter.rb`, `node/environment.rb`, `settings/environment_conf.rb`, `module.rb`.

mod environment_conf;
mod load;
mod modules;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::backend::eyaml::{KeyNames, KeyPairs, Keys};
use super::backend::{Backends, DataFiles};
use super::config::Config;
use super::hierarchy::{Datadir, Source};
use super::outside::{Nowhere, Outside};
use super::regex::Regexes;
use super::{LookupError, Puppet};
use crate::diagnostic::Diagnostic;
use crate::tree::{FileTree, TreeError};

/// What decides how an environment is read, besides its files.
#[derive(Clone)]
pub struct EnvironmentOptions {
    /// The version whose behaviour counts.
    pub puppet: Puppet,
    /// The environment layer's configuration, relative to the root of the tree; its folder is the environment's.
    pub hiera_config: String,
    /// Absolute datadirs and what they stand for.
    pub datadirs: Vec<(String, Datadir)>,
    /// Functions that hierad does not have.
    pub backends: Backends,
    /// The key pair for all encrypted data, whatever hiera.yaml names.
    pub eyaml_keys: Option<KeyNames>,
    /// The world outside the repository.
    pub outside: Arc<dyn Outside>,
}

impl Default for EnvironmentOptions {
    fn default() -> EnvironmentOptions {
        EnvironmentOptions {
            puppet: Puppet::default(),
            hiera_config: "hiera.yaml".into(),
            datadirs: Vec::new(),
            backends: Backends::new(),
            eyaml_keys: None,
            outside: Arc::new(Nowhere),
        }
    }
}

/// What outlives a revision, by content: parsed files, compiled patterns, key pairs.
#[derive(Debug, Default)]
pub struct Store {
    /// Parsed data files.
    pub files: DataFiles,
    /// Compiled patterns.
    pub regexes: Regexes,
    /// Key pairs, with what they have decrypted.
    pub key_pairs: Arc<KeyPairs>,
}

/// One place that has a hierarchy.
#[derive(Debug, Clone)]
pub struct Layer {
    /// The module, nothing for the environment itself.
    pub module: Option<Arc<str>>,
    /// The folder that paths in its hiera.yaml are relative to.
    pub root: String,
    /// Its configuration, or why every lookup that reaches it fails.
    pub config: Result<Arc<Config>, LookupError>,
}

/// One revision of a repository, read as a Puppet environment.
pub struct Environment {
    /// Its files.
    pub tree: Arc<dyn FileTree>,
    /// How it is read.
    pub options: EnvironmentOptions,
    /// The environment's own layer; nothing if it has no hiera.yaml.
    pub layer: Option<Layer>,
    /// The layers of its modules, by module name.
    pub modules: BTreeMap<Arc<str>, Layer>,
    /// Why every lookup fails.
    pub fault: Option<LookupError>,
    /// Why every lookup of a key with a module's name fails.
    pub modules_fault: Option<LookupError>,
    /// What was found on the way.
    pub diagnostics: Vec<Diagnostic>,
    /// Parsed files and patterns.
    pub store: Arc<Store>,
    /// The keys of encrypted data, as they are when the environment is read.
    pub keys: Keys,
}

impl Environment {
    /// Reads configuration and modules of `tree`.
    pub fn load(
        tree: Arc<dyn FileTree>,
        options: EnvironmentOptions,
        store: Arc<Store>,
    ) -> Result<Environment, TreeError> {
        load::load(tree, options, store)
    }

    /// What hierarchies are resolved against.
    pub fn source(&self) -> Source<'_> {
        Source {
            tree: &*self.tree,
            files: &self.store.files,
            datadirs: &self.options.datadirs,
            backends: &self.options.backends,
            puppet: self.options.puppet,
        }
    }

    /// All layers, in no order of priority.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.layer.iter().chain(self.modules.values())
    }
}
