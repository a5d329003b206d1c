//! One pass: a repository and profiles, a revision or two of them, and what comes of it.
//!
//! The face that commands and the daemon call. A [`Pipeline`] keeps what was parsed, and the last revisions that it resolved.

mod check;

use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use crate::diagnostic::Diagnostic;
use crate::fleet::{self, Effective, Fleet, Revision};
use crate::git::{CommitId, ObjectError, Repository, WorkTree};
use crate::hiera::layer::{Environment, EnvironmentOptions, Store};
use crate::tree::{FileTree, MemoryTree, TreeError};

/// The most resolved revisions that are kept: the last commit of a few branches.
const KEPT_REVISIONS: usize = 4;

/// A pass that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The commit cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The files of the commit cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The repository has no checked-out files.
    #[error("the repository has no work tree, so '.' means nothing")]
    NoWorkTree,
}

/// What of a repository is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Point {
    /// A commit.
    Commit(CommitId),
    /// The checked-out files, committed or not.
    WorkTree,
    /// Nothing: what is before the first commit.
    Nothing,
}

/// Which keys and nodes a report is about.
pub trait Filter {
    /// Whether the key counts.
    fn key(&self, key: &str) -> bool;
}

/// Everything counts.
pub struct NoFilter;

impl Filter for NoFilter {
    fn key(&self, _: &str) -> bool {
        true
    }
}

/// A fleet and the way a repository is read for it.
pub struct Pipeline {
    repository: Arc<Repository>,
    /// The nodes.
    pub fleet: Fleet,
    options: EnvironmentOptions,
    threads: NonZeroUsize,
    store: Arc<Store>,
    kept: Mutex<VecDeque<(Point, Arc<Resolved>)>>,
}

/// A revision with the values of its own keys.
struct Resolved {
    revision: Revision,
    effective: Effective,
}

impl Pipeline {
    /// A pipeline over `repository` for `fleet`.
    pub fn new(
        repository: Arc<Repository>,
        fleet: Fleet,
        options: EnvironmentOptions,
        threads: NonZeroUsize,
    ) -> Pipeline {
        Pipeline { repository, fleet, options, threads, store: Arc::default(), kept: Mutex::default() }
    }

    /// The repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
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

    /// Reads the configuration at `point` and resolves the hierarchies of all nodes.
    pub fn revision(&self, point: Point) -> Result<Revision, PipelineError> {
        let environment = Environment::load(self.tree(point)?, self.options.clone(), self.store.clone())?;
        Ok(Revision::new(environment, &self.fleet)?)
    }

    /// The effective values of `keys` at a revision.
    pub fn effective(&self, revision: &Revision, keys: &BTreeSet<Arc<str>>) -> Effective {
        fleet::resolve(revision, &self.fleet, keys, self.threads)
    }

    /// What was found wrong with a revision, besides keys that fail.
    fn findings(&self, revision: &Revision) -> Vec<fleet::Finding> {
        let whole =
            |diagnostic: &Diagnostic| fleet::Finding { diagnostic: diagnostic.clone(), nodes: self.fleet.all() };
        let mut findings: Vec<fleet::Finding> = revision.environment.diagnostics.iter().map(whole).collect();
        findings.extend(revision.findings.iter().cloned());
        findings
    }
}
