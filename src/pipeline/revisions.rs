//! How the revisions of a repository are read.

use std::sync::Arc;

use super::{PipelineError, Point};
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
}

impl Revisions {
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
        Ok(Environment::load(self.tree(point)?, self.options.clone(), self.store.clone())?)
    }

    /// The variables that are mentioned at `points`.
    pub fn mentioned(&self, points: &[Point], workers: &Workers) -> Result<Mentioned, PipelineError> {
        let mut mentioned = Mentioned::default();
        for point in points {
            mentioned.add(&self.environment(*point)?, workers)?;
        }
        Ok(mentioned)
    }
}
