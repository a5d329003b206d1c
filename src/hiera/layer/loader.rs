//! The loader of layers, which reads each hiera.yaml and collects findings.

use std::sync::Arc;

use super::{EnvironmentOptions, GlobalConfig, Layer, Store};
use crate::diagnostic::{Diagnostic, Place, Subject};
use crate::hiera::LookupError;
use crate::hiera::backend::ANOTHER_CONTENT;
use crate::hiera::config::{Config, Configs, Owner, ReadConfig};
use crate::hiera::hierarchy::outside_repository;
use crate::tree::{ATTRIBUTES, Attributes, BlobId, FileTree, IDENT, Target, TreeError, folder_of, follow, read_config};

/// The maximum number of findings reported for an environment.
const MAX_FINDINGS: usize = 10_000;

/// The files and options to read with, and the findings so far.
pub(super) struct Loader<'a> {
    pub(super) tree: &'a Arc<dyn FileTree>,
    pub(super) options: &'a EnvironmentOptions,
    pub(super) configs: &'a Configs,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// The place of a layer's hiera.yaml.
pub(super) struct ConfigFile<'a> {
    pub(super) owner: Owner,
    pub(super) module: Option<Arc<str>>,
    pub(super) tree: &'a Arc<dyn FileTree>,
    pub(super) path: &'a str,
}

/// Returns the file of `tree` at `path`, or `None` if there is none.
pub(super) fn read(tree: &dyn FileTree, path: &str) -> Result<Option<Vec<u8>>, TreeError> {
    match follow(tree, path)? {
        Target::File(path, id) => read_config(tree, &path, id).map(Some),
        _ => Ok(None),
    }
}

impl<'a> Loader<'a> {
    /// Returns a loader without findings.
    pub(super) fn of(tree: &'a Arc<dyn FileTree>, options: &'a EnvironmentOptions, store: &'a Store) -> Loader<'a> {
        Loader { tree, options, configs: &store.configs, diagnostics: Vec::new() }
    }

    pub(super) fn warn(&mut self, code: &'static str, place: Place, text: String) {
        self.add(Diagnostic::warning(code, Some(place), text));
    }

    pub(super) fn note(&mut self, code: &'static str, place: Place, text: String) {
        self.add(Diagnostic::note(code, Some(place), text));
    }

    /// Adds a finding. Beyond the maximum, the last one says that there are more.
    fn add(&mut self, diagnostic: Diagnostic) {
        match self.diagnostics.len() {
            ..MAX_FINDINGS => self.diagnostics.push(diagnostic),
            MAX_FINDINGS => {
                let text = format!("there are more than {MAX_FINDINGS} findings: others are not listed");
                self.diagnostics.push(Diagnostic { text, ..diagnostic });
            }
            _ => {}
        }
    }

    pub(super) fn global(&mut self, global: &GlobalConfig) -> Result<Layer, TreeError> {
        let tree = global.tree.as_ref().unwrap_or(self.tree);
        let path = &*global.path;
        let file = ConfigFile { owner: Owner::Global, module: None, tree, path };
        let config = match self.config(&file)? {
            Some(config) => config,
            None if matches!(follow(&**tree, path)?, Target::Loop(_) | Target::Outside(_)) => {
                let text = "the hiera.yaml of the global layer is out of reach";
                Err(LookupError::unknown(text).at(Place::file(path)))
            }
            None => {
                let text = "there is no hiera.yaml of the global layer here: Puppet reads data/common.yaml beside it";
                self.warn("no-global-hiera-yaml", Place::file(path), text.to_owned());
                Ok(Config::implied(path).into())
            }
        };
        Ok(file.layer(config))
    }

    /// Returns the layer of a module, or of the environment, or `None` if it has no data.
    pub(super) fn layer(
        &mut self,
        file: ConfigFile<'_>,
        data_provider: Option<&str>,
    ) -> Result<Option<Layer>, TreeError> {
        let config = match (self.config(&file)?, data_provider) {
            // A file of version 5 takes precedence over the old setting.
            (Some(Ok(config)), provider) if config.version == 5 || provider.is_none() => Some(Ok(config)),
            (Some(Err(error)), _) => Some(Err(error)),
            (config, None | Some("none")) => config.filter(|_| data_provider.is_none()),
            // There is a file of version 3, which Puppet 7 ignores and then calls all the same.
            (None, Some("hiera")) if matches!(follow(&**file.tree, file.path)?, Target::File(..)) => {
                let error = LookupError::bare("undefined method `configured_data_providers' for nil:NilClass");
                Some(Err(error.at(Place::file(file.path))))
            }
            (config, Some("hiera")) => Some(config.unwrap_or_else(|| Ok(Config::implied(file.path).into()))),
            (_, Some(provider)) => {
                let error = match (provider, file.owner) {
                    ("function", _) => LookupError::unknown("the data provider 'function' is not supported"),
                    (other, Owner::Module) => {
                        LookupError::puppet(format!("cannot find module_data_provider '{other}'"))
                    }
                    (other, _) => LookupError::puppet(format!("cannot find environment_data_provider '{other}'")),
                };
                Some(Err(error.at(Place::file(file.path))))
            }
        };
        Ok(config.map(|config| file.layer(config)))
    }

    /// Returns the hiera.yaml with the id `id`.
    pub(super) fn read(&self, file: &ConfigFile<'_>, id: BlobId) -> Result<Arc<ReadConfig>, TreeError> {
        self.configs.get(&**file.tree, id, file.path, file.owner, self.options.puppet)
    }

    /// Reads a hiera.yaml, or returns `None` if it does not exist or has no effect.
    fn config(&mut self, file: &ConfigFile<'_>) -> Result<Option<Result<Arc<Config>, LookupError>>, TreeError> {
        let path = file.path;
        Ok(match follow(&**file.tree, path)? {
            Target::File(target, id) => {
                let converting = Attributes::default().converting(&**file.tree, &target, id)?;
                if let Some(attribute) = converting.iter().find(|attribute| *attribute != IDENT) {
                    let text = format!("{ATTRIBUTES} has git convert {path} ({attribute}): {ANOTHER_CONTENT}");
                    let error = LookupError::unknown(text).about(Subject::Converted);
                    return Ok(Some(Err(error.at(Place::file(path)))));
                }
                let read = self.read(file, id)?;
                self.diagnostics.extend_from_slice(&read.diagnostics);
                read.config.clone().transpose()
            }
            Target::Folder(_) => {
                Some(Err(LookupError::bare(format!("Is a directory @ io_fread - {path}")).at(Place::file(path))))
            }
            Target::Absent | Target::Dangling(_) => None,
            Target::Loop(astray) | Target::Outside(astray) => {
                self.diagnostics.push(outside_repository(Place::file(path), &astray));
                None
            }
        })
    }
}

impl ConfigFile<'_> {
    pub(super) fn layer(self, config: Result<Arc<Config>, LookupError>) -> Layer {
        Layer {
            owner: self.owner,
            module: self.module,
            tree: self.tree.clone(),
            root: folder_of(self.path).to_owned(),
            config,
        }
    }
}
