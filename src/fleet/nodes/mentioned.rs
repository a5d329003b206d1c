//! Which variables the data of a repository reads, as far as that can be seen in it.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::Fleet;
use crate::fleet::nodes::variables::VariablePath;
use crate::fleet::parallel;
use crate::fleet::revision::keys::data_file;
use crate::hiera::backend::{DataFile, FileId};
use crate::hiera::config::{Config, Locations};
use crate::hiera::interpolation::Template;
use crate::hiera::layer::Environment;
use crate::tree::{BlobId, Target, TreeError, follow};
use crate::workers::Workers;

/// How long it takes to go through a data file, about, in microseconds, and to parse it.
const A_FILE: usize = 4;
const A_NEW_FILE: usize = 50;

/// Places in variables that are mentioned in hiera.yaml files and data.
#[derive(Default)]
pub struct ReferencedVariables {
    names: HashSet<Arc<str>, RandomState>,
    paths: HashSet<VariablePath, RandomState>,
    /// The data files that were gone through.
    files: MentioningFiles,
}

/// Data files, however many paths they have.
pub(in crate::fleet) type MentioningFiles = HashSet<FileId, RandomState>;

impl ReferencedVariables {
    /// Nothing, where what `fleet` knows the mentions of is not gone through again.
    pub(in crate::fleet) fn beyond(fleet: &Fleet) -> ReferencedVariables {
        ReferencedVariables { files: fleet.mentioning.clone(), ..ReferencedVariables::default() }
    }

    pub(in crate::fleet) fn files(&self) -> &MentioningFiles {
        &self.files
    }

    /// Adds what `environment` mentions.
    pub fn add(&mut self, environment: &Environment, workers: &Workers) -> Result<(), TreeError> {
        self.add_configs(environment);
        let is_first = |(path, id): &&(String, BlobId)| self.files.insert((*id, environment.format_of(path)));
        let files: Vec<_> = environment.data_files()?.files.iter().filter(is_first).collect();
        // No more than the names is held of files that nobody else holds.
        let names = |(path, id): &&(String, BlobId)| -> Result<BTreeSet<Arc<str>>, TreeError> {
            Ok(variables(&*data_file(environment, path, *id)?).cloned().collect())
        };
        let is_new = |(path, id): &&&(String, BlobId)| !environment.store.files.has((*id, environment.format_of(path)));
        let new = files.iter().filter(is_new).count();
        let workers = workers.worth(files.len() * A_FILE + new * A_NEW_FILE);
        for names in parallel::map(&files, &workers, "reading data files", names) {
            names?.iter().for_each(|name| self.add_name(name));
        }
        Ok(())
    }

    /// Adds what `environment` mentions, as far as it is not what another one that is known differs in: at the paths `changed`.
    pub(in crate::fleet) fn add_changed(
        &mut self,
        environment: &Environment,
        changed: &BTreeSet<String>,
    ) -> Result<(), TreeError> {
        self.add_configs(environment);
        for path in changed.iter().filter(|path| environment.has_data_file_at(path)) {
            if let Target::File(_, id) = follow(&*environment.tree, path)? {
                variables(&*data_file(environment, path, id)?).for_each(|name| self.add_name(name));
            }
        }
        Ok(())
    }

    fn add_configs(&mut self, environment: &Environment) {
        environment.layers().filter_map(|layer| layer.config.as_ref().ok()).for_each(|config| self.add_config(config));
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

    pub(in crate::fleet) fn paths(&self) -> impl Iterator<Item = &VariablePath> {
        self.paths.iter()
    }
}

/// The names of the variables that a file mentions, some of them again.
fn variables(file: &DataFile) -> impl Iterator<Item = &Arc<str>> {
    file.mentions().iter().flat_map(|(_, mentions)| &mentions.variables)
}
