//! Reading the layers of an environment from its files.

use std::sync::Arc;

use super::environment_conf::EnvironmentConf;
use super::modules::Modules;
use super::{Environment, EnvironmentOptions, Layer, Store};
use crate::diagnostic::{Diagnostic, Place};
use crate::hiera::LookupError;
use crate::hiera::backend::eyaml::Keys;
use crate::hiera::config::{Config, Owner};
use crate::tree::{FileTree, Target, TreeError, child, follow};

/// What is read, and what was found on the way.
pub(super) struct Loader<'a> {
    pub(super) tree: &'a dyn FileTree,
    pub(super) options: &'a EnvironmentOptions,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Reads configuration and modules of `tree`.
pub(super) fn load(
    tree: Arc<dyn FileTree>,
    options: EnvironmentOptions,
    store: Arc<Store>,
) -> Result<Environment, TreeError> {
    let mut loader = Loader { tree: &*tree, options: &options, diagnostics: Vec::new() };
    let root = options.hiera_config.rfind('/').map_or("", |at| &options.hiera_config[..at]).to_owned();
    let path = child(&root, "environment.conf");
    let conf = match loader.read(&path)? {
        Some(content) => EnvironmentConf::parse(&content, &path, &mut loader.diagnostics),
        None => EnvironmentConf::default(),
    };
    let layer = loader.layer(None, root.clone(), &options.hiera_config, conf.data_provider.as_deref())?;
    let modules = Modules::load(&mut loader, &root, &conf.modulepath)?;
    let diagnostics = loader.diagnostics;
    let keys = Keys::new(options.eyaml_keys.clone(), options.outside.clone(), store.key_pairs.clone());
    Ok(Environment {
        tree,
        options,
        layer,
        modules: modules.layers,
        fault: conf.fault,
        modules_fault: modules.fault,
        diagnostics,
        store,
        keys,
    })
}

impl Loader<'_> {
    /// The file at `path`; nothing if there is none.
    pub(super) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, TreeError> {
        match follow(self.tree, path)? {
            Target::File(_, id) => self.tree.read(id).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn warn(&mut self, code: &'static str, place: Place, text: String) {
        self.diagnostics.push(Diagnostic::warning(code, Some(place), text));
    }

    /// The layer of a module, or of the environment, whose hiera.yaml is at `path`; nothing if it has no data.
    pub(super) fn layer(
        &mut self,
        module: Option<Arc<str>>,
        root: String,
        path: &str,
        data_provider: Option<&str>,
    ) -> Result<Option<Layer>, TreeError> {
        let owner = if module.is_some() { Owner::Module } else { Owner::Environment };
        let config = match follow(self.tree, path)? {
            Target::File(_, id) => {
                let content = self.tree.read(id)?;
                Config::parse(&content, path, owner, self.options.puppet, &mut self.diagnostics).transpose()
            }
            Target::Folder(_) => {
                Some(Err(LookupError::puppet(format!("Is a directory @ io_fread - {path}")).at(Place::file(path))))
            }
            Target::Absent => None,
            Target::Outside(why) => {
                self.warn(
                    "outside-repository",
                    Place::file(path),
                    format!("{why}, outside the repository: taken as absent"),
                );
                None
            }
        };
        let config = match (config, data_provider) {
            // A version 5 trumps the old setting.
            (Some(Ok(config)), provider) if config.version == 5 || provider.is_none() => Some(Ok(config)),
            (Some(Err(error)), _) => Some(Err(error)),
            (config, None | Some("none")) => config.filter(|_| data_provider.is_none()),
            (config, Some("hiera")) => Some(config.unwrap_or_else(|| Ok(Config::implied(&root)))),
            (_, Some(other)) => {
                let error = LookupError::unknown(format!("the data provider '{other}' is not supported"));
                Some(Err(error.at(Place::file(path))))
            }
        };
        Ok(config.map(|config| Layer { module, root, config: config.map(Arc::new) }))
    }
}
