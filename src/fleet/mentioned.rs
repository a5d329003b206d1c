//! Which variables the data of a repository reads, as far as that can be seen in it.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::keys::data_files;
use super::reads::VariablePath;
use crate::hiera::config::{Config, Locations};
use crate::hiera::interpolation::Template;
use crate::hiera::layer::Environment;
use crate::tree::TreeError;

/// Places in variables that are mentioned in hiera.yaml files and data.
#[derive(Default)]
pub struct Mentioned {
    names: HashSet<Arc<str>, RandomState>,
    paths: HashSet<VariablePath, RandomState>,
}

impl Mentioned {
    /// Adds what `environment` mentions.
    pub fn add(&mut self, environment: &Environment) -> Result<(), TreeError> {
        environment.layers().filter_map(|layer| layer.config.as_ref().ok()).for_each(|config| self.add_config(config));
        for (path, id) in data_files(environment)? {
            let file = environment.store.files.get(&*environment.tree, id, environment.format_of(&path))?;
            for name in file.mentions().iter().flat_map(|(_, mentions)| &mentions.variables) {
                self.add_name(name);
            }
        }
        Ok(())
    }

    fn add_config(&mut self, config: &Config) {
        let template = Template::parse(&config.source);
        template.iter().flat_map(Template::variables).for_each(|name| self.add_name(name));
        for level in config.all_levels() {
            if let Locations::MappedPaths([variable, ..]) = &level.locations {
                self.add_name(&variable.text);
            }
        }
    }

    fn add_name(&mut self, name: &str) {
        if !self.names.contains(name) {
            self.names.insert(name.into());
            self.paths.extend(VariablePath::parse(name));
        }
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &VariablePath> {
        self.paths.iter()
    }
}
