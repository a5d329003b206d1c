//! Reads the revisions of a repository.

use std::sync::{Arc, Mutex, PoisonError};

use super::module_clones::ModuleClones;
use super::{MAX_CACHED_REVISIONS, PipelineError, RevisionId};
use crate::fleet::{ReferencedVariables, Revision};
use crate::git::Repository;
use crate::hiera::layer::roots::folders_in;
use crate::hiera::layer::{Environment, EnvironmentOptions, Store};
use crate::tree::{self, FileTree, MemoryTree};
use crate::workers::{RUN, Workers};

/// A repository and the options for reading it, with the files parsed so far.
#[derive(Clone)]
pub struct Revisions {
    /// The repository.
    pub repository: Arc<Repository>,
    /// The options for reading its revisions.
    pub options: EnvironmentOptions,
    /// The parsed files.
    pub store: Arc<Store>,
    /// The clones of modules that a Puppetfile brings.
    clones: Arc<ModuleClones>,
    /// Environments that were read for their references to variables, to be used again.
    read_environments: Arc<Mutex<Vec<(RevisionId, Environment)>>>,
}

impl Revisions {
    /// Returns the revisions of `repository`, read with these options.
    pub fn new(repository: Arc<Repository>, options: EnvironmentOptions, store: Arc<Store>) -> Revisions {
        Revisions { repository, options, store, clones: Arc::default(), read_environments: Arc::default() }
    }

    /// Sets the clones of modules that a Puppetfile takes from git.
    #[must_use]
    pub fn with_module_clones(self, clones: Arc<ModuleClones>) -> Revisions {
        Revisions { clones, ..self }
    }

    /// Returns the files of a revision, including those of submodules and of modules that a Puppetfile brings.
    pub fn tree(&self, id: RevisionId) -> Result<Arc<dyn FileTree>, PipelineError> {
        let tree: Arc<dyn FileTree> = match id {
            RevisionId::Commit(commit) => Arc::new(self.repository.tree(commit)?),
            RevisionId::Merged(merge) => Arc::new(self.repository.merged(merge)?),
            RevisionId::WorkTree => self.repository.whole_work_tree()?.ok_or(PipelineError::NoWorkTree)?,
            RevisionId::Empty => return Ok(Arc::new(MemoryTree::new())),
        };
        let tree = if id == RevisionId::WorkTree { tree } else { self.repository.with_submodules(tree)? };
        let roots = folders_in(&*tree, &self.options.hiera_config)?;
        Ok(self.clones.graft(tree, &roots, self.repository.file_limit())?)
    }

    /// Makes a revision from another one, of which it keeps as much as possible.
    pub fn after(&self, last: &Revision, id: RevisionId, workers: &Workers) -> Result<Revision, PipelineError> {
        let tree = self.tree(id)?;
        let changed = tree::changes(&*last.environment.tree, &*tree)?;
        let environment = match last.environment.with_data(&tree, &changed) {
            Some(environment) => environment,
            None => self.environment(id)?,
        };
        Ok(last.next(environment, &changed, workers)?)
    }

    /// Reads the configuration of a revision.
    pub fn environment(&self, id: RevisionId) -> Result<Environment, PipelineError> {
        let mut read_environments = self.read_environments.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = read_environments.iter().position(|(known, _)| *known == id) {
            return Ok(read_environments.swap_remove(at).1);
        }
        drop(read_environments);
        let environment = Environment::load(self.tree(id)?, self.options.clone(), self.store.clone())?;
        for layer in environment.layers() {
            let module = layer.module.as_deref().map(tracing::field::display);
            tracing::debug!(target: RUN, revision = id.name(), folder = layer.root, module, "a hiera.yaml is read");
        }
        Ok(environment)
    }

    /// Returns the variables that some revisions refer to.
    ///
    /// An unreadable revision has none here: resolving it reports the error, and a daemon starts anyway. Missing
    /// variables are read on demand.
    pub fn referenced_variables(&self, ids: &[RevisionId], workers: &Workers) -> ReferencedVariables {
        let mut mentioned = ReferencedVariables::default();
        let mut read_environments = Vec::new();
        for id in ids {
            let Ok(environment) = self.environment(*id) else { continue };
            // The work tree may change, so it is not kept.
            if mentioned.add(&environment, workers).is_ok()
                && *id != RevisionId::WorkTree
                && read_environments.len() < MAX_CACHED_REVISIONS
            {
                read_environments.push((*id, environment));
            }
        }
        *self.read_environments.lock().unwrap_or_else(PoisonError::into_inner) = read_environments;
        mentioned
    }
}
