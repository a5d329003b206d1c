//! How the revisions of a repository are read.

use std::sync::{Arc, Mutex, PoisonError};

use super::{MAX_CACHED_REVISIONS, PipelineError, RevisionId};
use crate::fleet::ReferencedVariables;
use crate::git::{Repository, WorkTree};
use crate::hiera::layer::{Environment, EnvironmentOptions, Store};
use crate::tree::{FileTree, MemoryTree};
use crate::workers::Workers;

/// A repository and the way it is read; what was parsed of it is kept.
#[derive(Clone)]
pub struct Revisions {
    /// The repository.
    pub repository: Arc<Repository>,
    /// How its revisions are read.
    pub options: EnvironmentOptions,
    /// What was parsed.
    pub store: Arc<Store>,
    /// Environments that were read for what they mention, for those who ask for them next.
    read: Arc<Mutex<Vec<(RevisionId, Environment)>>>,
}

impl Revisions {
    /// The revisions of `repository`, read with these options.
    pub fn new(repository: Arc<Repository>, options: EnvironmentOptions, store: Arc<Store>) -> Revisions {
        Revisions { repository, options, store, read: Arc::default() }
    }

    /// The files at `id`.
    pub fn tree(&self, id: RevisionId) -> Result<Arc<dyn FileTree>, PipelineError> {
        Ok(match id {
            RevisionId::Commit(commit) => Arc::new(self.repository.tree(commit)?),
            RevisionId::WorkTree => {
                let folder = self.repository.work_dir().ok_or(PipelineError::NoWorkTree)?;
                Arc::new(WorkTree::new(folder))
            }
            RevisionId::Empty => Arc::new(MemoryTree::new()),
        })
    }

    /// Reads the configuration at `id`.
    pub fn environment(&self, id: RevisionId) -> Result<Environment, PipelineError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = read.iter().position(|(known, _)| *known == id) {
            return Ok(read.swap_remove(at).1);
        }
        drop(read);
        Ok(Environment::load(self.tree(id)?, self.options.clone(), self.store.clone())?)
    }

    /// The variables that are mentioned at `ids`.
    pub fn mentioned(&self, ids: &[RevisionId], workers: &Workers) -> Result<ReferencedVariables, PipelineError> {
        let mut mentioned = ReferencedVariables::default();
        let mut read = Vec::new();
        for id in ids {
            let environment = self.environment(*id)?;
            mentioned.add(&environment, workers)?;
            // Checked-out files may change.
            if *id != RevisionId::WorkTree && read.len() < MAX_CACHED_REVISIONS {
                read.push((*id, environment));
            }
        }
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(mentioned)
    }
}
