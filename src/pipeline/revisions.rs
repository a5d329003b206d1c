//! How the revisions of a repository are read.

use std::sync::{Arc, Mutex, PoisonError};

use super::{KEPT_REVISIONS, PipelineError, Point};
use crate::fleet::Mentioned;
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
    read: Arc<Mutex<Vec<(Point, Environment)>>>,
}

impl Revisions {
    /// The revisions of `repository`, read with these options.
    pub fn new(repository: Arc<Repository>, options: EnvironmentOptions, store: Arc<Store>) -> Revisions {
        Revisions { repository, options, store, read: Arc::default() }
    }

    /// The files at `point`.
    pub fn tree(&self, point: Point) -> Result<Arc<dyn FileTree>, PipelineError> {
        Ok(match point {
            Point::Commit(commit) => Arc::new(self.repository.tree(commit)?),
            Point::WorkTree => {
                let folder = self.repository.work_dir().ok_or(PipelineError::NoWorkTree)?;
                Arc::new(WorkTree::new(folder))
            }
            Point::Nothing => Arc::new(MemoryTree::new()),
        })
    }

    /// Reads the configuration at `point`.
    pub fn environment(&self, point: Point) -> Result<Environment, PipelineError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = read.iter().position(|(known, _)| *known == point) {
            return Ok(read.swap_remove(at).1);
        }
        drop(read);
        Ok(Environment::load(self.tree(point)?, self.options.clone(), self.store.clone())?)
    }

    /// The variables that are mentioned at `points`.
    pub fn mentioned(&self, points: &[Point], workers: &Workers) -> Result<Mentioned, PipelineError> {
        let mut mentioned = Mentioned::default();
        let mut read = Vec::new();
        for point in points {
            let environment = self.environment(*point)?;
            mentioned.add(&environment, workers)?;
            // Checked-out files may change.
            if *point != Point::WorkTree && read.len() < KEPT_REVISIONS {
                read.push((*point, environment));
            }
        }
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(mentioned)
    }
}
