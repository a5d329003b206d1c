//! An open repository, and the handle through which all parts of the daemon share it.

use std::sync::{Arc, Mutex, PoisonError};

use crate::app::guard::Guard;
use crate::app::{BranchPipelines, Result};
use crate::daemon::http::{
    AnswerError, Answers, Blamed, DiffRequest, DiffResponse, HistoryPage, HistoryRequest, LookupRequest,
    LookupResponse, NodeSnapshot, PageRequest,
};
use crate::event::RepositoryName;
use crate::git::{BranchName, BranchPatterns, PasswordPrompt, Remote, Repository};
use crate::page::content::Content;
use crate::pipeline::Pipeline;
use crate::settings::Limits;
use crate::workers::Stop;

/// A repository as it was last opened, with the pipelines that read it.
#[derive(Clone)]
pub(super) struct OpenRepository {
    pub(super) repository: Repository,
    /// The branches that are watched.
    pub(super) branches: BranchPatterns,
    pub(super) pipelines: Arc<Mutex<BranchPipelines>>,
    pub(super) answers: Arc<dyn Answers>,
    /// Watches the runs of its pipelines.
    pub(super) guard: Arc<Guard>,
    pub(super) limits: Limits,
    /// The address of the repository that it is a mirror of. A mirror has no remotes: its `origin` is this address.
    pub(super) mirrored: Option<String>,
}

/// The name of the default remote. In a mirror, it stands for the mirrored repository.
pub(super) const ORIGIN: &str = "origin";

impl OpenRepository {
    /// Returns a remote by its name or address.
    pub(super) fn remote(&self, name: &str) -> Remote {
        let remote = self.repository.remote(name, PasswordPrompt::Nobody);
        match &self.mirrored {
            Some(address) if name == ORIGIN => remote.at(address),
            _ => remote,
        }
    }
}

/// Gives access to a repository as soon as it has been opened. Cheap to clone; all clones share the repository.
#[derive(Clone)]
pub(super) struct RepositoryHandle {
    name: RepositoryName,
    open: Arc<Mutex<Option<OpenRepository>>>,
}

/// The repository has not been opened yet.
#[derive(Debug, thiserror::Error)]
#[error("the repository '{0}' is not there yet")]
pub(in crate::app) struct Absent(RepositoryName);

impl RepositoryHandle {
    /// Makes the handle of a repository that is not there yet.
    pub(super) fn new(name: &RepositoryName) -> RepositoryHandle {
        RepositoryHandle { name: name.clone(), open: Arc::default() }
    }

    /// Returns the repository as it was last opened.
    pub(super) fn get(&self) -> std::result::Result<OpenRepository, Absent> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or_else(|| Absent(self.name.clone()))
    }

    /// Returns the pipeline of a branch.
    pub(super) fn pipeline(&self, branch: &BranchName) -> Result<Arc<Pipeline>> {
        self.get()?.pipelines.lock().unwrap_or_else(PoisonError::into_inner).get(Some(branch))
    }

    /// Sets the repository.
    pub(super) fn set(&self, repository: OpenRepository) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(repository);
    }

    fn answers(&self) -> std::result::Result<Arc<dyn Answers>, AnswerError> {
        Ok(self.get().map_err(|absent| AnswerError::Later(absent.to_string()))?.answers)
    }
}

impl Answers for RepositoryHandle {
    fn nodes(&self) -> std::result::Result<Vec<Arc<str>>, AnswerError> {
        self.answers()?.nodes()
    }

    fn snapshot(
        &self,
        node: &str,
        revision: &str,
        keys: &[String],
        stop: &Arc<dyn Stop>,
    ) -> std::result::Result<NodeSnapshot, AnswerError> {
        self.answers()?.snapshot(node, revision, keys, stop)
    }

    fn diff(&self, request: &DiffRequest, stop: &Arc<dyn Stop>) -> std::result::Result<DiffResponse, AnswerError> {
        self.answers()?.diff(request, stop)
    }

    fn lookup(
        &self,
        request: &LookupRequest,
        stop: &Arc<dyn Stop>,
    ) -> std::result::Result<LookupResponse, AnswerError> {
        self.answers()?.lookup(request, stop)
    }

    fn history(&self, request: &HistoryRequest, stop: &Arc<dyn Stop>) -> std::result::Result<HistoryPage, AnswerError> {
        self.answers()?.history(request, stop)
    }

    fn blame(&self, request: &HistoryRequest, stop: &Arc<dyn Stop>) -> std::result::Result<Blamed, AnswerError> {
        self.answers()?.blame(request, stop)
    }

    fn page(&self, request: &PageRequest, stop: &Arc<dyn Stop>) -> std::result::Result<Content, AnswerError> {
        self.answers()?.page(request, stop)
    }
}
