//! The snapshots that the daemon writes: to the git references of branches or into folders, for each commit or on a
//! schedule.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::Result;
use super::repository::RepositoryHandle;
use crate::daemon::service::Scheduled;
use crate::delivery::{Filter, Parcel, Sink, SnapshotSink, Target};
use crate::diagnostic::describe;
use crate::disk::FileMode;
use crate::event::{CommitEvent, RepositoryName};
use crate::git::{BranchName, Branches, CommitId};
use crate::pipeline::export::events::since;
use crate::pipeline::export::{Exported, Exporter};
use crate::pipeline::render::RenderError;
use crate::pipeline::{Pipeline, RevisionId};
use crate::schedule::Schedule;
use crate::settings::{SnapshotSetting, SnapshotTarget};
use crate::snapshot::Written;
use crate::snapshot::history::{Last, reference};

/// The repositories to write snapshots of, by their names in the queue.
#[derive(Default)]
pub(super) struct SnapshotRepositories(BTreeMap<RepositoryName, RepositoryHandle>);

impl SnapshotRepositories {
    /// Adds a repository. Its snapshots come from the pipelines that its reports come from.
    pub(super) fn add(&mut self, name: &RepositoryName, repository: RepositoryHandle) {
        self.0.insert(name.clone(), repository);
    }

    /// Returns the sink that writes snapshots of each commit. It is tried until it succeeds, since each commit has
    /// its place.
    pub(super) fn sink(&self, setting: &SnapshotSetting) -> Sink {
        let (name, mut writers) = (setting.name.clone(), self.writers(setting));
        let filter = Filter { branches: setting.branches.clone(), ..Filter::default() };
        let write = move |parcel: &Parcel| match writers.get_mut(&parcel.job.repository) {
            Some(writer) => writer.write(&parcel.event).map_err(|failure| describe(&*failure)),
            None => Err(format!("the repository {} is not watched any more", parcel.job.repository)),
        };
        let target = Target::Snapshots(SnapshotSink::new(Box::new(write)));
        Sink { name, filter, retry_for: Duration::MAX, target }
    }

    /// Returns the scheduled work that writes snapshots of all branches.
    pub(super) fn scheduled(&self, setting: &SnapshotSetting, schedule: Schedule) -> Scheduled {
        let (name, mut writers) = (setting.name.clone(), self.writers(setting));
        let work = move || {
            // A fault in one branch does not keep back the others.
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

/// The trust that nobody else changes a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// A folder has what was written last.
    Known,
    /// Look at each file.
    Nothing,
}

/// Writes the snapshots of one repository.
struct SnapshotWriter {
    name: RepositoryName,
    repository: RepositoryHandle,
    setting: SnapshotSetting,
    /// The exporter that wrote the last snapshots on the reference of a branch, and its pipeline.
    exporters: HashMap<BranchName, (Arc<Pipeline>, Exporter)>,
    /// The commit whose snapshots a folder has, and the pipeline that made them.
    folders: HashMap<PathBuf, (Arc<Pipeline>, CommitId)>,
}

impl SnapshotWriter {
    fn new(name: &RepositoryName, repository: &RepositoryHandle, setting: &SnapshotSetting) -> SnapshotWriter {
        SnapshotWriter {
            name: name.clone(),
            repository: repository.clone(),
            setting: setting.clone(),
            exporters: HashMap::new(),
            folders: HashMap::new(),
        }
    }

    /// Writes the snapshots of a commit that has come to a branch.
    fn write(&mut self, event: &CommitEvent) -> Result<()> {
        let branch = &event.branch;
        match self.setting.place.clone() {
            SnapshotTarget::Reference { push } => {
                self.with_exporter(branch, |exporter| Ok(exporter.export(event, None)?))?;
                self.push(branch, push.as_deref())
            }
            SnapshotTarget::Folder(pattern, mode) => {
                self.fill(branch, (&pattern.folder(self.name.as_str(), branch), mode), Trust::Known)
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
        failures
    }

    fn branches(&self) -> Result<Branches> {
        Ok(self.repository.get()?.repository.branches(&self.setting.branches)?)
    }

    /// Writes the snapshots of the commits of a branch that have none yet.
    fn write_branch(&mut self, branch: &BranchName, tip: CommitId) -> Result<()> {
        match self.setting.place.clone() {
            SnapshotTarget::Reference { push } => {
                let repository = self.repository.get()?.repository;
                let events = since(&repository, branch, Last::of(&repository, branch)?, tip)?;
                self.with_exporter(branch, |exporter| Ok(exporter.export_all(branch, &events)?))?;
                self.push(branch, push.as_deref())
            }
            SnapshotTarget::Folder(pattern, mode) => {
                self.fill(branch, (&pattern.folder(self.name.as_str(), branch), mode), Trust::Nothing)
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
        let (_, mut exporter) = match self.exporters.remove(branch).filter(is_current) {
            Some(known) => known,
            None => (pipeline.clone(), Exporter::new(pipeline.clone())),
        };
        let result = export(&mut exporter);
        self.exporters.insert(branch.clone(), (pipeline, exporter));
        let Exported { commits, files, skipped } = result?;
        for (commit, spot) in skipped {
            tracing::warn!(repository = self.name.as_str(), %branch, %commit, "the last good snapshots stay: {}", spot.message);
        }
        self.warn(branch, &files);
        let (commits, name) = (commits.len(), &self.setting.name);
        tracing::debug!(name, %branch, commits, files = files.changed, "snapshots are on the reference");
        Ok(())
    }

    /// Warns of nodes that have no snapshot. The others have theirs, so nothing is tried again.
    fn warn(&self, branch: &BranchName, written: &Written) {
        if let Some(fault) = written.fault() {
            tracing::warn!(repository = self.name.as_str(), %branch, "{fault}");
        }
    }

    fn push(&self, branch: &BranchName, remote: Option<&str>) -> Result<()> {
        let Some(remote) = remote else { return Ok(()) };
        Ok(self.repository.get()?.repository.push(remote, &reference(branch))?)
    }

    /// Writes the snapshots of a branch's tip to a folder.
    fn fill(&mut self, branch: &BranchName, (folder, mode): (&PathBuf, FileMode), trust: Trust) -> Result<()> {
        // A folder shows the last of several commits only.
        let Some(tip) = self.repository.get()?.repository.tip(branch)? else { return Ok(()) };
        let pipeline = self.repository.pipeline(branch)?;
        let is_there = |(by, of): &(Arc<Pipeline>, CommitId)| Arc::ptr_eq(by, &pipeline) && *of == tip;
        if trust == Trust::Known && self.folders.get(folder).is_some_and(is_there) {
            return Ok(());
        }
        let written = match pipeline.render(RevisionId::Commit(tip), folder, mode) {
            Err(RenderError::Unreadable(spot)) => {
                tracing::warn!(repository = self.name.as_str(), %branch, commit = %tip, "the last good snapshots stay: {}", spot.message);
                return Ok(());
            }
            written => written?,
        };
        self.warn(branch, &written);
        let name = &self.setting.name;
        tracing::debug!(name, %branch, commit = %tip, files = written.changed, removed = written.removed, "snapshots are in the folder");
        self.folders.insert(folder.clone(), (pipeline, tip));
        Ok(())
    }
}
