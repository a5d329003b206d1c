//! A repository that the daemon watches: how it is opened, as often as it has been away, and how its commits are
//! resolved.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::answers::answers;
use super::guard::Guard;
use super::options::banner;
use super::pipelines::compare;
use super::{BranchPipelines, DaemonOptions, Overrides, Result, Workspace, settings_files};
use crate::daemon::MirrorFetcher;
use crate::daemon::http::{AnswerError, Answers, LookupRequest, LookupResponse, NodeSnapshot};
use crate::daemon::queue::{Job, Queue};
use crate::daemon::service::{Opened, Recovery, Resolve, Resolved, ServedRepository, Unresolved};
use crate::diagnostic::Diagnostic;
use crate::event::RepositoryName;
use crate::git::{BranchName, BranchPatterns, Mirror, OpenError, Repository};
use crate::pipeline::{Pipeline, PipelineError, RevisionId};
use crate::report;
use crate::report::FindingChange;
use crate::settings::{RepositorySetting, RepositorySource, SnapshotSetting, SnapshotTarget};

/// The folder of mirrors in the folder of the daemon's state.
const MIRRORS: &str = "mirrors";

/// A repository to watch, which need not be there yet.
#[derive(Clone)]
pub(super) struct WatchedRepository {
    /// The name in the queue.
    name: RepositoryName,
    /// The flags as they are for this repository.
    pub(super) overrides: Overrides,
    /// The patterns of branches; none for those of the repository's own settings.
    patterns: Vec<String>,
    fetcher: Option<MirrorFetcher>,
}

/// A repository as it was opened last, with the pipelines that read it.
#[derive(Clone)]
pub(super) struct OpenRepository {
    pub(super) repository: Repository,
    /// The branches that are watched.
    pub(super) branches: BranchPatterns,
    pub(super) pipelines: Arc<Mutex<BranchPipelines>>,
    answers: Arc<dyn Answers>,
    guard: Arc<Guard>,
}

/// Gives access to a repository as soon as it is there. Cheap to clone; all clones see the same.
#[derive(Clone)]
pub(super) struct RepositoryHandle {
    name: RepositoryName,
    open: Arc<Mutex<Option<OpenRepository>>>,
}

/// The repository has not been there yet.
#[derive(Debug, thiserror::Error)]
#[error("the repository '{0}' is not there yet")]
pub(super) struct Absent(RepositoryName);

impl RepositoryHandle {
    fn new(name: &RepositoryName) -> RepositoryHandle {
        RepositoryHandle { name: name.clone(), open: Arc::default() }
    }

    /// Returns the repository as it was opened last.
    pub(super) fn get(&self) -> std::result::Result<OpenRepository, Absent> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or_else(|| Absent(self.name.clone()))
    }

    /// Returns the pipeline of a branch.
    pub(super) fn pipeline(&self, branch: &BranchName) -> Result<Arc<Pipeline>> {
        self.get()?.pipelines.lock().unwrap_or_else(PoisonError::into_inner).get(Some(branch))
    }

    fn set(&self, repository: OpenRepository) {
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

    fn snapshot(&self, node: &str, revision: &str, keys: &[String]) -> std::result::Result<NodeSnapshot, AnswerError> {
        self.answers()?.snapshot(node, revision, keys)
    }

    fn lookup(&self, request: &LookupRequest) -> std::result::Result<LookupResponse, AnswerError> {
        self.answers()?.lookup(request)
    }
}

/// A repository as the daemon's service takes it.
pub(super) struct Prepared {
    pub(super) served: ServedRepository,
    /// The line that tells that it is watched, if it is there.
    pub(super) banner: Option<String>,
    pub(super) handle: RepositoryHandle,
}

impl WatchedRepository {
    /// Makes a repository of one that the settings name.
    pub(super) fn from_setting(
        setting: &RepositorySetting,
        overrides: &Overrides,
        state: &Path,
    ) -> Result<WatchedRepository> {
        let (folder, fetcher) = match &setting.place {
            RepositorySource::Path(path) => (path.clone(), None),
            RepositorySource::Url { url, every, limit } => {
                let folder = state.join(MIRRORS).join(format!("{}.git", setting.name));
                let mirror = Mirror { folder: folder.clone(), url: url.clone() };
                (folder, Some(MirrorFetcher { mirror, every: *every, limit: *limit }))
            }
        };
        // Faults in its settings show at once, even if the repository is not there.
        if let Some(config) = &setting.config {
            settings_files::check_own(config, &folder)?;
        }
        let config = setting.config.clone().or_else(|| overrides.config().map(Path::to_owned));
        let overrides = Overrides { repo: Some(folder), config, ..overrides.clone() };
        let name = RepositoryName::from(setting.name.as_str());
        Ok(WatchedRepository { name, overrides, patterns: setting.branches.clone(), fetcher })
    }

    /// Makes a repository of the one at hand.
    pub(super) fn at_hand(name: &str, overrides: &Overrides, patterns: &[String]) -> WatchedRepository {
        WatchedRepository {
            name: name.into(),
            overrides: overrides.clone(),
            patterns: patterns.to_vec(),
            fetcher: None,
        }
    }

    /// Checks that the repository can be opened, and that snapshots can be pushed from it. Mirrors are not checked.
    pub(super) fn check(&self, options: &DaemonOptions, snapshots: &[SnapshotSetting]) -> Result<()> {
        if self.fetcher.is_some() {
            return Ok(());
        }
        let repository = self.open(options, &[])?.opened.repository;
        for SnapshotSetting { name, place, .. } in snapshots {
            if let SnapshotTarget::Reference { push: Some(remote), .. } = place
                && !repository.has_remote(remote)?
            {
                let folder = repository.common_dir().display();
                return Err(format!("snapshots '{name}': the repository {folder} has no remote '{remote}'").into());
            }
        }
        Ok(())
    }

    /// Prepares the repository for the service, and opens it if it is there. The only repository has to be there,
    /// unless it is a mirror.
    pub(super) async fn prepare(self, queue: &Queue, options: &DaemonOptions, is_only: bool) -> Result<Prepared> {
        let handle = RepositoryHandle::new(&self.name);
        let is_needed = is_only && self.fetcher.is_none();
        // Settings that are read again may let their data be read.
        let blind = queue.blind(&self.name).await?;
        let blind: Vec<BranchName> = blind.into_iter().map(|(branch, _)| branch).collect();
        let found = match &self.fetcher {
            // Commits that the first fetch of a mirror brings count as known, so it is opened after that.
            Some(_) if queue.checkpoint(&self.name).await?.is_none() => None,
            Some(_) => self.open(options, &blind).ok(),
            None => match self.open(options, &blind) {
                Err(error) if !is_needed && error.is::<OpenError>() => None,
                found => Some(found?),
            },
        };
        let (opened, banner) = found.map(|found| found.publish(&handle)).unzip();
        let (name, fetcher, poll) = (self.name.clone(), self.fetcher.clone(), options.poll);
        let resolve = resolve(handle.clone());
        let (into, options) = (handle.clone(), options.clone());
        let open = Arc::new(move || {
            let (opened, banner) = self.open(&options, &blind)?.publish(&into);
            (options.announce)(&banner);
            Ok(opened)
        });
        let served = ServedRepository { name, opened, open, is_needed, poll, resolve, fetcher };
        Ok(Prepared { served, banner, handle })
    }

    /// Opens the repository, and looks if the branches that were `blind` still are.
    fn open(&self, options: &DaemonOptions, blind: &[BranchName]) -> Result<Ready> {
        let workspace = Workspace::open(&self.overrides)?;
        workspace.log_refused();
        let patterns = if self.patterns.is_empty() { &workspace.settings.branches } else { &self.patterns };
        let branches = BranchPatterns::new(patterns)?;
        let repository = (*workspace.repository).clone();
        let checkpoint = options.checkpoint(&repository, &branches)?;
        let banner = banner(&repository, &branches)?;
        let watch = options.watch(branches.clone(), workspace.settings.catch_up);
        let answers = answers(&workspace.with_own_guard());
        let workspace = workspace.with_own_guard();
        let guard = workspace.guard();
        let mut pipelines = BranchPipelines::new(workspace);
        // Trouble with the profiles shows at once.
        let pipeline = pipelines.get(None)?;
        let head = pipeline.repository().branch().ok().flatten();
        let mut seen: Vec<_> = head.iter().filter_map(|branch| seen(&pipeline, branch)).collect();
        for branch in blind.iter().filter(|branch| Some(*branch) != head.as_ref()) {
            seen.extend(pipelines.get(Some(branch)).ok().and_then(|pipeline| self::seen(&pipeline, branch)));
        }
        let pipelines = Arc::new(Mutex::new(pipelines));
        let open = OpenRepository { repository: repository.clone(), branches, pipelines, answers, guard };
        Ok(Ready { opened: Opened { repository, checkpoint, options: watch, seen }, open, banner })
    }
}

/// Returns the branch, with the reason if nothing of it can be read. Returns `None` if that cannot be told: trouble on
/// the way shows with the next commit.
fn seen(pipeline: &Pipeline, branch: &BranchName) -> Option<(BranchName, Option<String>)> {
    let tip = pipeline.repository().tip(branch).ok()??;
    let revision = pipeline.cached_revision(RevisionId::Commit(tip)).ok()?;
    Some((branch.clone(), pipeline.unreadable(&revision).map(|spot| spot.headline)))
}

/// A repository that was opened just now.
struct Ready {
    opened: Opened,
    open: OpenRepository,
    banner: String,
}

impl Ready {
    /// Makes the repository available through the handle.
    fn publish(self, handle: &RepositoryHandle) -> (Opened, String) {
        handle.set(self.open);
        (self.opened, self.banner)
    }
}

/// Returns the function that resolves the jobs of a repository.
fn resolve(handle: RepositoryHandle) -> Resolve {
    Box::new(move |job: &Job| {
        let open = handle.get().map_err(|error| Unresolved { error: error.into(), recovery: Recovery::Wait })?;
        open.guard.begin();
        let result = resolved(&open.pipelines, job);
        if let Some(reason) = open.guard.end() {
            return Err(Unresolved { error: (*reason).into(), recovery: Recovery::SetAside });
        }
        result.map_err(|error| {
            let is_lost = open.repository.is_gone(job.event.after) || is_lost(&*error, job.attempts + 1);
            let recovery = match open.repository.is_there() {
                false => Recovery::Wait,
                true if is_lost => Recovery::SetAside,
                true => Recovery::Retry,
            };
            Unresolved { error, recovery }
        })
    })
}

/// Returns true if a tree has more in it than hierad reads.
pub(super) fn is_too_large(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(error.downcast_ref::<PipelineError>(), Some(PipelineError::Tree(tree)) if tree.is_too_large)
}

/// The number of attempts to read objects that are missing or damaged. They may be on their way.
const READS: i64 = 3;

/// Returns true if it is no use to try again after so many attempts: a tree that is too large stays so, and objects
/// that were lost do not come back by themselves.
fn is_lost(error: &(dyn std::error::Error + 'static), attempts: i64) -> bool {
    let is_of_objects =
        matches!(error.downcast_ref::<PipelineError>(), Some(PipelineError::Tree(_) | PipelineError::Object(_)));
    is_too_large(error) || attempts >= READS && is_of_objects
}

/// Makes the report of a job, and its bytes.
fn resolved(pipelines: &Mutex<BranchPipelines>, job: &Job) -> Result<Resolved> {
    let Job { name, event, .. } = job;
    let pipeline = || pipelines.lock().unwrap_or_else(PoisonError::into_inner).get(Some(&event.branch));
    let mut report = compare(event, pipeline)?.report;
    (report.event, report.job) = (Some(event.clone()), Some(name.clone()));
    report.findings.extend(job.set_aside.iter().map(|commit| {
        let text = format!("commit {commit} could not be resolved: what it changes is in this report");
        let diagnostic = Diagnostic::note("set-aside-commit", None, text);
        FindingChange { is_new: true, diagnostic, nodes: 0 }
    }));
    let mut json = Vec::new();
    report::json::write(&report, report::json::Options::default(), &mut json)?;
    Ok(Resolved { report, json })
}
