//! A repository that the daemon watches: how it is opened, as often as it has been away, and who works on it meanwhile.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::context::Context;
use super::watch::{Arguments, Pipelines, banner, compared};
use super::{Global, Result, http, log};
use crate::daemon::Following;
use crate::daemon::http::{Answers, Found, Question, Snapshot, Unanswered};
use crate::daemon::queue::{Job, Queue};
use crate::daemon::service::{Next, Opened, Resolve, Resolved, Unresolved, Watched};
use crate::git::{BranchName, BranchPatterns, Mirror, OpenError, Repository};
use crate::pipeline::{Pipeline, RevisionId};
use crate::report::{self, JobName};
use crate::settings::{RepositorySetting, RepositorySource, Settings, SnapshotSetting, SnapshotTarget};

/// The folder of mirrors in that of the daemon's state.
const MIRRORS: &str = "mirrors";

/// A repository to watch.
#[derive(Clone)]
pub(super) struct Place {
    /// What it is called in the queue.
    name: String,
    /// The flags as they are for it.
    pub(super) global: Global,
    patterns: Vec<String>,
    following: Option<Following>,
}

/// A repository as it was opened last, and who reads it.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) repository: Repository,
    pub(super) pipelines: Arc<Mutex<Pipelines>>,
    answers: Arc<dyn Answers>,
}

/// Where a source is found once the repository is there.
#[derive(Clone)]
pub(super) struct Slot {
    name: Arc<str>,
    source: Arc<Mutex<Option<Source>>>,
}

/// The repository has not been there yet.
#[derive(Debug, thiserror::Error)]
#[error("the repository '{0}' is not there yet")]
pub(super) struct Absent(Arc<str>);

impl Slot {
    fn new(name: &str) -> Slot {
        Slot { name: name.into(), source: Arc::default() }
    }

    /// The source.
    pub(super) fn get(&self) -> std::result::Result<Source, Absent> {
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        source.clone().ok_or_else(|| Absent(self.name.clone()))
    }

    fn set(&self, source: Source) {
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = Some(source);
    }

    fn answers(&self) -> std::result::Result<Arc<dyn Answers>, Unanswered> {
        Ok(self.get().map_err(|absent| Unanswered::Later(absent.to_string()))?.answers)
    }
}

impl Answers for Slot {
    fn nodes(&self) -> std::result::Result<Vec<Arc<str>>, Unanswered> {
        self.answers()?.nodes()
    }

    fn snapshot(&self, node: &str, revision: &str, keys: &[String]) -> std::result::Result<Snapshot, Unanswered> {
        self.answers()?.snapshot(node, revision, keys)
    }

    fn lookup(&self, question: &Question) -> std::result::Result<Found, Unanswered> {
        self.answers()?.lookup(question)
    }
}

impl Place {
    /// The place of a repository that the settings name.
    pub(super) fn new(setting: &RepositorySetting, global: &Global, state: &Path) -> Result<Place> {
        let (folder, following) = match &setting.place {
            RepositorySource::Path(path) => (path.clone(), None),
            RepositorySource::Url { url, every, limit } => {
                let folder = state.join(MIRRORS).join(format!("{}.git", setting.name));
                let mirror = Mirror { folder: folder.clone(), url: url.clone() };
                (folder, Some(Following { mirror, every: *every, limit: *limit }))
            }
        };
        // Whether it is there or not: what is wrong with settings shows at once.
        if let Some(config) = &setting.config {
            Settings::load(config)?;
            Settings::check_repository_settings(config)?;
        }
        let config = setting.config.clone().or_else(|| global.config().map(Path::to_owned));
        let global = Global { repo: Some(folder), config, ..global.clone() };
        Ok(Place { name: setting.name.clone(), global, patterns: setting.branches.clone(), following })
    }

    /// The place of the repository at hand.
    pub(super) fn at_hand(name: String, global: &Global, patterns: &[String]) -> Place {
        Place { name, global: global.clone(), patterns: patterns.to_vec(), following: None }
    }

    /// Sees whether it can be opened, and snapshots be pushed from it, as far as it is here.
    pub(super) fn check(&self, arguments: &Arguments, snapshots: &[SnapshotSetting]) -> Result<()> {
        if self.following.is_some() {
            return Ok(());
        }
        let repository = self.open(arguments)?.opened.repository;
        for SnapshotSetting { name, place, .. } in snapshots {
            if let SnapshotTarget::Reference { push: Some(remote) } = place
                && !repository.has_remote(remote)?
            {
                let folder = repository.common_dir().display();
                return Err(format!("snapshots '{name}': the repository {folder} has no remote '{remote}'").into());
            }
        }
        Ok(())
    }

    /// The repository, to be watched as soon as it is there: at once if that can be, and nothing else will do for the only one.
    /// With what tells that it is watched, and where it is found.
    pub(super) async fn watched(
        self,
        queue: &Queue,
        arguments: &Arguments,
        is_only: bool,
    ) -> Result<(Watched, Option<String>, Slot)> {
        let slot = Slot::new(&self.name);
        let is_needed = is_only && self.following.is_none();
        let found = match &self.following {
            // All that it brings for the first time is known, not new.
            Some(_) if queue.known(&self.name).await?.is_none() => None,
            Some(_) => self.open(arguments).ok(),
            None => match self.open(arguments) {
                Err(error) if !is_needed && error.is::<OpenError>() => None,
                found => Some(found?),
            },
        };
        let (opened, banner) = found.map(|found| found.settle(&slot)).unzip();
        let (name, following, poll) = (self.name.clone(), self.following.clone(), arguments.poll);
        let resolve = resolve(slot.clone());
        let (into, arguments) = (slot.clone(), arguments.clone());
        let open = Arc::new(move || {
            let (opened, banner) = self.open(&arguments)?.settle(&into);
            log::tell(arguments.log_format, &banner);
            Ok(opened)
        });
        Ok((Watched { name, opened, open, is_needed, poll, resolve, following }, banner, slot))
    }

    fn open(&self, arguments: &Arguments) -> Result<Ready> {
        let context = Context::open(&self.global)?;
        let patterns = if self.patterns.is_empty() { &context.settings.branches } else { &self.patterns };
        let branches = BranchPatterns::new(patterns)?;
        let repository = (*context.repository).clone();
        let known = arguments.known(&repository, &branches)?;
        let banner = banner(&repository, &branches)?;
        let options = arguments.options(branches, context.settings.catch_up);
        let answers = http::answers(&context);
        let mut pipelines = Pipelines::new(context);
        // Trouble with the profiles shows at once.
        let pipeline = pipelines.get(None)?;
        let blind = blind(&pipeline);
        let source = Source { repository: repository.clone(), pipelines: Arc::new(Mutex::new(pipelines)), answers };
        Ok(Ready { opened: Opened { repository, known, options, blind }, source, banner })
    }
}

/// The branch that is checked out, if nothing of it can be read, and why. What goes wrong on the way shows with the next commit.
fn blind(pipeline: &Pipeline) -> Option<(BranchName, String)> {
    let repository = pipeline.repository();
    let branch = repository.branch().ok()??;
    let tip = repository.tip(&branch).ok()??;
    let revision = pipeline.cached_revision(RevisionId::Commit(tip)).ok()?;
    Some((branch, pipeline.unreadable(&revision)?.headline))
}

/// A repository that can be watched.
struct Ready {
    opened: Opened,
    source: Source,
    /// What tells that it is.
    banner: String,
}

impl Ready {
    /// Has it found in the slot.
    fn settle(self, slot: &Slot) -> (Opened, String) {
        slot.set(self.source);
        (self.opened, self.banner)
    }
}

fn resolve(slot: Slot) -> Resolve {
    Box::new(move |job: &Job| {
        let source = slot.get().map_err(|error| Unresolved { error: error.into(), next: Next::Wait })?;
        resolved(&source.pipelines, job).map_err(|error| {
            // What was collected before anybody has looked at it does not come back.
            let is_gone = source.repository.is_gone(job.event.after);
            let next = match source.repository.is_there() {
                false => Next::Wait,
                true if is_gone => Next::SetAside,
                true => Next::Retry,
            };
            Unresolved { error, next }
        })
    })
}

fn resolved(pipelines: &Mutex<Pipelines>, job: &Job) -> Result<Resolved> {
    let Job { number, id, repository, event, .. } = job.clone();
    let pipeline = pipelines.lock().unwrap_or_else(PoisonError::into_inner).get(Some(&event.branch))?;
    let mut report = compared(&pipeline, &event)?.report;
    report.arrival = Some(event.arrival(Some(JobName { id, number, repository })));
    let mut json = Vec::new();
    report::json::write(&report, report::json::Options::default(), &mut json)?;
    Ok(Resolved { report, json })
}
