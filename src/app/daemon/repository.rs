//! A repository that the daemon watches. It is opened again each time that it comes back after it was missing.

use std::any::Any;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::answers::answers;
use super::history::keep_history;
use super::jobs::JobResolver;
use super::open_repository::{ORIGIN, OpenRepository, RepositoryHandle};
use super::options::{Program, banner};
use super::refresh::keep_fresh;
use super::requests;
use super::requests::ReviewedRepository;
use crate::app::settings::{PushTarget, Settings, SinkSetting, SnapshotSetting, SnapshotTarget};
use crate::app::workspace::settings_files;
use crate::app::{BranchPipelines, DaemonOptions, Overrides, Result, Workspace};
use crate::daemon::MirrorFetcher;
use crate::daemon::queue::Queue;
use crate::daemon::service::{Look, Opened, ServedRepository};
use crate::disk::can_write;
use crate::event::RepositoryName;
use crate::forge::Page;
use crate::git::{BranchName, BranchPatterns, Mirror, OpenError, is_remote_address};
use crate::pipeline::{Pipeline, RevisionId};
use crate::settings::{RepositorySetting, RepositorySource};

/// The folder of mirrors in the folder of the daemon's state.
const MIRRORS: &str = "mirrors";

/// A repository to watch, which need not be there yet.
#[derive(Clone)]
pub(super) struct WatchedRepository {
    /// The name in the queue.
    name: RepositoryName,
    /// The flags for this repository.
    pub(super) overrides: Overrides,
    /// The patterns of branches; if empty, those of the repository's own settings apply.
    patterns: Vec<String>,
    fetcher: Option<MirrorFetcher>,
    /// The repository on the forge where it is reviewed.
    page: Option<Page>,
    /// True if a sink takes whole pushes.
    pushes: bool,
}

/// A repository, ready for the daemon's service.
pub(super) struct Prepared {
    pub(super) served: ServedRepository,
    /// The line that says that the repository is watched, if it is there.
    pub(super) banner: Option<String>,
    pub(super) handle: RepositoryHandle,
}

impl WatchedRepository {
    /// Makes the watched repository that a setting names.
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
            settings_files::check_repository_settings(config, &folder)?;
        }
        let config = setting.config.clone().or_else(|| overrides.config().map(Path::to_owned));
        let overrides = Overrides { repo: Some(folder), repo_is_trusted: true, config, ..overrides.clone() };
        let name = RepositoryName::from(setting.name.as_str());
        Ok(WatchedRepository {
            name,
            overrides,
            patterns: setting.branches.clone(),
            fetcher,
            page: None,
            pushes: false,
        })
    }

    /// Makes a watched repository of the one at hand.
    pub(super) fn at_hand(name: &str, overrides: &Overrides, patterns: &[String]) -> WatchedRepository {
        WatchedRepository {
            name: name.into(),
            overrides: overrides.clone(),
            patterns: patterns.to_vec(),
            fetcher: None,
            page: None,
            pushes: false,
        }
    }

    /// Links the repository to its pages on the forge if the settings ask for reviews of it, and notes if a sink
    /// takes whole pushes.
    pub(super) fn served_by(self, settings: &Settings) -> WatchedRepository {
        let (page, pushes) =
            (requests::page(settings, &self.name), settings.sinks.iter().any(SinkSetting::takes_pushes));
        WatchedRepository { page, pushes, ..self }
    }

    /// Checks that the repository can be opened, that snapshots and reviews can write to it, and that it has the
    /// remotes that snapshots are pushed to. Mirrors are not checked: they are in the folder of the state.
    pub(super) fn check(&self, options: &DaemonOptions, settings: &Settings) -> Result<()> {
        if self.fetcher.is_some() {
            return self.check_mirror(settings);
        }
        let repository = self.open(options, &[])?.opened.repository;
        let folder = repository.common_dir();
        for SnapshotSetting { name, place, .. } in &settings.snapshots {
            let SnapshotTarget::Reference { push, .. } = place else { continue };
            check_writable(&format!("snapshots '{name}'"), folder)?;
            if let Some(PushTarget { remote, .. }) = push
                && !repository.has_remote(remote)?
            {
                let folder = folder.display();
                return Err(format!("snapshots '{name}': the repository {folder} has no remote '{remote}'").into());
            }
        }
        if let Some(review) = requests::reviews_of(settings, &self.name).next() {
            check_writable(&format!("reviews of {}", review.name), folder)?;
        }
        Ok(())
    }

    /// Checks that snapshots could be pushed from a mirror, which is not there before it is fetched.
    fn check_mirror(&self, settings: &Settings) -> Result<()> {
        for SnapshotSetting { name, place, .. } in &settings.snapshots {
            if let SnapshotTarget::Reference { push: Some(PushTarget { remote, .. }), .. } = place
                && remote != ORIGIN
                && !is_remote_address(remote)
            {
                let text = format!(
                    "snapshots '{name}': the mirror {} has no remote '{remote}': 'push' may be '{ORIGIN}', which is \
                     what it mirrors, or an address",
                    self.name
                );
                return Err(text.into());
            }
        }
        Ok(())
    }

    /// Returns the repository as reviews need it.
    pub(super) fn for_reviews(&self) -> ReviewedRepository {
        let url = self.fetcher.as_ref().map(|fetcher| fetcher.mirror.url.clone());
        ReviewedRepository { name: self.name.clone(), overrides: self.overrides.clone(), url }
    }

    /// Returns the name in the queue.
    pub(super) fn name(&self) -> &RepositoryName {
        &self.name
    }

    /// Opens the repository, unless it is missing.
    pub(super) fn open_again(&self, options: &DaemonOptions) -> Result<RepositoryHandle> {
        let handle = RepositoryHandle::new(&self.name);
        match self.open(options, &[]) {
            Ok(ready) => _ = ready.publish(&handle),
            Err(error) if error.is::<OpenError>() => {}
            Err(error) => return Err(error),
        }
        Ok(handle)
    }

    /// Prepares the repository for the service, and opens it if it is there. The only repository has to be there,
    /// unless it is a mirror.
    pub(super) async fn prepare(self, queue: &Queue, options: &DaemonOptions, is_only: bool) -> Result<Prepared> {
        let handle = RepositoryHandle::new(&self.name);
        let is_needed = is_only && self.fetcher.is_none();
        // Reloaded settings may make their data readable.
        let blind = queue.blind(&self.name).await?;
        let blind: Vec<BranchName> = blind.into_iter().map(|(branch, _)| branch).collect();
        let found = match &self.fetcher {
            // Commits that the first fetch of a mirror brings are taken as known, so it is opened after that.
            Some(_) if queue.checkpoint(&self.name).await?.is_none() => None,
            Some(_) => self.open(options, &blind).ok(),
            None => match self.open(options, &blind) {
                Err(error) if !is_needed && error.is::<OpenError>() => None,
                found => Some(found?),
            },
        };
        let program = options.program.clone();
        if let Some(found) = &found {
            self.keep_history(&found.open, program.as_deref());
        }
        let (opened, banner) = found.map(|found| found.publish(&handle)).unzip();
        let (name, fetcher, poll) = (self.name.clone(), self.fetcher.clone(), options.poll);
        let resolve = Arc::new(JobResolver { repository: handle.clone(), program });
        let (into, options) = (handle.clone(), options.clone());
        let open = Arc::new(move || {
            let ready = self.open(&options, &blind)?;
            self.keep_history(&ready.open, options.program.as_deref());
            let (opened, banner) = ready.publish(&into);
            (options.announce)(&banner);
            Ok(opened)
        });
        let served = ServedRepository { name, opened, open, is_needed, poll, resolve, fetcher };
        Ok(Prepared { served, banner, handle })
    }

    /// Opens the repository, with a look at each branch that was `blind`.
    /// Extends the index of the history as long as the repository is open.
    fn keep_history(&self, open: &OpenRepository, program: Option<&Program>) {
        let Some(program) = program else { return };
        let pipelines: Arc<dyn Any + Send + Sync> = open.pipelines.clone();
        let user = Arc::downgrade(&pipelines);
        keep_history(&open.repository, &open.branches, user, &self.overrides, &program.path);
    }

    fn open(&self, options: &DaemonOptions, blind: &[BranchName]) -> Result<Ready> {
        let workspace = Workspace::open(&self.overrides)?;
        workspace.log_refused();
        let patterns = if self.patterns.is_empty() { &workspace.settings.branches } else { &self.patterns };
        let branches = BranchPatterns::new(patterns)?;
        let repository = (*workspace.repository).clone();
        let checkpoint = options.checkpoint(&repository, &branches)?;
        let banner = banner(&repository, &branches)?;
        let watch = options.watch(branches.clone(), self.pushes);
        let answers = answers(&workspace.with_own_guard(), self.page.clone());
        let (workspace, limits) = (workspace.with_own_guard(), workspace.settings.limits);
        let guard = workspace.guard();
        let mut pipelines = BranchPipelines::new(workspace);
        // Trouble with the profiles shows at once.
        let pipeline = pipelines.get(None)?;
        let head = pipeline.repository().branch().ok().flatten();
        let mut looks: Vec<_> = head.iter().filter_map(|branch| look(&pipeline, branch)).collect();
        for branch in blind.iter().filter(|branch| Some(*branch) != head.as_ref()) {
            looks.extend(pipelines.get(Some(branch)).ok().and_then(|pipeline| look(&pipeline, branch)));
        }
        let (inventory, trouble) = (pipelines.inventory(), pipelines.trouble());
        let pipelines = Arc::new(Mutex::new(pipelines));
        keep_fresh(inventory, trouble, Arc::downgrade(&pipelines));
        let mirrored = self.fetcher.as_ref().map(|fetcher| fetcher.mirror.url.clone());
        let open =
            OpenRepository { repository: repository.clone(), branches, pipelines, answers, guard, limits, mirrored };
        Ok(Ready { opened: Opened { repository, checkpoint, options: watch, looks }, open, banner })
    }
}

/// Fails if `folder` is not writable. `part` names the part of the settings that writes to it.
pub(super) fn check_writable(part: &str, folder: &Path) -> Result<()> {
    Ok(can_write(folder).map_err(|error| format!("{part}: cannot write to {}: {error}", folder.display()))?)
}

/// Returns a look at a branch, if it exists. Errors on the way are left to the next commit.
fn look(pipeline: &Arc<Pipeline>, branch: &BranchName) -> Option<Look> {
    let tip = pipeline.repository().tip(branch).ok()??;
    let pipeline = pipeline.clone();
    let blind = move || {
        let revision = pipeline.cached_revision(RevisionId::Commit(tip)).ok()?;
        Some(pipeline.unreadable(&revision).map(|spot| spot.headline))
    };
    Some(Look { branch: branch.clone(), tip, blind: Box::new(blind) })
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
