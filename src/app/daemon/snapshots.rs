//! The snapshots that the daemon writes: to the git references of branches or into folders, for each commit or on a
//! schedule.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Instant;

use super::jobs::is_too_large;
use super::open_repository::{OpenRepository, RepositoryHandle};
use crate::app::Result;
use crate::app::recent::Recent;
use crate::app::settings::{PushTarget, SnapshotSetting, SnapshotTarget};
use crate::daemon::service::Scheduled;
use crate::delivery::{Filter, Parcel, Sink, SnapshotSink, Target, Unwritten};
use crate::diagnostic::describe;
use crate::disk::FileMode;
use crate::event::{CommitEvent, RepositoryName};
use crate::git::{BranchName, BranchPatterns, Branches, CommitId, Remote};
use crate::pipeline::export::events::since;
use crate::pipeline::export::{ExportError, Exported, Exporter};
use crate::pipeline::render::RenderError;
use crate::pipeline::{Pipeline, RevisionId};
use crate::schedule::Schedule;
use crate::snapshot::Written;
use crate::snapshot::history::Last;
use crate::snapshot::pushed::{Prepared, Pushed};
use crate::snapshot::references::{ReferenceError, prune};

/// The repositories to write snapshots of, by their names in the queue.
#[derive(Default)]
pub(super) struct SnapshotRepositories(BTreeMap<RepositoryName, RepositoryHandle>);

impl SnapshotRepositories {
    /// Adds a repository. Its snapshots come from the pipelines that its reports come from.
    pub(super) fn add(&mut self, name: &RepositoryName, repository: RepositoryHandle) {
        self.0.insert(name.clone(), repository);
    }

    /// Returns the sinks that write snapshots of each commit, one for each repository, so that none delays another.
    pub(super) fn sinks(&self, setting: &SnapshotSetting) -> Vec<Sink> {
        let sink = |(name, mut writer): (RepositoryName, SnapshotWriter)| {
            let write = move |parcel: &Parcel| writer.deliver(&parcel.event);
            let target = Target::Snapshots(SnapshotSink::new(name, Box::new(write)));
            let filter = Filter { branches: setting.branches.clone(), ..Filter::default() };
            Sink { name: setting.name.clone(), filter, retry_for: setting.retry_for, target }
        };
        self.writers(setting).into_iter().map(sink).collect()
    }

    /// Returns the scheduled work that writes snapshots of all branches.
    pub(super) fn scheduled(&self, setting: &SnapshotSetting, schedule: Schedule) -> Scheduled {
        let (name, mut writers) = (setting.name.clone(), self.writers(setting));
        let work = move || {
            // A fault in one branch does not hold up the others.
            let failures: Vec<String> = writers.values_mut().flat_map(SnapshotWriter::write_all).collect();
            if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
        };
        Scheduled { name, schedule, work: Box::new(work) }
    }

    fn writers(&self, setting: &SnapshotSetting) -> BTreeMap<RepositoryName, SnapshotWriter> {
        let writer = |(name, repository): (&RepositoryName, &RepositoryHandle)| {
            (name.clone(), SnapshotWriter::new(name, repository, setting))
        };
        self.0.iter().map(writer).collect()
    }
}

/// The assumption about a folder that was written before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// It still has what was written last.
    Unchanged,
    /// Anybody may have changed it: each file is compared.
    CheckEachFile,
}

/// Writes the snapshots of one repository.
struct SnapshotWriter {
    name: RepositoryName,
    repository: RepositoryHandle,
    setting: SnapshotSetting,
    /// The exporter that wrote the last snapshots on the reference of a branch, and its pipeline.
    exporters: Recent<BranchName, (Arc<Pipeline>, Exporter)>,
    /// The commit whose snapshots a folder has, and the pipeline that made them.
    folders: Recent<PathBuf, (Weak<Pipeline>, CommitId)>,
    /// The branches whose remote was checked for earlier snapshots.
    prepared: HashSet<BranchName>,
    /// The time of the next look for branches that are gone.
    next_look: Instant,
}

/// The maximum number of branches whose last snapshots are kept in memory.
const MAX_EXPORTERS: usize = 16;

/// The maximum number of folders whose commits are kept in memory.
const MAX_FOLDERS: usize = 256;

/// The pause after a look for branches that are gone, in multiples of the time it took.
const LOOK_PAUSE: u32 = 50;

impl SnapshotWriter {
    fn new(name: &RepositoryName, repository: &RepositoryHandle, setting: &SnapshotSetting) -> SnapshotWriter {
        SnapshotWriter {
            name: name.clone(),
            repository: repository.clone(),
            setting: setting.clone(),
            exporters: Recent::new(MAX_EXPORTERS),
            folders: Recent::new(MAX_FOLDERS),
            prepared: HashSet::new(),
            next_look: Instant::now(),
        }
    }

    /// Writes the snapshots of a commit that has come to a branch. An error says if a retry may help.
    fn deliver(&mut self, event: &CommitEvent) -> std::result::Result<(), Unwritten> {
        let branch = &event.branch;
        if !self.is_watched(branch) {
            return Err(Unwritten::Obsolete(format!("the branch {branch} is not watched any more")));
        }
        let written = self.write(event);
        self.forget_branches();
        written.map_err(|failure| {
            let text = describe(&*failure);
            if is_obsolete(&*failure) {
                return Unwritten::Obsolete(text);
            }
            match self.repository.get() {
                Ok(open) if open.repository.is_there() && open.repository.is_gone(event.after) => {
                    Unwritten::Obsolete(format!("git has collected the commit: {text}"))
                }
                _ if is_impossible(&*failure) => Unwritten::Impossible(text),
                _ => Unwritten::Retry(text),
            }
        })
    }

    /// Returns true if the settings include a branch. While the repository is missing, any branch may be one of it.
    fn is_watched(&self, branch: &BranchName) -> bool {
        let is_included = |open: OpenRepository| open.branches.matches(branch);
        self.setting.branches.matches(branch) && self.repository.get().map_or(true, is_included)
    }

    /// Writes the snapshots of a commit that has come to a branch.
    fn write(&mut self, event: &CommitEvent) -> Result<()> {
        let branch = &event.branch;
        match self.setting.place.clone() {
            SnapshotTarget::Reference { push, prune } => {
                if prune && self.repository.get()?.repository.tip(branch)?.is_none() {
                    return Err(BranchDeleted(branch.clone()).into());
                }
                self.prepare(branch, push.as_ref())?;
                self.with_exporter(branch, |exporter| Ok(exporter.export(event, None)?))?;
                self.push(branch, push.as_ref())
            }
            SnapshotTarget::Folder(pattern, mode) => {
                self.write_folder(branch, (&pattern.folder(self.name.as_str(), branch), mode), Trust::Unchanged)
            }
        }
    }

    /// Writes the snapshots of all branches, and returns the failures.
    fn write_all(&mut self) -> Vec<String> {
        let branches = match self.branches() {
            Ok(branches) => branches,
            Err(error) => return vec![format!("repository {}: {error}", self.name)],
        };
        let mut failures = Vec::new();
        for (branch, tip) in branches {
            if let Err(failure) = self.write_branch(&branch, tip) {
                failures.push(format!("branch {branch} of {}: {}", self.name, describe(&*failure)));
            }
        }
        self.forget_branches();
        failures
    }

    fn branches(&self) -> Result<Branches> {
        Ok(self.repository.get()?.repository.branches(&self.setting.branches)?)
    }

    /// Writes the snapshots of the commits of a branch that have none yet.
    fn write_branch(&mut self, branch: &BranchName, tip: CommitId) -> Result<()> {
        match self.setting.place.clone() {
            SnapshotTarget::Reference { push, .. } => {
                self.prepare(branch, push.as_ref())?;
                let repository = self.repository.get()?.repository;
                let events = since(&repository, branch, Last::of(&repository, branch)?, tip)?;
                self.with_exporter(branch, |exporter| Ok(exporter.export_all(branch, &events)?))?;
                self.push(branch, push.as_ref())
            }
            SnapshotTarget::Folder(pattern, mode) => {
                self.write_folder(branch, (&pattern.folder(self.name.as_str(), branch), mode), Trust::CheckEachFile)
            }
        }
    }

    /// Writes to the reference of a branch, with the exporter that did so last unless its pipeline is outdated.
    fn with_exporter(
        &mut self,
        branch: &BranchName,
        export: impl FnOnce(&mut Exporter) -> Result<Exported>,
    ) -> Result<()> {
        let pipeline = self.repository.pipeline(branch)?;
        let is_current = |(known, _): &(Arc<Pipeline>, Exporter)| Arc::ptr_eq(known, &pipeline);
        let (_, mut exporter) = match self.exporters.take(branch).filter(is_current) {
            Some(known) => known,
            None => (pipeline.clone(), Exporter::new(pipeline.clone())),
        };
        let result = export(&mut exporter);
        self.exporters.put(branch.clone(), (pipeline, exporter));
        let Exported { commits, files, skipped } = result?;
        for (commit, spot) in skipped {
            tracing::warn!(repository = self.name.as_str(), %branch, %commit, "the former snapshots stay: {}", spot.message);
        }
        self.warn(branch, &files);
        let (commits, name) = (commits.len(), &self.setting.name);
        tracing::debug!(name, %branch, commits, files = files.changed, "snapshots are on the reference");
        Ok(())
    }

    /// Warns of nodes that have no snapshot. The others have theirs, so there is no retry.
    fn warn(&self, branch: &BranchName, written: &Written) {
        if let Some(fault) = written.fault() {
            tracing::warn!(repository = self.name.as_str(), %branch, "{fault}");
        }
    }

    /// Continues from the snapshots of a branch that its remote already has, when they are first pushed to it.
    fn prepare(&mut self, branch: &BranchName, target: Option<&PushTarget>) -> Result<()> {
        let Some(target) = target.filter(|_| !self.prepared.contains(branch)) else { return Ok(()) };
        let open = self.repository.get()?;
        let prepared = Pushed::new(&open.repository, &remote_of(&open, target)).prepare(branch)?;
        if prepared == Prepared::Taken {
            self.with_exporter(branch, |exporter| Ok(exporter.renew(branch)?))?;
        }
        if prepared != Prepared::Later {
            self.prepared.insert(branch.clone());
        }
        Ok(())
    }

    fn push(&mut self, branch: &BranchName, target: Option<&PushTarget>) -> Result<()> {
        let Some(target) = target else { return Ok(()) };
        let open = self.repository.get()?;
        let pushed = Pushed::new(&open.repository, &remote_of(&open, target)).push(branch);
        if pushed.is_err() {
            // Somebody else may have pushed.
            self.prepared.remove(branch);
        }
        Ok(pushed?)
    }

    /// Forgets deleted branches, and deletes their snapshots if the settings say so. Does nothing if the last look was
    /// too recent.
    fn forget_branches(&mut self) {
        let start = Instant::now();
        if start < self.next_look {
            return;
        }
        if let Err(failure) = self.look_for_branches() {
            tracing::warn!(repository = self.name.as_str(), "cannot forget deleted branches: {}", describe(&*failure));
        }
        self.next_look = Instant::now() + start.elapsed() * LOOK_PAUSE;
    }

    fn look_for_branches(&mut self) -> Result<()> {
        let open = self.repository.get()?;
        let branches = open.repository.branches(&BranchPatterns::all())?;
        self.exporters.retain(|branch| branches.contains_key(branch));
        self.prepared.retain(|branch| branches.contains_key(branch));
        if let SnapshotTarget::Reference { push, prune: true } = &self.setting.place {
            let remote = push.as_ref().map(|target| remote_of(&open, target));
            let count = prune(&open.repository, remote.as_ref(), |branch| self.setting.branches.matches(branch))?;
            if count > 0 {
                tracing::info!(repository = self.name.as_str(), count, "the snapshots of deleted branches are deleted");
            }
        }
        Ok(())
    }

    /// Writes the snapshots of a branch's tip to a folder.
    fn write_folder(&mut self, branch: &BranchName, (folder, mode): (&PathBuf, FileMode), trust: Trust) -> Result<()> {
        // Of several commits, a folder shows only the last.
        let Some(tip) = self.repository.get()?.repository.tip(branch)? else { return Ok(()) };
        let pipeline = self.repository.pipeline(branch)?;
        let is_current =
            |(maker, commit): &(Weak<Pipeline>, CommitId)| maker.as_ptr() == Arc::as_ptr(&pipeline) && *commit == tip;
        let known = self.folders.take(folder).filter(is_current);
        if let Some(known) = known.filter(|_| trust == Trust::Unchanged) {
            self.folders.put(folder.clone(), known);
            return Ok(());
        }
        let written = match pipeline.render(RevisionId::Commit(tip), folder, mode) {
            Err(RenderError::Unreadable(spot)) => {
                tracing::warn!(repository = self.name.as_str(), %branch, commit = %tip, "the former snapshots stay: {}", spot.message);
                return Ok(());
            }
            written => written?,
        };
        self.warn(branch, &written);
        let name = &self.setting.name;
        tracing::debug!(name, %branch, commit = %tip, files = written.changed, removed = written.removed, "snapshots are in the folder");
        self.folders.put(folder.clone(), (Arc::downgrade(&pipeline), tip));
        Ok(())
    }
}

/// The reference of a deleted branch is not written any more.
#[derive(Debug, thiserror::Error)]
#[error("the branch {0} was deleted")]
struct BranchDeleted(BranchName);

fn remote_of(open: &OpenRepository, target: &PushTarget) -> Remote {
    open.remote(&target.remote).within(target.limit)
}

/// Returns true if nobody needs the snapshots of a commit any longer.
fn is_obsolete(error: &(dyn std::error::Error + 'static)) -> bool {
    let reference = match error.downcast_ref::<ExportError>() {
        Some(ExportError::Reference(error)) => Some(error),
        _ => error.downcast_ref::<ReferenceError>(),
    };
    error.is::<BranchDeleted>() || matches!(reference, Some(ReferenceError::Taken { .. }))
}

/// Returns true if the snapshots of a commit can never be written.
fn is_impossible(error: &(dyn std::error::Error + 'static)) -> bool {
    let export = match error.downcast_ref::<ExportError>() {
        Some(ExportError::Pipeline(error)) => is_too_large(error),
        _ => false,
    };
    let render = match error.downcast_ref::<RenderError>() {
        Some(RenderError::Pipeline(error)) => is_too_large(error),
        _ => false,
    };
    export || render
}
