//! Finds the variables that the data and hiera.yaml files of a repository refer to.
//!
//! A fleet reads only these from its profiles, all at once, along with the variables that their values refer to.
//! Others turn up only during an evaluation, and are read after it.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::Fleet;
use crate::fleet::nodes::variables::{VariablePath, wanted};
use crate::fleet::parallel;
use crate::hiera::backend::{DataFile, DeclaredFunction, FileId};
use crate::hiera::config::Config;
use crate::hiera::interpolation;
use crate::hiera::layer::Environment;
use crate::hiera::scope::ENVIRONMENT;
use crate::node::Wanted;
use crate::tree::{BlobId, Target, TreeError, follow};
use crate::workers::Workers;

/// The places inside variables that hiera.yaml files and data refer to.
#[derive(Default)]
pub struct ReferencedVariables {
    names: HashSet<Arc<str>, RandomState>,
    paths: HashSet<VariablePath, RandomState>,
    /// The data files whose references were added.
    files: ScannedFiles,
}

/// Data files by their content, which may be the same at many paths.
pub(in crate::fleet) type ScannedFiles = HashSet<FileId, RandomState>;

impl ReferencedVariables {
    /// Returns the references that `fleet` has read.
    pub(in crate::fleet) fn of(fleet: &Fleet) -> ReferencedVariables {
        let paths = fleet.paths().into_iter().collect();
        ReferencedVariables { files: fleet.scanned.clone(), paths, ..ReferencedVariables::default() }
    }

    /// Returns the references that `fleet` has yet to read, and skips the data files whose references it has read.
    pub(in crate::fleet) fn beyond(fleet: &Fleet) -> ReferencedVariables {
        let paths = fleet.pending.iter().cloned().collect();
        ReferencedVariables { files: fleet.scanned.clone(), paths, ..ReferencedVariables::default() }
    }

    /// Returns the data files whose references were added.
    pub(in crate::fleet) fn files(&self) -> &ScannedFiles {
        &self.files
    }

    /// Adds the references of all files of `environment`.
    pub fn add(&mut self, environment: &Environment, workers: &Workers) -> Result<(), TreeError> {
        self.add_configs(environment);
        let is_first = |(path, id): &&(String, BlobId)| self.files.insert((*id, environment.format_of(path)));
        let files: Vec<_> = environment.data_files()?.files.iter().filter(is_first).collect();
        // Files that nobody else holds are dropped at once; only the names stay.
        let names = |(path, id): &&(String, BlobId)| -> Result<BTreeSet<Arc<str>>, TreeError> {
            Ok(variables(&*environment.data_file(path, *id)?).cloned().collect())
        };
        for names in parallel::map(&files, workers, "reading data files", names) {
            names?.iter().for_each(|name| self.add_name(name));
        }
        Ok(())
    }

    /// Adds the references of the files at the paths `changed` of `environment`, and those of its configurations.
    pub(in crate::fleet) fn add_changed(
        &mut self,
        environment: &Environment,
        changed: &BTreeSet<String>,
    ) -> Result<(), TreeError> {
        self.add_configs(environment);
        for path in changed.iter().filter(|path| environment.has_data_file_at(path)) {
            if let Target::File(_, id) = follow(&*environment.tree, path)? {
                variables(&*environment.data_file(path, id)?).for_each(|name| self.add_name(name));
            }
        }
        Ok(())
    }

    fn add_configs(&mut self, environment: &Environment) {
        if environment.folders().is_some() {
            self.add_name(ENVIRONMENT);
        }
        environment.layers().filter_map(|layer| layer.config.as_ref().ok()).for_each(|config| self.add_config(config));
        for function in environment.options.backends.values() {
            if let DeclaredFunction::Command(command) = function {
                command.scope.iter().for_each(|name| self.add_name(name));
            }
        }
        for variable in environment.options.variables.iter() {
            for name in interpolation::variables(&variable.text) {
                self.add_name(name);
            }
        }
    }

    fn add_config(&mut self, config: &Config) {
        config.variables().for_each(|name| self.add_name(name));
    }

    pub(in crate::fleet) fn add_name(&mut self, name: &str) {
        if !self.names.contains(name) {
            self.names.insert(name.into());
            self.paths.extend(VariablePath::parse(name));
        }
    }

    /// Returns the parts of profiles that are needed.
    pub fn wanted(&self) -> Wanted {
        wanted(&self.paths)
    }

    /// Returns the places, in no particular order.
    pub(in crate::fleet) fn paths(&self) -> impl Iterator<Item = &VariablePath> {
        self.paths.iter()
    }
}

/// Returns the names of the variables that a file refers to, some of them twice.
pub(in crate::fleet) fn variables(file: &DataFile) -> impl Iterator<Item = &Arc<str>> {
    file.mentions().iter().flat_map(|(_, mentions)| &mentions.variables)
}
